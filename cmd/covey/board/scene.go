package board

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// scene is what the lists and the heading show of a team at one moment. Nothing in it belongs to
// the feed, and all its texts are plain.
type scene struct {
	runs    bool   // a process runs the team, so that it can be asked for something
	stopped bool   // it is known that none does
	word    string // its state
	style   term.Style
	facts   string // numbers of the whole team
	bus     string // the servers that keep its data; empty: there are none
	busBad  bool   // a person has to look at them
	goal    string
	started time.Time
	ended   time.Time // zero: it goes on
	rows    [lists][]row
}

// row is one row of a list.
type row struct {
	key    string // identifies it while the list changes
	name   string
	word   string // its state
	style  term.Style
	since  time.Time // when that began; zero: it has no age
	silent string    // what becomes of the question without an answer, and when; empty: it waits
	who    string    // id of the question, owner of the task
	text   string
	title  string // of finished work
	about  string // what a person should read before a decision, of several lines; may be empty

	member  string // whose log belongs to it, and who gets a message; empty: the whole team
	held    bool   // the member is held
	request string // the id of the question that approve and deny answer; empty: it is none
	task    string // the id of the task that merge and return are about; empty: all work of member
	merges  bool   // the work can be merged
	marked  bool   // there is something to look at first
	clean   bool   // it waits, was looked at and has no marks
	changes bool   // there are changes to show
	again   bool   // to merge it asks a question again
	returns bool   // the work on task can be sent back
	work    bool   // it is finished work that a person decides about
	picked  bool   // it is chosen, to be merged with others
}

// masked returns a text without secrets; mask may be nil.
func masked(mask func(string) string, text string) string {
	if mask == nil {
		return text
	}
	return mask(text)
}

// mask replaces secrets in what is shown. The feed has its texts as they are.
func (n *news) mask(mask func(string) string) {
	for _, text := range []*string{&n.scene.word, &n.scene.goal, &n.notice} {
		*text = masked(mask, *text)
	}
	for _, rows := range n.scene.rows {
		for i := range rows {
			r := &rows[i]
			r.name, r.text, r.about = masked(mask, r.name), masked(mask, r.text), masked(mask, r.about)
		}
	}
	n.drafts.Drafts = slices.Clone(n.drafts.Drafts)
	for i := range n.drafts.Drafts {
		n.drafts.Drafts[i].Text = masked(mask, n.drafts.Drafts[i].Text)
	}
}

// sceneOf takes the scene of what a feed knows. own says that this process runs the team.
func sceneOf(now termview.Now, own bool) scene {
	s := now.State
	run := s.Run()
	if run.Merge != "" {
		run = s.StaffedRun() // covey merge has no goal and no turns
	}
	sc := scene{runs: now.Status != nil, goal: term.PlainLine(run.Goal), started: run.Started}
	if sc.stopped = now.Absent != nil && !own; sc.stopped {
		sc.ended = cmp.Or(run.Ended, s.Time) // a run that was cut off has no end
	}
	sc.word, sc.style = termview.TeamWord(s, sc.runs || own && run.Reason == "")
	switch {
	case s.Seq < now.Until && now.Trouble == nil:
		sc.word, sc.style = fmt.Sprintf("reading the journal, %d %%", s.Seq*100/now.Until), term.Faint
	case own && run.First == 0:
		sc.word, sc.style = "starts", term.Faint
	case now.Trouble != nil:
		sc.word, sc.style = "the journal cannot be read: "+now.Trouble.Error(), term.Red
	case sc.runs, own:
	case now.Absent == nil:
		sc.word, sc.style = "…", term.Faint
	case !errors.Is(now.Absent, api.ErrNotRunning):
		sc.word, sc.style = now.Absent.Error(), term.Red
	}
	sc.word = term.PlainLine(sc.word)
	sc.facts = factsOf(now)
	if b := termview.BusOf(s, now.Status); b != nil && !sc.stopped {
		sc.bus, sc.busBad = "bus: "+term.PlainLine(b.String()), b.Bad()
	}
	sc.rows = [lists][]row{needs: needRows(s, sc.runs), membersOf: memberRows(now, sc.runs || own), tasksOf: taskRows(s)}
	return sc
}

