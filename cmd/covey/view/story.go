// Package view draws a team for people: the journal as text, the state in
// words, the result of a last run, and the results of a CI job. It takes
// data and a screen, and knows neither commands nor flags. It makes no promise of compatibility to
// programs outside covey.
//
// The facts come from orchestrator/view, which folds the journal; this package only words and lays them
// out. A line of the journal becomes an entry, brief or in full. All texts of members, models and
// programs pass through term.Plain or term.PlainLine here, once, when the entry is made: after that
// nothing in them can act on a terminal.
package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// Entry is a journal line as text. The texts are plain, and Text may have several lines; a
// journal line without meaning for people has no entry. The code that makes an entry
// makes its texts plain; the code that shows one lays it out.
type Entry struct {
	Time  time.Time
	Who   string
	Text  string
	Style term.Style
}

// brief describes the noteworthy events in one line each, for `covey
// up` on a pipe and notices: who works on what, what was
// refused, and what went wrong. It omits tool calls and texts, which logs shows.
func brief(e events.Event) (Entry, bool) {
	text, st := briefText(e)
	if text == "" {
		return Entry{}, false
	}
	short := term.Short
	if forPeople(st) {
		short = term.ShortMiddle
	}
	return Entry{Time: e.Time, Who: subjectOf(e), Text: short(named(e, text)), Style: st}, true
}

// forPeople reports whether a text of that style may ask a person for something, or warn of it. Its end
// says what to do.
func forPeople(st term.Style) bool { return st == term.Yellow || st == term.Red }

// subjectOf returns whom an entry is about: a member; the author of an event without
// member; or the team.
func subjectOf(e events.Event) string {
	who := e.Member
	switch d := e.Data.(type) {
	case events.MergeChanged:
		who = d.Member
	case events.MessageSent:
		who = cmp.Or(who, d.From)
	case events.TaskChanged:
		who = cmp.Or(who, d.By)
	case events.RequestChanged:
		who = cmp.Or(who, d.By)
	}
	return term.PlainLine(cmp.Or(who, "team"))
}

// briefText returns the text of a brief entry; empty: not noteworthy.
func briefText(e events.Event) (string, term.Style) {
	switch d := e.Data.(type) {
	case events.TeamStarted:
		switch {
		case d.Merge != "":
			return "covey merge begins: " + d.Merge, term.Bold
		case d.Resumed:
			return "the team goes on where it was", term.Bold
		}
		return "the team starts: " + d.Goal, term.Bold
	case events.TeamEnded:
		if d.Merge != "" {
			return "covey merge ends: " + d.Reason, term.Bold
		}
		return "the team ends: " + d.Reason, term.Bold
	case events.MemberEnded:
		if d.Reason != endedInOrder {
			return "ended: " + d.Reason, term.Faint
		}
	case events.TurnStarted:
		return fmt.Sprintf("turn %d begins (%s)", e.Turn, d.Cause), term.Faint
	case events.TurnEnded:
		if d.Reason != events.EndCompleted && d.Reason != events.EndUsageLimit && d.Reason != events.EndLoggedOut {
			return fmt.Sprintf("turn %d ended: %s", e.Turn, d.Reason), term.Yellow
		}
	case events.Idle:
		switch {
		case d.Reason == events.IdleUsageLimit, d.Reason == events.IdleLoggedOut, d.Reason == events.IdleFailed:
			return "", term.Normal // another event has told of it
		case d.LastText != "":
			return "idle: " + d.LastText, term.Faint
		}
		return "idle", term.Faint
	case events.MessageSent:
		return messageText(d.Message), term.Normal
	case events.TaskChanged:
		return taskText(e.Member, d.Change), taskStyle(d.Op)
	case events.RequestChanged:
		return requestText(d.Request)
	case events.MergeChanged:
		return mergeText(d.Merge)
	case events.TaskUnchanged:
		return "task " + d.Task + " (" + d.Subject + ") was completed without a change: there is nothing to merge", term.Yellow
	case events.WorkHinted:
		if marks := markedAt(d.Hints); len(marks) > 0 {
			return tasks.Named(d.Tasks...) + " " + MarksText(marks), term.Yellow
		}
	case events.TargetMoved:
		return d.Text, term.Yellow
	case events.HeldUp:
		return "waits for " + d.For, term.Faint
	case events.MemberHeld:
		by := inbox.AnswererName(d.By)
		return fmt.Sprintf("held by %s until covey resume %s or a text from you", by, e.Member), term.Yellow
	case events.MemberResumed:
		return "goes on: resumed by " + inbox.AnswererName(d.By), term.Normal
	case events.ScheduleRan:
		return scheduleText(d), term.Faint
	case events.Notified:
		return notifiedText(d), term.Faint
	case events.BudgetUse:
		return budgetText(d)
	case events.Bus:
		style, text := busText(d)
		return text, style
	}
	if text, st := agentText(e); text != "" {
		return text, st
	}
	return problemText(e)
}

