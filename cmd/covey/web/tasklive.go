package web

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/coveyteam/covey/cmd/covey/pages"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/view"
)

// taskParts are the parts of the page of a task that are replaced while it is open. Forms that
// somebody may be typing in are a part by themselves, which changes only when what can be decided
// does; page.js keeps the form of a comment as it is while it has text.
var taskParts = []string{
	"task-head", "task-look", "task-acts", "task-faults", "task-diff", "task-brings", "task-evidence", "task-gates", "task-more",
}

// showTask answers with the page of a task.
func (p *Page) showTask(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	before, _ := strconv.ParseUint(r.URL.Query().Get("before"), 10, 64) // anything else is the end
	t := &taskLive{page: p, id: id}
	body, has, err := t.draw(r.Context(), before)
	if err != nil {
		fail(w, r, err)
		return
	}
	s := shell{Title: "task " + id + ": " + t.one.Subject, Body: body}
	if before == 0 {
		s.Events = p.guard.root + "/task/" + url.PathEscape(id) + "/events?after=" + url.QueryEscape(has.String())
	}
	p.show(w, r, s)
}

// streamTask sends what changes on the page of a task.
func (p *Page) streamTask(w http.ResponseWriter, r *http.Request) {
	p.streamLive(w, r, &taskLive{page: p, id: r.PathValue("id")})
}

// taskLive is the page of a task for one viewer. It implements live.
type taskLive struct {
	page *Page
	id   string

	one   *taskPage // as it was read last; nil: not yet
	drawn string    // what the parts that were drawn last depend on

	reviewed <-chan struct{} // closed when somebody has reviewed since it was read
}

// read reads the task. What has not changed since it was last read is not read again.
func (t *taskLive) read(ctx context.Context) (again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	p := t.page
	state := p.task(t.id)
	if state == nil {
		return 0, refuse(http.StatusNotFound, "team %s has no task %q", p.place.Team, t.id)
	}
	if t.one == nil || t.one.Stamp != state.Stamp {
		t.one = &taskPage{Task: pages.Task{Form: p.guard.formToken(), TaskState: *state}}
		p.readTask(ctx, t.one)
	}
	t.one.TaskState = *state
	t.reviewed = p.reviews.next()
	done := p.reviews.of(t.id)
	viewed, looks := p.reviews.seen()
	before, after := p.beside(t.id)
	w, again := p.workOf(ctx, t.one)
	now := fmt.Sprint(state.Stamp, " ", w.read.UnixNano(), " ", done.version, " ", looks, " ", refer(before), " ", refer(after))
	if now != t.drawn {
		t.one.Prev, t.one.Next = before, after
		t.one.show(w, done, viewed)
		t.drawn = now
	}
	return again, nil
}

// draw draws the page, with the lines of its conversation before a number; 0 is the end.
func (t *taskLive) draw(ctx context.Context, before uint64) (template.HTML, mark, error) {
	has := mark{}
	has.journal, _ = t.page.journal()
	t.one, t.drawn = nil, ""
	if _, err := t.read(ctx); err != nil {
		return "", has, err
	}
	var err error
	if t.one.Talk, err = conversation(t.page.place, t.one.Spans, before); err != nil {
		t.one.Faults = append(t.one.Faults, "its conversation: "+err.Error())
	}
	has.line = t.one.Seq
	if _, has.sums, err = t.page.parts(taskParts, t.one, nil); err != nil {
		return "", has, err
	}
	body, err := t.page.board.execute("taskpage", t.one)
	return body, has, err
}

// whole implements live.
func (t *taskLive) whole(ctx context.Context) (template.HTML, mark, error) { return t.draw(ctx, 0) }

// since implements live.
func (t *taskLive) since(ctx context.Context, has mark) (html string, now mark, again time.Duration, err error) {
	was := t.drawn
	again, err = t.read(ctx)
	if err != nil {
		return "", has, 0, err
	}
	now = has
	if t.drawn != was {
		if html, now.sums, err = t.page.parts(taskParts, t.one, has.sums); err != nil {
			return "", has, 0, err
		}
	}
	lines, last, more, err := t.page.linesBetween(has.line, t.one.Seq, t.isAbout)
	if err != nil {
		return "", has, 0, err
	}
	if now.line = last; lines != "" {
		html += partial("task-log", "beforeend", lines)
	}
	if more {
		again = termview.Gather
	}
	return html, now, again, nil
}

// isAbout reports whether an event is one of a member while it worked on the task.
func (t *taskLive) isAbout(e events.Event) bool {
	return slices.ContainsFunc(t.one.Spans, func(s view.Span) bool {
		return e.Member == s.Member && e.Seq >= s.First && e.Seq <= s.Last
	})
}

// wake implements live.
func (t *taskLive) wake() <-chan struct{} { return t.reviewed }

// beside returns the pieces of work that wait for a person before and after a task in the review queue, which goes round.
// Those without pages are left out.
func (p *Page) beside(task string) (before, after *pages.Piece) {
	queue := slices.DeleteFunc(p.pieces(), func(one pages.Piece) bool {
		return one.Task == "" || !one.Decide && one.Task != task
	})
	i := slices.IndexFunc(queue, func(one pages.Piece) bool { return one.Task == task })
	if n := len(queue); n > 1 || n == 1 && i < 0 {
		before, after = &queue[(max(i, 0)+n-1)%n], &queue[(i+1)%n]
	}
	return before, after
}

// refer names a piece that may be nil.
func refer(one *pages.Piece) string {
	if one == nil {
		return ""
	}
	return one.Task
}