// factsOf sums up the numbers of a team.
func factsOf(now termview.Now) string {
	s := now.State
	cost, parts := 0.0, termview.CountWords(s.TaskCounts(), s.WorkCounts())
	if n := s.StaffedRun().Refusals; n > 0 {
		parts = append(parts, fmt.Sprintf("%d refused", n))
	}
	for _, m := range s.Members {
		cost += m.Spent.CostUSD
	}
	if text := termview.Dollars(cost); text != "" { // a narrow terminal cuts what is behind it
		parts = slices.Insert(parts, min(len(parts), 2), text)
	}
	budget := s.BudgetAt(s.Time)
	if now.Status != nil {
		budget = now.Status.Budget
	}
	for _, u := range budget {
		if u.Limit > 0 {
			parts = append(parts, fmt.Sprintf("%.0f %% of the budget (%s)", u.Used*100/u.Limit, term.PlainLine(u.What)))
		}
	}
	return strings.Join(parts, " · ")
}

// needRows returns what waits for a person, the oldest first.
func needRows(s *view.State, runs bool) []row {
	var rows []row
	works := s.Works()
	for _, n := range s.Needs() {
		r := row{
			key: string(n.Kind) + " " + n.ID, name: term.PlainLine(n.Member), member: n.Member, word: termview.NeedWord(n),
			style: termview.NeedStyle(n), since: n.Since, text: term.PlainLine(strings.TrimPrefix(n.Text, n.Member+" ")), about: term.Plain(n.Text),
			task: n.Task, returns: n.Task != "",
		}
		switch n.Kind {
		case api.NeedsAnswer:
			r.request, r.who = n.ID, term.PlainLine(n.ID)
			r.changes = n.Task != ""
			r.work = n.Task != "" && (n.Asks == requests.AskApproval || n.Asks == requests.AskMerge)
		case api.NeedsMerge, api.NeedsDecision:
			r.merges, r.work, r.again, r.who = true, true, n.Again, term.PlainLine(n.Task)
			m := s.Merge(n.ID)
			found := m.Hints
			if t := s.Task(n.Task); t != nil {
				found = works.Hints(s, t)
				r.about = taskAbout(t, m, found)
			}
			r.changes, r.title = true, term.PlainLine(m.Title)
			r.text = pieceText(works, m, n, len(hints.NoteWords(found)))
			r.clean = n.Kind == api.NeedsMerge && m.Size.Files > 0 && len(n.Marks) == 0
		}
		if runs { // else it waits for the next run
			if word, at := termview.Unanswered(n.Asks, actors.Operator, n.Default, n.Deadline, s.Time); word != "" {
				r.silent, r.about = word+" "+at, r.about+"\n"+word+" if unanswered at "+at
			}
		} else if command := termview.NeedCommand(n); command != "" {
			r.text = term.PlainLine(command) + ": " + r.text
		}
		r.held = isHeld(s.Member(n.Member))
		r.mark(n.Marks)
		rows = append(rows, r)
	}
	return rows
}

// pieceText describes finished work in one line: how much it changes, what its last gate says, what it is,
// how many notes there are about it, and why it is held.
func pieceText(works view.Works, m *view.Merge, n api.Need, notes int) string {
	var text string
	if m.Size.Files > 0 {
		text = fmt.Sprintf("+%d −%d ", m.Size.Added, m.Size.Removed)
	}
	if gates := works.Gates[n.Task]; len(gates) > 0 {
		text += map[view.Verdict]string{view.Agreed: "✓ ", view.Refused: "✗ "}[gates[len(gates)-1].Verdict]
	}
	if notes > 0 {
		text += texts.Plural(notes, "note") + " · "
	}
	text += m.Title
	if m.Reason != "" {
		text += " · " + m.Reason
	}
	return term.PlainLine(text)
}

// isHeld reports whether a member is held.
func isHeld(m *view.Member) bool { return m != nil && m.Held != nil }

// memberRows returns the members, below a row for the whole team.
func memberRows(now termview.Now, runs bool) []row {
	s := now.State
	rows := []row{{name: "all", text: "the whole team"}}
	graph := s.Graph()
	for _, m := range s.Roster(runs) {
		if m.Left && (!runs || m.State == api.Ended) {
			continue
		}
		r := row{key: m.Name, name: term.PlainLine(m.Name), member: m.Name, since: m.Since,
			held: m.Held != nil}
		r.word, r.style = termview.MemberWord(m)
		r.text, r.about = memberText(now, m, graph), memberAbout(m)
		rows = append(rows, r)
	}
	return rows
}

