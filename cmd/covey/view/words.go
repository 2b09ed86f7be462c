package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// The functions of this file return a state in a word or two, and how it is highlighted: red is for
// failures and marks, yellow for what waits, above all for a person, green for what is done or goes well,
// cyan for work, and faint for what needs no look. The words say the same without the colour. Every
// screen, command and report takes both from here, so that a state is one word in one colour.

// CountWords returns how many tasks are done, how many of those with changes are merged, which is
// another fact, and how often work was sent back, which no count of refusals has.
func CountWords(all api.TaskCounts, work api.WorkCounts) []string {
	var words []string
	if n := all.Total(); n > 0 {
		words = append(words, fmt.Sprintf("done %d of %d", all.Completed, n))
	}
	if work.Tasks > 0 {
		words = append(words, fmt.Sprintf("merged %d of %d", work.Merged, work.Tasks))
	}
	if work.SentBack > 0 {
		words = append(words, fmt.Sprintf("%d sent back", work.SentBack))
	}
	return words
}

// atGates is how a member is called while a gate judges its turn.
const atGates = "at the gates"

// toldToStop begins the reason of a run that a person ended: that is no failure.
const toldToStop = "told to stop"

// TeamWord returns what a team does; runs reports whether a process runs it.
func TeamWord(s *view.State, runs bool) (string, term.Style) {
	run := s.Run()
	switch {
	case !runs && run.Merge != "" && run.ExitCode != nil && *run.ExitCode == 0: // tasks may be open
		return "merge ended: " + run.Reason, term.Faint
	case !runs && run.ExitCode != nil && *run.ExitCode == 0:
		return "done: " + run.Reason, term.Green
	case !runs && strings.HasPrefix(run.Reason, toldToStop):
		return "ended: " + run.Reason, term.Faint
	case !runs && run.Reason != "":
		return "ended: " + run.Reason, term.Red
	case !runs && run.First == 0:
		return "has never run", term.Faint
	case !runs:
		return "does not run: it was cut off; covey up goes on", term.Red
	case s.Waits != nil:
		return "waits for the end of a usage limit", term.Yellow
	case len(s.Needs()) > 0:
		return "needs you", term.Yellow
	}
	working := 0
	for _, m := range s.Members {
		if m.State == api.Working {
			working++
		}
	}
	if working == 0 {
		return "idle", term.Faint
	}
	return fmt.Sprintf("%s of %d at work", texts.Plural(working, "member"), len(s.Members)), term.Green
}

// MemberWord returns what a member does.
func MemberWord(m *view.Member) (string, term.Style) {
	switch {
	case m.Gate != "":
		return atGates, term.Yellow
	case m.State == api.Limited && m.Lockout != nil && m.Lockout.Known: // a guess is no promise
		return "limited until " + texts.ShortTime(m.Lockout.Until.Local(), m.Lockout.Since.Local()), term.Yellow
	}
	if m.State == api.Held {
		return string(m.State), term.Yellow
	}
	return string(m.State), cmp.Or(MemberStyle(m.State), term.Faint)
}

// TaskWord returns how far a task has come. merge is the newest merge of its work, nil if there is none,
// and waits are the open tasks that it waits for.
func TaskWord(t *view.Task, merge *view.Merge, waits []string) (string, term.Style) {
	switch {
	case t.Status == tasks.Completed && merge != nil && merge.State != tasks.MergeDropped:
		word, style := MergeWord(merge.State)
		if merge.State != tasks.MergeDone && merge.State != tasks.MergeReturned {
			word = "done, " + word
		}
		return word, style
	case t.Status == tasks.Completed:
		return "done", term.Green
	case t.Awaits != "":
		return "awaits " + t.Awaits, term.Yellow
	case t.Status == tasks.InProgress:
		return "in progress", term.Cyan
	case len(waits) > 0:
		return "waits for " + strings.Join(waits, ", "), term.Faint
	}
	return "ready", term.Faint
}

// MemberDoes returns in one line what a member does, or what it waits for. For an idle member that owns
// a task, the blocker of the task is more useful than the member's last text. It names
// only the first task and its first blocker; covey tasks graph shows all. graph has the tasks of s.
func MemberDoes(s *view.State, m *view.Member, graph []tasks.Outline) string {
	text := m.Doing
	switch {
	case m.State == api.NeedsAttention:
		text = m.Attention
	case m.State == api.LoggedOut:
		text = m.Attention
		if text == "" && m.Lockout != nil {
			text = m.Lockout.Text
		}
	case m.State == api.Limited:
		text = m.Waits[events.ForLimit].For
		if m.Lockout != nil {
			text = m.Lockout.Text
		}
	case m.State == api.Waiting:
		text = "for " + m.WaitText()
		if asks, ok := strings.CutPrefix(m.WaitsFor, "permission to "); ok {
			text = "asks to " + asks
		}
	case m.State == api.Working && m.WaitsFor != "":
		text = "waits for " + m.WaitsFor
	case m.State == api.Held:
		text = "until covey resume " + m.Name
	case m.State == api.Resting && m.WaitsFor != "":
		text = "waits for " + m.WaitsFor
	case m.State == api.Resting:
		text = cmp.Or(waitsForTask(s, m.Name, graph), m.Doing)
	}
	return term.ShortMiddle(text)
}

