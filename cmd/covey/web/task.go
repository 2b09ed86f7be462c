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
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// readTime is how long the parts of a task's page may take that git reads.
const readTime = 30 * time.Second

// shownOutputs is how many outputs of gates are read from the journal for one page.
const shownOutputs = 12

// taskPage is the page of one task. Its parts are drawn by one template each, named as their
// ids.
type taskPage struct {
	pages.Task
	Talk log
}

// task copies what the State says about a task; nil: there is no such task.
func (p *Page) task(id string) (one *pages.TaskState) {
	p.feed.Read(func(now termview.Now) {
		s := now.State
		if t := s.Task(id); t != nil && !t.Deleted {
			known := pages.TaskOf(s, s.Works(), t, now.Status != nil)
			one = &known
		}
	})
	return one
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
	one.Full, err = cli.AskStore(ctx, p.place, cli.With((*api.Client).Task, id), cli.With((*tasks.Store).Task, id))
	if err != nil {
		one.Full = one.TaskRow.Task.Task
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
	read := 0
	one.Rounds = pages.Rounds(one.Gates, func(h view.HookRun) (string, bool) {
		if read++; h.Seq > 0 && read <= shownOutputs {
			return termview.OutputOf(p.place, h, maxText)
		}
		return h.Output, false
	})
	if len(one.Rounds) == 0 {
		one.Stored = one.Review.Verdicts
		slices.Reverse(one.Stored)
	}
}

// taskPage reads the page of a task but for its changes and its conversation.
func (p *Page) taskPage(ctx context.Context, id string) (*taskPage, error) {
	known := p.task(id)
	if known == nil {
		return nil, refuse(http.StatusNotFound, "team %s has no task %q", p.place.Team, id)
	}
	one := &taskPage{Task: pages.Task{Form: p.guard.formToken(), TaskState: *known}}
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
		for l, err := range state.JournalBackwards(place.Journal(), min(s.Last+1, before)) {
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