// memberText returns in one line what a member is at.
func memberText(now termview.Now, m *view.Member, graph []tasks.Outline) string {
	var parts []string
	if len(m.InProgress) > 0 {
		parts = append(parts, "task "+term.PlainLine(m.InProgress[0]))
	}
	for _, one := range []struct {
		n    int
		word string
	}{{m.Done.Refusals, "refused"}, {m.Unread, "unread"}} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.n, one.word))
		}
	}
	if part, ok := m.Done.Context.Percent(); ok {
		parts = append(parts, fmt.Sprintf("context %d%% full", part))
	}
	if m.Held != nil && m.State != api.Held {
		parts = append(parts, "held after this turn")
	}
	if cost := termview.Dollars(m.Spent.CostUSD); cost != "" {
		parts = append(parts, cost)
	}
	if does := cmp.Or(writing(now.Drafts, m), termview.MemberDoes(now.State, m, graph)); does != "" {
		parts = append(parts, does)
	}
	return strings.Join(parts, " · ")
}

// memberAbout returns what else is known about a member.
func memberAbout(m *view.Member) string {
	var lines []string
	if m.Attention != "" {
		lines = append(lines, m.Attention)
	}
	if m.Lockout != nil {
		lines = append(lines, strings.TrimSpace(m.Lockout.Text+" "+m.Lockout.Fix))
	}
	if m.Held != nil {
		lines = append(lines, "held by "+cmp.Or(m.Held.By, "covey"))
	}
	facts := []string{m.Agent}
	if m.Turn > 0 {
		facts = append(facts, fmt.Sprintf("turn %d, pass %d", m.Turn, m.Pass))
	}
	if m.Box != nil {
		facts = append(facts, "sandbox "+m.Box.Word())
	}
	if m.Node != "" {
		facts = append(facts, "on node "+m.Node)
	}
	if m.Worktree != nil && m.Worktree.Branch != "" {
		facts = append(facts, "branch "+m.Worktree.Branch)
	}
	for _, u := range m.Limits {
		if u.Limit > 0 {
			facts = append(facts, u.String())
		}
	}
	return term.Plain(strings.Join(append(lines, strings.Join(facts, " · ")), "\n"))
}

// mark puts before the text what a reviewer should look at first.
func (r *row) mark(words []string) {
	if text := termview.MarksText(words); text != "" {
		r.text, r.marked = term.PlainLine(text)+" · "+r.text, true
	}
}

// taskRows returns the tasks.
func taskRows(s *view.State) []row {
	works := s.Works()
	var rows []row
	for _, t := range s.Tasks {
		if t.Deleted {
			continue
		}
		merge := works.Merges[t.ID]
		r := row{key: t.ID, name: term.PlainLine(t.ID), task: t.ID, member: t.Owner,
			returns: t.Status == tasks.Completed}
		if merge != nil {
			r.member = cmp.Or(t.Owner, merge.Member)
			r.changes = true
			r.merges = r.returns && !merge.State.Busy() && !merge.State.Over() && merge.State != tasks.MergeReady
		}
		r.word, r.style = termview.TaskWord(t, merge, s.OpenBlockers(t))
		r.word = term.PlainLine(r.word)
		r.held = isHeld(s.Member(r.member))
		r.who, r.text = term.PlainLine(t.Owner), term.PlainLine(t.Subject)
		found := works.Hints(s, t)
		r.about = taskAbout(t, merge, found)
		r.mark(hints.Words(found))
		rows = append(rows, r)
	}
	return rows
}

// taskAbout returns what else is known about a task: what it is, why it was not accepted, and what
// keeps its work from being merged.
func taskAbout(t *view.Task, merge *view.Merge, found []hints.Hint) string {
	lines := []string{t.Subject}
	for _, h := range found {
		lines = append(lines, h.String())
	}
	if t.Description != "" {
		lines = append(lines, t.Description)
	}
	for _, r := range t.Returns[max(0, len(t.Returns)-3):] {
		lines = append(lines, fmt.Sprintf("%s %s: %s", r.Time.Local().Format(time.TimeOnly), termview.ReturnWord(r.Kind), r.Reason))
	}
	if merge != nil {
		lines = append(lines, merge.Name()+": "+termview.MergeState(merge.Merge)+termview.Because(merge.Merge))
	}
	return term.Plain(strings.Join(lines, "\n"))
}
