package notices

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// done takes the line of a task that dev has completed.
func (r *rig) done(seq uint64, id string) {
	r.line(seq, "dev", events.TaskChanged{Change: tasks.Change{Op: tasks.TaskCompleted, Task: tasks.Task{ID: id, Owner: "dev", Subject: "work"}}})
}

// TestChangedRules: the rules of another version of the spec apply at the next line. A rule that
// stayed knows what it has sent; a new one tells what is open; one that has gone tells nothing,
// and what happened while there was none is not told later.
func TestChangedRules(t *testing.T) {
	desktop := configs.Notify{Desktop: true, About: everything}
	r := newRig(t)
	r.ask("dev", "first")
	r.done(1, "1")
	r.step()
	r.wantShown()

	r.team.Notify = []configs.Notify{desktop}
	r.step()
	r.wantShown("covey crew: question of dev: first")
	r.done(2, "2")
	r.step()
	r.wantShown("covey crew: done of dev: dev has completed task 2: work")

	// It is moved behind another one, which is about others.
	r.team.Notify = []configs.Notify{{Desktop: true, About: everything, Of: []string{"ops"}}, desktop}
	r.step()
	r.wantShown()
	r.ask("ops", "second")
	r.step()
	r.wantShown("covey crew: question of ops: second", "covey crew: question of ops: second")

	changed := desktop
	changed.After = time.Minute
	r.team.Notify = []configs.Notify{changed}
	if next := r.step(); !next.Equal(noon.Add(time.Minute)) {
		t.Errorf("the next round is at %v", next)
	}
	r.wantShown()
	r.pass(time.Minute)
	r.step()
	r.wantShown("covey crew: digest: 2 notices: first | second")

	r.team.Notify = nil
	r.ask("dev", "third")
	if next := r.step(); !next.IsZero() {
		t.Errorf("without a rule the next round is at %v", next)
	}
	r.wantShown()
}

// TestRuleChangesUnderItsNotice: the end of a delivery whose rule is no longer in the spec is
// journaled, and holds up neither the rule that came in its place nor the same rule later.
func TestRuleChangesUnderItsNotice(t *testing.T) {
	dir := t.TempDir()
	tell := filepath.Join(dir, "tell")
	testkit.Must(t, testkit.WriteProgram(tell, []byte("#!/bin/sh\nexit 0\n")))
	was, now := configs.Notify{Command: []string{tell}, About: everything}, configs.Notify{Desktop: true, About: everything}
	r := newRig(t, was)
	r.ask("dev", "may I?")
	r.n.round(t.Context(), false) // the command is on its way
	r.team.Notify = []configs.Notify{now}
	r.n.sending.Wait()
	r.step()
	r.wantShown("covey crew: question of dev: may I?")
	told := r.told()
	if len(told) != 2 || !strings.HasPrefix(told[0].To, "command ") || told[1].To != "desktop" {
		t.Errorf("the journal has %+v", told)
	}
	r.team.Notify = []configs.Notify{was, now}
	r.ask("dev", "and this?")
	r.step()
	r.wantShown("covey crew: question of dev: and this?")
	if told = r.told(); len(told) != 4 || !slices.ContainsFunc(told[2:], func(n events.Notified) bool { return n.To == told[0].To }) {
		t.Errorf("the journal has %+v", told)
	}
}

