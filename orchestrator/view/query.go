package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate/agent"
)

// Run returns the present run, or the last one. It is the zero Run before the first.
func (s *State) Run() Run {
	if len(s.Runs) == 0 {
		return Run{}
	}
	return s.Runs[len(s.Runs)-1]
}

// Roster returns the members as a view shows them. Of a team that does not run they are those of the
// last run that had any, as they are between turns; what is said of them then may be about the end.
func (s *State) Roster(runs bool) []*Member {
	if runs {
		return s.Members
	}
	var list []*Member
	for _, m := range s.Staff().Members {
		stopped := *m
		stopped.State, stopped.Since, stopped.Gate, stopped.Doing = m.Stopped(), time.Time{}, "", ""
		stopped.WaitsFor = m.wait(events.ForRetry)
		list = append(list, &stopped)
	}
	return list
}

// Member returns a member; nil if there is none of that name.
func (s *State) Member(name string) *Member { return s.found().members[name] }

// Merge returns a piece of finished work; nil if there is none with that id.
func (s *State) Merge(id string) *Merge { return s.found().merges[id] }

// Task returns a task, deleted ones too; nil if there is none with that id.
func (s *State) Task(id string) *Task { return s.found().tasks[id] }

// OpenBlockers returns the ids of the open tasks that a task waits for.
func (s *State) OpenBlockers(t *Task) []string {
	var open []string
	for _, id := range t.BlockedBy {
		if other := s.Task(id); other != nil && !other.Deleted && other.Status != tasks.Completed {
			open = append(open, id)
		}
	}
	return open
}

// GatesOf returns the gates that accept returns true for, in order: those of a turn, for a
// timeline, or those of a task or of a merge, for its page.
func (s *State) GatesOf(accept func(*Gate) bool) []*Gate {
	var list []*Gate
	for _, g := range s.Gates {
		if accept(g) {
			list = append(list, g)
		}
	}
	return list
}

// Works is what belongs to tasks, by their ids.
type Works struct {
	Gates  map[string][]*Gate // about the task, and at the merges of its work
	Merges map[string]*Merge  // the newest of its work
	Empty  map[string]int     // turns of its owners that did nothing
}

// Works sorts the gates and merges of the State by tasks, in one pass, for whoever shows many
// tasks.
func (s *State) Works() Works {
	w := Works{Gates: map[string][]*Gate{}, Merges: map[string]*Merge{}, Empty: map[string]int{}}
	for _, t := range s.Turns {
		for _, id := range t.Tasks {
			if t.Empty {
				w.Empty[id]++
			}
		}
	}
	for _, m := range s.Merges {
		for _, id := range m.Tasks {
			w.Merges[id] = m
		}
	}
	for _, g := range s.Gates {
		if g.Task != "" {
			w.Gates[g.Task] = append(w.Gates[g.Task], g)
		} else if m := s.found().merges[g.Merge]; m != nil {
			for _, id := range m.Tasks {
				w.Gates[id] = append(w.Gates[id], g)
			}
		}
	}
	return w
}

// Graph returns the tasks that are not deleted, in the order of their ids. An edge of the
// graph leads from each of a task's BlockedBy to the task.
func (s *State) Graph() []tasks.Outline {
	list := make([]tasks.Outline, 0, len(s.Tasks))
	for _, t := range s.Tasks {
		if !t.Deleted {
			list = append(list, tasks.Outline{
				ID: t.ID, Subject: t.Subject, Status: t.Status, Owner: t.Owner, BlockedBy: t.BlockedBy,
			})
		}
	}
	return list
}

// TaskCounts counts the tasks that are not deleted.
func (s *State) TaskCounts() api.TaskCounts { return api.CountTasks(s.Graph()) }

// WorkCounts counts the tasks that are not deleted and have work to merge, and how often work was sent back.
func (s *State) WorkCounts() api.WorkCounts {
	var states []tasks.MergeState
	back := 0
	for _, t := range s.Tasks {
		if back += t.SentBack; !t.Deleted {
			states = append(states, t.Work)
		}
	}
	n := api.CountWork(slices.Values(states))
	n.SentBack = back
	return n
}

// StaffedRun returns the last run that had members, whose facts the members show.
func (s *State) StaffedRun() Run {
	for _, r := range slices.Backward(s.Runs) {
		if r.Staffed {
			return r
		}
	}
	return s.Run()
}

// Noticed returns what the lead has spent on notices in this run, and how many tasks it has completed.
func (s *State) Noticed() events.Coordination {
	c := s.Coordination
	c.Finished, c.Estimated = s.Run().Turns.Completed, true
	return c
}

// Moved returns the Moves that the present run, or the last one, has found.
func (s *State) Moved() []Note {
	return slices.DeleteFunc(slices.Clone(s.Moves), func(n Note) bool { return n.Seq < s.Run().First })
}

// BudgetAt returns the use of the team's budget at a time of the last run that had members, or later.
// Its time passes while nothing is reported; of a team that does not run, only until its last line.
func (s *State) BudgetAt(at time.Time) []events.BudgetUse {
	list := slices.Clone(s.Staff().Budget)
	for i, u := range list {
		if u.What == events.Time && s.Before == nil && s.Run().Ended.IsZero() {
			u.Used += max(at.Sub(s.BudgetTime).Seconds(), 0)
			u.Level = agent.Level(u.Used, u.Limit)
			list[i] = u
		}
	}
	return list
}

