package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/pages"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// readTime is how long the parts of a task's page may take that git reads.
const readTime = 30 * time.Second

// shownOutputs is how many outputs of gates are read from the journal for one page.
const shownOutputs = 12

// taskPage is the page of one task. Its parts are drawn by one template each, named as their
// ids.
type taskPage struct {
	Form string
	taskState
	Full     tasks.Task         // with its whole texts
	Question *requests.Request  // the open question about it
	Review   api.Review         // of its newest work
	Rounds   []round            // its gates, the newest first
	Stored   []requests.Verdict // of gates that the journal's fold has dropped
	Alarms   []pages.Alarm
	Diff     diffView
	Talk     log
	Faults   []string // what could not be read
	Unread   []string // likewise, of its work
}

// taskState is what the journal says about a task, copied from the State.
type taskState struct {
	pages.TaskRow
	Up      bool // the team runs
	Author  string
	Present bool // Author is a member now
	Merges  []view.Merge
	Judged  []view.Gate
	Blocked []*tasks.Outline // what it waits for, and whatever waits for it
	Blocks  []*tasks.Outline
	Facts   []pages.Alarm
	Stamp   string // changes with whatever the page shows but its changes and its conversation
	Seq     uint64 // the line of the journal up to which this is known
}

// round is one run of all hooks about the task, with what they said.
type round struct {
	view.Gate
	Took time.Duration
	Runs []hookRun
}

// hookRun is one hook of a round.
type hookRun struct {
	view.HookRun
	Text string // its output, or the first line of it
	Cut  bool   // Text is not all
}

// task copies what the State says about a task; nil: there is no such task. gated says that the
// team has gates for tasks.
func (p *Page) task(id string, gated bool) (one *taskState) {
	p.feed.Read(func(now termview.Now) {
		s := now.State
		t := s.Task(id)
		if t == nil || t.Deleted {
			return
		}
		copied := *t
		copied.Owners, copied.Returns = slices.Clone(t.Owners), slices.Clone(t.Returns)
		copied.Spans = slices.Clone(t.Spans)
		one = &taskState{TaskRow: pages.TaskRow{Task: &copied, Waits: pages.WaitsOf(s, t)}, Up: now.Status != nil, Author: t.Owner, Seq: s.Seq}
		one.Facts = pages.StateAlarms(s, s.Works(), t, gated)
		for _, m := range s.Merges {
			if slices.Contains(m.Tasks, id) {
				c := *m
				one.Merges = append(one.Merges, c)
				one.Merge, one.Author = &c, m.Member
			}
		}
		one.collect(s)
		one.Word, one.Class = pages.TaskWord(one.TaskRow)
	})
	return one
}

// collect copies what concerns the task from the rest of the State.
func (t *taskState) collect(s *view.State) {
	m := s.Member(t.Author)
	t.Present = m != nil && !m.Left
	for _, g := range s.Gates {
		if g.Task == t.ID || g.Merge != "" && slices.Contains(t.Task.Merges, g.Merge) {
			c := *g
			c.Hooks = slices.Clone(g.Hooks)
			t.Judged = append(t.Judged, c)
		}
	}
	for _, other := range s.Graph() {
		if slices.Contains(t.BlockedBy, other.ID) {
			t.Blocked = append(t.Blocked, &other)
			if other.Status != tasks.Completed {
				t.Waits = append(t.Waits, other.ID)
			}
		}
		if slices.Contains(other.BlockedBy, t.ID) {
			t.Blocks = append(t.Blocks, &other)
		}
	}
	stamp := []any{t.Version, t.Status, t.Awaits, t.Refusals, t.Unchanged, t.Up, t.Present, t.Waits, t.Facts, t.Spent}
	for _, g := range t.Judged {
		stamp = append(stamp, g.ID, g.Last, g.Verdict)
	}
	for _, m := range t.Merges {
		stamp = append(stamp, m.ID, m.Version)
	}
	for _, r := range s.Requests {
		if r.Open() && r.Member == t.Author {
			stamp = append(stamp, r.ID)
		}
	}
	t.Stamp = fmt.Sprint(stamp...)
}

// readTask reads all parts of a task's page but its differences and its conversation. Parts that
// cannot be read are among the faults, because the others may be enough to decide.
func (p *Page) readTask(ctx context.Context, one *taskPage) {
	id := one.ID
	fault := func(what string, err error) {
		if err != nil {
			one.Faults = append(one.Faults, what+": "+err.Error())
		}
	}
	var err error
	one.Full, err = cli.AskStore(ctx, p.place, func(ctx context.Context, c *api.Client) (tasks.Task, error) {
		return c.Task(ctx, id)
	}, func(ctx context.Context, s *tasks.Store) (tasks.Task, error) { return s.Task(ctx, id) })
	if err != nil {
		one.Full = one.Task.Task
	}
	fault("its texts are cut", err)
	open, err := cli.ReadInbox(ctx, p.place, api.InboxQuery{})
	fault("open questions", err)
	if asked, found := merging.QuestionAbout(open, id); found {
		one.Question = &asked
	}
	reply, err := p.env.ReadReview(ctx, p.place, api.ReviewRequest{Task: id, Logs: true})
	fault("its work", err)
	if n := len(reply.Reviews); n > 0 {
		one.Review = reply.Reviews[n-1]
	}
	one.Rounds = rounds(p.place, one.Judged)
	if len(one.Rounds) == 0 {
		one.Stored = one.Review.Verdicts
		slices.Reverse(one.Stored)
	}
}

// rounds returns gates with their outputs, the newest first.
func rounds(place state.Place, gates []view.Gate) []round {
	var list []round
	read := 0
	for _, g := range slices.Backward(gates) {
		r := round{Gate: g}
		if !g.Ended.IsZero() {
			r.Took = g.Ended.Sub(g.Started)
		}
		for _, h := range g.Hooks {
			run := hookRun{HookRun: h, Text: h.Output}
			if read++; h.Seq > 0 && read <= shownOutputs {
				run.Text, run.Cut = termview.OutputOf(place, h, maxText)
			}
			r.Runs = append(r.Runs, run)
		}
		list = append(list, r)
	}
	return list
}

// taskPage reads the page of a task but for its changes and its conversation.
func (p *Page) taskPage(ctx context.Context, id string) (*taskPage, error) {
	known := p.task(id, p.alarms.gated(p))
	if known == nil {
		return nil, refuse(http.StatusNotFound, "team %s has no task %q", p.place.Team, id)
	}
	one := &taskPage{Form: p.guard.formToken(), taskState: *known}
	p.readTask(ctx, one)
	return one, nil
}

// conversation reads the newest lines of the members that worked on a task, while they did,
// before a number; 0 is the end.
func conversation(place state.Place, spans []view.Span, before uint64) (log, error) {
	var found log
	before = cmp.Or(before, ^uint64(0))
	for _, s := range slices.Backward(spans) {
		if s.First >= before {
			continue
		}
		for l, err := range journal.Backwards(place.Journal(), min(s.Last+1, before)) {
			if err != nil {
				return found, fmt.Errorf("read what %s said: %w", s.Member, err)
			}
			if l.Seq < s.First {
				break
			}
			one, ok := lineOf(l.Event())
			if !ok || l.Member != s.Member {
				continue
			}
			if len(found.Lines) == shownLines {
				found.Older = fmt.Sprintf("?before=%d#task-talk", found.Lines[len(found.Lines)-1].Seq)
				slices.Reverse(found.Lines)
				return found, nil
			}
			found.Lines = append(found.Lines, one)
		}
	}
	slices.Reverse(found.Lines)
	return found, nil
}