// markedAt names the marks, each with its first place.
func markedAt(list []hints.Hint) []string {
	var marks []string
	for _, h := range list {
		if text := h.Word; h.Mark {
			if len(h.Places) > 0 {
				text += " (" + h.Places[0].At() + ")"
			}
			marks = append(marks, text)
		}
	}
	return marks
}

// messageText describes a message; empty: the goal, which is told with the start of the team.
func messageText(m mail.Message) string {
	if m.Kind == mail.Goal {
		return ""
	}
	// A notice repeats why a member needs attention, which the member's own event has said.
	text, _, told := strings.Cut(cmp.Or(m.Summary, m.Text), needsAttention)
	if told {
		text += strings.TrimSuffix(needsAttention, ": ")
	}
	return "to " + m.To + ": " + text
}

// agentText is briefText for what a member works with: its agent, its model, its session, and the
// limits of its account.
func agentText(e events.Event) (string, term.Style) {
	switch d := e.Data.(type) {
	case events.FreshSession:
		return "fresh session: the old one could not be opened (" + d.Reason + ")", term.Yellow
	case events.ProgramRestarts:
		return "its program is started again: " + d.Reason, term.Yellow
	case events.AgentChanged:
		return fallbackText(d, e.Time), term.Yellow
	case events.Compacted:
		return compactedText(d), term.Faint
	case events.Rotated:
		return "begins a new session with a brief of the one before", term.Faint
	case events.ModelSwitched:
		if d.BySpec {
			return "goes on with the model " + d.To + " in place of " + d.From + ": " + d.Why, term.Normal
		}
		return fmt.Sprintf("the model %s cannot answer, so %s answers the rest of the turn: %s",
			d.From, d.To, d.Why), term.Yellow
	case events.Limited:
		return d.Summary(e.Time), term.Yellow
	case events.TeamWaits:
		return fmt.Sprintf("waits until %s for %s (usage limit)", texts.ShortTime(d.Until.Local(), e.Time.Local()),
			strings.Join(d.Members, ", ")), term.Yellow
	case events.NodeChanged:
		return nodeText(d)
	case events.MemberPlaced:
		return "works on node " + d.Node, term.Faint
	case events.TurnFailed:
		return failureText(e, d), term.Yellow
	}
	return "", term.Normal
}

// nodeText tells what a node does now.
func nodeText(e events.NodeChanged) (string, term.Style) {
	what := map[string]string{
		"here": "is here", "left": "has left",
		"away": "is away: it has been silent for half a minute, or has not been heard yet",
		"lost": "is lost: it has been silent for a minute, and its members are released",
	}[e.State]
	if e.Draining && e.State == "here" {
		what = "takes no more members"
	}
	if e.Trouble != "" {
		what += ": " + e.Trouble
	}
	style := term.Yellow
	if e.State == "here" {
		style = term.Faint
	}
	return "node " + e.Node + " " + what, style
}

// compactedText returns what was left out of a conversation, and what that saved.
func compactedText(d events.Compacted) string {
	what := "the conversation was replaced by a summary"
	if d.Layer == "results" {
		what = "old results of tools are not shown to the model any more"
	}
	return fmt.Sprintf("%s: about %d tokens became %d", what, d.Before, d.After)
}

// failureText describes a failed turn, and when it is retried.
func failureText(e events.Event, d events.TurnFailed) string {
	switch {
	case !d.Until.IsZero():
		left := fmt.Sprintf("%d tries left", d.Left)
		if d.Left == 1 {
			left = "1 try left"
		}
		return fmt.Sprintf("turn %d failed; it is tried again in %s (%s): %s", e.Turn,
			term.Elapsed(d.Until.Sub(e.Time).Round(time.Second)), left, d.Text)
	case d.Failed > 1:
		return fmt.Sprintf("turn %d failed, and so did the %d before it: %s", e.Turn, d.Failed-1, d.Text)
	}
	return fmt.Sprintf("turn %d failed: %s", e.Turn, d.Text)
}

// needsAttention comes before the reason in texts about a member that needs attention.
const needsAttention = " needs attention: "