// waitsForTask names the task of somebody else that a member's first waiting task waits for; empty:
// none. Its own task that waits for nothing is about to be started and would only flicker.
func waitsForTask(s *view.State, member string, graph []tasks.Outline) string {
	for i := range graph {
		t := &graph[i]
		if t.Owner != member || t.Status != tasks.Pending {
			continue
		}
		for _, id := range t.OpenBlockers(graph) {
			switch owner := s.Task(id).Owner; owner {
			case member:
			case "":
				return "waits for task " + id
			default:
				return "waits for task " + id + " of " + owner
			}
		}
	}
	return ""
}

// NeedWord returns what a need is about in a word or two.
func NeedWord(n api.Need) string {
	switch n.Kind {
	case api.NeedsAnswer:
		return term.PlainLine(string(n.Asks))
	case api.NeedsMerge:
		return "to merge"
	case api.NeedsDecision:
		return "held merge"
	}
	return "attention"
}

// NeedStyle highlights a need: each waits for a person.
func NeedStyle(api.Need) term.Style { return term.Yellow }

// ReturnWord returns how a task came back to its author: work is sent back, whoever did that.
func ReturnWord(kind string) string {
	if kind == "returned" {
		return sentBack
	}
	return kind
}

// sentBack is the one word for work that its author has to change, whoever sent it back.
const sentBack = "sent back"

// Unanswered returns what becomes of a request that nobody answers in time, and when by the clock: "denied"
// and "23:06". Both are empty for one without a time limit.
func Unanswered(kind requests.Kind, to string, yes bool, deadline, now time.Time) (word, at string) {
	if deadline.IsZero() {
		return "", ""
	}
	word = "denied"
	switch {
	case kind == requests.AskShutdown:
		word = "ended"
	case yes:
		word = "approved"
	case kind == requests.AskMerge && to != actors.Operator:
		word = "held"
	case kind == requests.AskQuestion:
		word = "dropped"
	case kind == requests.AskForm:
		word = "cancelled"
	}
	return word, texts.ShortTime(deadline.Local(), now.Local())
}

// MarksText names what a reviewer should look at first: "⚠ gate changed, tests removed"; empty: nothing.
func MarksText(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "⚠ " + strings.Join(words, ", ")
}

// NeedText returns what a need is about, for where only its command helps. The command comes first,
// because a narrow terminal cuts the end.
func NeedText(n api.Need) string {
	if command := NeedCommand(n); command != "" {
		return command + ": " + n.Text
	}
	return n.Text
}

// NeedCommand returns the command with which a person begins; empty: there is none.
func NeedCommand(n api.Need) string {
	switch n.Kind {
	case api.NeedsAnswer:
		return "covey inbox show " + n.ID
	case api.NeedsMerge, api.NeedsDecision:
		return "covey merge " + cmp.Or(n.Task, n.Member)
	}
	return ""
}

// CopyWords returns what a working copy has of its own: lines, changes that are not committed, and
// commits that are not merged.
func CopyWords(w workcopies.Status) []string {
	var words []string
	switch {
	case w.Unknown && w.Branch != "":
		return []string{"git reports no more"}
	case w.Unknown:
		return nil
	case w.Dirty == 0 && w.Ahead == 0:
		return []string{"nothing of its own"}
	}
	if w.Added+w.Removed > 0 {
		words = append(words, fmt.Sprintf("+%d −%d lines", w.Added, w.Removed))
	}
	if w.Dirty > 0 {
		words = append(words, texts.Plural(w.Dirty, "change")+" not committed")
	}
	if w.Ahead > 0 {
		words = append(words, texts.Plural(w.Ahead, "commit")+" not merged")
	}
	return words
}

// IsBoxed reports whether the programs of a member have a sandbox.
func IsBoxed(m api.MemberStatus) bool { return m.Box != "" }

// BoxWords returns what the sandbox of a member's programs lacks, and what it has kept them from.
func BoxWords(m api.MemberStatus) (words []string) {
	for _, lost := range m.BoxLost {
		words = append(words, "sandbox: "+lost)
	}
	for _, what := range slices.Sorted(maps.Keys(m.Denied)) {
		words = append(words, fmt.Sprintf("the sandbox denied %s (%d times)", what, m.Denied[what]))
	}
	return words
}