// TestHoursAcrossMidnight: a night shift in a zone of its own, with the times at which it begins
// and ends.
func TestHoursAcrossMidnight(t *testing.T) {
	night := yaml.Hours{From: 22 * time.Hour, To: 6*time.Hour + 30*time.Minute, Zone: "Asia/Kolkata"} // 16:30 to 01:00 UTC
	at := func(day, hour, minute, second int) time.Time {
		return time.Date(2026, 11, day, hour, minute, second, 0, time.UTC)
	}
	for _, tc := range []struct{ now, want time.Time }{
		{at(25, 16, 29, 59), at(25, 16, 30, 0)},
		{at(25, 16, 30, 0), at(25, 16, 30, 0)},
		{at(25, 23, 59, 59), at(25, 23, 59, 59)},
		{at(26, 0, 59, 59), at(26, 0, 59, 59)},
		{at(26, 1, 0, 0), at(26, 16, 30, 0)},
	} {
		if got := opening(night, tc.now); !got.Equal(tc.want) {
			t.Errorf("after %v: %v, want %v", tc.now, got, tc.want)
		}
	}

	r := newRig(t, configs.Notify{Desktop: true, About: everything, Hours: night, Digest: time.Hour})
	r.ask("dev", "by day")
	if next := r.step(); !next.Equal(at(25, 16, 30, 0)) {
		t.Errorf("the next round is at %v", next)
	}
	r.pass(4*time.Hour + 30*time.Minute)
	r.step()
	r.wantShown("covey crew: question of dev: by day")
	r.pass(8*time.Hour + 20*time.Minute) // ten minutes before the shift ends, at 00:50
	r.ask("dev", "at night")
	r.step()
	r.wantShown("covey crew: question of dev: at night")
	r.done(1, "1") // the digest ends after the shift
	if next := r.step(); !next.Equal(at(26, 16, 30, 0)) {
		t.Errorf("the next round is at %v", next)
	}
	r.pass(10 * time.Minute)
	r.n.End(t.Context(), "stopped") // the end of a run is told in the hours only, too
	r.restart()
	r.step()
	r.wantShown()
	r.pass(16 * time.Hour)
	r.step()
	if len(r.shown) != 1 || !strings.HasSuffix(r.shown[0], "dev has completed task 1: work | the team ends: stopped") {
		t.Errorf("shown: %q", r.shown)
	}
}

// TestDigestOrder: a digest names the oldest first, whatever came from the journal and what from
// the store, and what came at the same time in the order in which it came.
func TestDigestOrder(t *testing.T) {
	r := newRig(t, configs.Notify{Desktop: true, About: everything, After: 10 * time.Minute, Digest: time.Hour})
	r.done(1, "0")
	r.step()
	r.wantShown("covey crew: done of dev: dev has completed task 0: work")
	r.pass(time.Minute)
	r.ask("dev", "q1")
	r.pass(time.Minute)
	r.done(2, "1")
	r.done(3, "2")
	r.pass(time.Minute)
	gone := r.ask("ops", "q2")
	r.ask("ops", "q3")
	r.done(4, "3")
	r.step()
	_, err := r.store.Requests().Withdraw(t.Context(), actors.Actor{Name: "ops"}, gone.ID, "no longer")
	testkit.Must(t, err)
	r.pass(50 * time.Minute)
	r.ask("dev", "too young")
	r.pass(7 * time.Minute)
	r.step()
	work := func(id string) string { return "dev has completed task " + id + ": work" }
	r.wantShown("covey crew: digest: 5 notices: " + strings.Join([]string{"q1", work("1"), work("2"), work("3"), "q3"}, " | "))
	told := r.told()
	if last := told[len(told)-1]; last.Kind != string(Digest) || last.Count != 5 || !slices.Equal(last.IDs, []string{"r1", "r3"}) {
		t.Errorf("the journal has %+v", last)
	}
}

// TestLinkAgainstTheInbox: of a link and an answer in the inbox at once, one counts, and the link
// says which.
func TestLinkAgainstTheInbox(t *testing.T) {
	r := newRig(t)
	for i := range 20 {
		q := r.ask("dev", fmt.Sprintf("may I, %d?", i))
		token := r.link(q)
		var both sync.WaitGroup
		var standing Standing
		var linkErr, inboxErr error
		both.Go(func() { standing, linkErr = r.use(token, true) })
		both.Go(func() { _, inboxErr = r.answer(q.ID, false) })
		both.Wait()
		testkit.Must(t, linkErr)
		now, err := r.store.Requests().Get(t.Context(), q.ID)
		testkit.Must(t, err)
		if won := standing.Refused == ""; won != (now.State == requests.Approved) || won == (inboxErr == nil) {
			t.Fatalf("the link: %+v; the inbox: %v; it is %s", standing, inboxErr, now.State)
		}
		if again, err := r.use(token, false); err != nil || again.Refused == "" {
			t.Fatalf("once more: %+v, %v", again, err)
		}
	}
}

// TestNoiseIsNoNews: lines that no rule can be about wake nobody.
func TestNoiseIsNoNews(t *testing.T) {
	r := newRig(t, configs.Notify{Desktop: true, About: everything})
	for _, data := range []events.Data{
		events.TextSaid{}, events.ToolCalled{}, events.TurnEnded{}, events.MessageSent{}, events.Notified{},
	} {
		r.line(1, "dev", data)
	}
	select {
	case <-r.n.wake:
		t.Error("it is woken")
	default:
	}
}