// problemText is briefText for errors and refusals.
func problemText(e events.Event) (string, term.Style) {
	switch d := e.Data.(type) {
	case events.NeedsAttention:
		if d.Kind == events.AttentionLogin { // the reason says what to do
			return d.Reason, term.Yellow
		}
		return "needs attention: " + d.Reason, term.Yellow
	case events.HookFeedback:
		return "refused by " + d.Event + ": " + view.Feedback(d.Event, d.Text), term.Red
	case events.HookStopped:
		return "stopped by " + d.Event + ": " + d.Message, term.Red
	case events.HookFinished:
		if d.Warning != "" {
			return fmt.Sprintf("%s hook %s: %s", d.Event, d.Command, d.Warning), term.Yellow
		}
		if hasFailed(d.Outcome) {
			return fmt.Sprintf("%s hook %s failed (%s): %s", d.Event, d.Command, d.Outcome, d.Stderr), term.Yellow
		}
	case events.PermissionDecided:
		if d.Decision == "deny" && d.By != "hook" { // the hook's feedback reports it
			tool := d.Tool
			if d.Call != "" {
				tool += " (" + texts.Clip(d.Call, maxCall) + ")"
			}
			return "may not use " + tool + whyDenied(d), term.Yellow
		}
	case events.HelperEnded:
		if d.Problem != "" {
			return helperEnds(d)
		}
	case events.Warning:
		return "warning: " + d.Text, term.Yellow
	case events.SandboxDenied:
		return fmt.Sprintf("its sandbox denied to %s %s; the key %s of the spec allows it", d.Access, d.Path, d.Key), term.Yellow
	case events.Sandboxed:
		if len(d.Lost) > 0 {
			return fmt.Sprintf("its sandbox (level %d) lacks: %s", d.Level, strings.Join(d.Lost, "; ")), term.Yellow
		}
	}
	return "", term.Normal
}

// maxCall is how much of a denied call stands before the reason, in characters.
const maxCall = 100

// whyDenied returns why a tool call was denied, as the end of a sentence.
func whyDenied(p events.PermissionDecided) string {
	asked := "" // a rule that wants a person to decide
	if p.Rule != "" {
		asked = p.Rule + " asks, and "
	}
	switch p.By {
	case "rule", "":
		return " (" + cmp.Or(p.Rule, "denied") + ")"
	case "mode":
		return strings.TrimRight(": its permission mode "+p.Mode, " ") + " forbids it"
	case "nobody":
		return ": " + asked + "nobody can be asked"
	case "time limit":
		return ": " + asked + "nobody answered in time"
	}
	return ": " + asked + p.By + " said no"
}

// endedInOrder is the reason with which members end when their team does.
const endedInOrder = "done"

// taskText describes what happened to a task, whose change is told of a member. Other changes than
// those of its status and refusals are not noteworthy.
func taskText(member string, c tasks.Change) string {
	if c.Task.ID == "" {
		return ""
	}
	task := "task " + c.Task.ID + " (" + c.Task.Subject + ")"
	switch c.Op {
	case tasks.Claimed:
		if c.Task.Owner == member {
			return "takes " + task
		}
		return c.Task.Owner + " gets " + task
	case tasks.Created, tasks.TaskCompleted, tasks.Released, tasks.Deleted, tasks.Refused:
		return task + " " + string(c.Op)
	case tasks.Awaits:
		return task + " waits for " + c.Reason
	}
	return ""
}

// taskStyle highlights completed and refused tasks only: colour everywhere would say
// nothing.
func taskStyle(op tasks.Op) term.Style {
	switch op {
	case tasks.TaskCompleted:
		return term.Green
	case tasks.Refused:
		return term.Red
	}
	return term.Normal
}

// Full describes an event in full, for `covey logs` and `covey attach`.
func Full(e events.Event) (Entry, bool) {
	text, st := fullText(e)
	text = named(e, strings.Trim(term.Plain(text), "\n"))
	return Entry{Time: e.Time, Who: subjectOf(e), Text: text, Style: st}, text != ""
}