// BudgetEnd returns when a limit of the team is used up if the present run goes on at its pace so far,
// to the minute. It is the zero time if that is more than a day away, or if the run has only begun.
func (s *State) BudgetEnd(u events.BudgetUse) time.Time {
	run, spent := s.Run(), 0.0
	begun := run.Started
	for i, t := range s.Turns {
		if t.First < run.First {
			continue
		}
		if i == 0 && s.Dropped.Turns > 0 {
			begun = t.Started
		}
		if u.What == events.USD {
			spent += t.CostUSD
		} else {
			spent += float64(t.Usage.Total())
		}
	}
	worked, left := s.Time.Sub(begun).Seconds(), u.Limit-u.Used
	if u.What == events.Time {
		spent = worked
	}
	if left <= 0 || spent <= 0 || worked < 60 || left*worked/spent > 24*60*60 {
		return time.Time{}
	}
	return s.Time.Add(time.Duration(left * worked / spent * float64(time.Second))).Round(time.Minute)
}

// Needs returns what only a person can do: what somebody waits for, the oldest first, then finished work
// that holds up nobody: that with marks first, else in the order of its tasks, so that each keeps its place
// while others are decided. Each is named once: a held merge whose question is open is that question, and so
// is a member that needs attention. A merge that is ready is left out, because covey does not learn when
// its pull request is opened.
func (s *State) Needs() []api.Need {
	var list []api.Need
	asked := map[string]bool{} // members with an open request for attention
	for _, r := range s.Requests {
		if r.Open() && r.To == actors.Operator {
			list = append(list, api.Need{
				Kind: api.NeedsAnswer, ID: r.ID, Member: r.Member, Asks: r.Kind, Task: cmp.Or(r.Task, s.taskAsked(r.ID)), Text: r.Text,
				Since: r.Created, Deadline: r.Deadline, Default: r.Default,
			})
			asked[r.Member] = asked[r.Member] || r.Kind == requests.AskAttention
		}
	}
	for _, m := range s.Merges {
		if m.State.Stands() && !s.isOpen(m.Asked) {
			n := m.need()
			n.Again = s.AsksAgain(m)
			list = append(list, n)
		}
	}
	for _, m := range s.Members {
		if m.Attention != "" && !asked[m.Name] {
			list = append(list, api.Need{
				Kind: api.NeedsHelp, ID: m.Name, Member: m.Name, Text: m.Attention, Since: m.AttentionSince,
			})
		}
	}
	found := map[string][]hints.Hint{} // by task
	if slices.ContainsFunc(list, func(n api.Need) bool { return n.Task != "" }) {
		w := s.Works()
		for i, n := range list {
			if t := s.Task(n.Task); t != nil {
				found[t.ID] = w.Hints(s, t)
				list[i].Marks = hints.Words(found[t.ID])
			}
		}
	}
	slices.SortStableFunc(list, func(a, b api.Need) int {
		merges := a.Kind == api.NeedsMerge
		switch {
		case merges != (b.Kind == api.NeedsMerge) && merges: // it holds up nobody
			return 1
		case merges != (b.Kind == api.NeedsMerge):
			return -1
		case merges:
			return api.InQueue(found[a.Task], found[b.Task], a.Task, b.Task)
		}
		return a.Since.Compare(b.Since)
	})
	return list
}

// Questions counts the open requests that people have to answer.
func (s *State) Questions() (n int) {
	for _, r := range s.Requests {
		if r.Open() && r.To == actors.Operator {
			n++
		}
	}
	return n
}

// OtherNeeds returns the needs that are no questions.
func (s *State) OtherNeeds() []api.Need {
	return slices.DeleteFunc(s.Needs(), func(n api.Need) bool { return n.Kind == api.NeedsAnswer })
}

// AsksAgain reports whether to merge held work asks again whether it may be merged, because the question
// was not answered in time.
func (s *State) AsksAgain(m *Merge) bool {
	for _, r := range slices.Backward(s.Requests) {
		if r.Kind == requests.AskMerge && r.Commit == m.Commit && m.Commit != "" {
			return m.State == tasks.MergeHeld && r.State == requests.Expired
		}
	}
	return false
}

// need returns what a merge that stands needs.
func (m *Merge) need() api.Need {
	n := api.Need{Kind: api.NeedsDecision, ID: m.ID, Member: m.Member, Task: m.task(), Since: m.since()}
	n.Text = m.Name() + ": " + m.Reason
	if m.State == tasks.MergeWaiting {
		n.Kind, n.Text = api.NeedsMerge, m.Name()+" waits to be merged into "+m.Into
	}
	return n
}

// task returns the first task of the work; empty: it belongs to none.
func (m *Merge) task() string {
	if len(m.Tasks) == 0 {
		return ""
	}
	return m.Tasks[0]
}

// taskAsked returns the task about whose merge a request asks; empty: it is about none.
func (s *State) taskAsked(request string) string {
	for _, m := range s.Merges {
		if m.Asked == request {
			return m.task()
		}
	}
	return ""
}

// isOpen reports whether a request waits for its answer.
func (s *State) isOpen(id string) bool {
	r := s.found().requests[id]
	return r != nil && r.Open()
}

// since returns when the state of a merge began.
func (m *Merge) since() time.Time {
	if len(m.Steps) == 0 {
		return m.Updated
	}
	return m.Steps[len(m.Steps)-1].Time
}