// fullText returns the text of a full entry; empty: the event has no meaning for people.
func fullText(e events.Event) (string, term.Style) {
	switch d := e.Data.(type) {
	case events.TurnStarted:
		return fmt.Sprintf("turn %d begins (%s)\n%s", e.Turn, d.Cause, quoted(d.Prompt)), term.Cyan
	case events.TextSaid:
		return d.Text, term.Normal
	case events.ToolCalled:
		return "calls " + callText(d.Name, d.Input), term.Bold
	case events.ToolReturned:
		if d.IsError {
			return quoted(d.Content), term.Red
		}
		return quoted(d.Content), term.Faint
	case events.HookFeedback:
		return "refused\n" + quoted(view.Untagged(d.Text)), term.Red
	case events.MessageSent:
		return "to " + d.To + "\n" + quoted(d.Text), term.Normal
	case events.Idle:
		return "idle", term.Faint
	case events.TurnEnded:
		reason := d.Reason
		if d.ModelFailed && reason == events.EndCompleted { // as programs know it; the line before says more
			reason = "failed"
		}
		return fmt.Sprintf("turn %d ended: %s", e.Turn, reason), term.Faint
	case events.HookFinished:
		return hookText(d)
	case events.Limited:
		return d.Summary(e.Time) + "\n" + quoted(d.Text), term.Yellow
	case events.LoggedOut:
		return d.Agent + " is not logged in\n" + quoted(d.Hint), term.Yellow
	case events.Waiting:
		if (d.Kind == events.ForSlot || d.Kind == events.ForGates) && d.For != "" { // others are told of otherwise
			return "waits for " + d.For, term.Faint
		}
	case events.HelperStarted:
		return helperBegins(d), term.Faint
	case events.HelperEnded:
		return helperEnds(d)
	case events.Compacted:
		return strings.TrimRight(compactedText(d)+"\n"+quoted(d.Summary), "\n"), term.Faint
	case events.Rotated:
		return "begins a new session with this brief of the one before:\n" + quoted(d.Brief), term.Faint
	case events.ProgramStarts:
		if d.Ready {
			return "its program " + d.Program + " is ready", term.Faint
		}
		return "its program " + d.Program + " starts", term.Faint
	case events.MemberStarted:
		return "starts, agent " + d.Agent, term.Faint
	case events.Sandboxed:
		if len(d.Lost) == 0 {
			return fmt.Sprintf("its programs run in a sandbox of level %d", d.Level), term.Faint
		}
	}
	return briefText(e)
}

// callText describes a tool call in one line: the tool's name and its main input. It
// is plain and may be as long as the input; callers shorten it.
func callText(name string, input json.RawMessage) string {
	return strings.TrimSpace(term.PlainLine(name) + " " + term.PlainLine(texts.MainInput(input)))
}

// hookText describes how a hook ended, and its error if it failed open.
func hookText(p events.HookFinished) (string, term.Style) {
	outcome := p.Outcome
	if p.Awaits != "" {
		outcome = "waits for " + p.Awaits
	}
	text := fmt.Sprintf("%s hook %s: %s (%d ms)", p.Event, term.PlainLine(p.Command), outcome, p.DurationMS)
	problem := p.Warning
	if problem == "" && hasFailed(p.Outcome) {
		problem = p.Stderr
	}
	switch {
	case problem != "":
		return text + "\n" + quoted(problem), term.Yellow
	case hasFailed(p.Outcome):
		return text, term.Yellow
	}
	return text, term.Faint
}

// hasFailed reports whether a hook with that outcome failed open. People should know
// about that: such a gate looks like one that agrees.
func hasFailed(outcome string) bool {
	return outcome == "non_blocking_error" || outcome == "cancelled"
}

// quoted marks each line of a foreign text with a bar. covey never begins a line of
// its own with it, so a reader can tell covey's text from that of an agent.
func quoted(text string) string {
	text = strings.TrimRight(text, " \n\t")
	if text == "" {
		return ""
	}
	return term.QuoteBar + strings.ReplaceAll(text, "\n", "\n"+term.QuoteBar)
}

// notifiedText describes a notice that was sent. A warning reports one that was given up.
func notifiedText(p events.Notified) string {
	switch {
	case p.GivenUp != "":
		return ""
	case p.Member != "":
		return fmt.Sprintf("notice sent (%s): %s of %s", p.To, p.Kind, p.Member)
	}
	return fmt.Sprintf("notice sent (%s): %s", p.To, p.Kind)
}

// scheduleText describes a schedule that was due.
func scheduleText(p events.ScheduleRan) string {
	switch {
	case p.Skipped != "":
		return fmt.Sprintf("schedule %s: skipped, %s", p.Name, p.Skipped)
	case p.Task != "":
		return fmt.Sprintf("schedule %s: task %s", p.Name, p.Task)
	}
	return fmt.Sprintf("schedule %s: a message to %s", p.Name, p.To)
}

// Concerns returns a filter for the events of a member, and the messages and tasks
// that name it, whoever caused them.
func Concerns(member string) func(events.Event) bool {
	return func(e events.Event) bool { return slices.Contains(Concerned(e), member) }
}

// Concerned returns the members whom an event concerns: its own, and those that a message, a task
// or a merge names.
func Concerned(e events.Event) []string {
	switch d := e.Data.(type) {
	case events.MergeChanged:
		return []string{e.Member, d.Member}
	case events.MessageSent:
		return []string{e.Member, d.To}
	case events.TaskChanged:
		return []string{e.Member, d.Task.Owner}
	}
	return []string{e.Member}
}
