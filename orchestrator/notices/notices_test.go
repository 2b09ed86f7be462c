package notices

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// everything are all kinds of events.
var everything = []configs.Notable{
	configs.NotableQuestion, configs.NotableApproval, configs.NotableAttention, configs.NotableMergeHeld,
	configs.NotableRefused, configs.NotableDone, configs.NotableEnded, configs.NotableBudget,
}

// TestAfter: a question is told of once it has waited long enough, once; one that is answered
// before, never. Neither changes with a restart.
func TestAfter(t *testing.T) {
	r := newRig(t, configs.Notify{Desktop: true, About: everything, After: 2 * time.Minute})
	first := r.ask("dev", "dev wants to use Bash: make")
	if next := r.step(); !next.Equal(noon.Add(2 * time.Minute)) {
		t.Errorf("the next round is at %v", next)
	}
	_, err := r.answer(first.ID, true)
	testkit.Must(t, err)
	r.pass(3 * time.Minute)
	r.step()
	r.wantShown()

	r.ask("dev", "dev wants to use Bash: make\x1b[31m all")
	r.pass(time.Minute)
	r.restart()
	r.step()
	r.wantShown()
	r.pass(time.Minute)
	r.step()
	r.wantShown("covey crew: question of dev: dev wants to use Bash: make [31m all")
	r.restart()
	r.pass(time.Hour)
	r.step()
	r.wantShown()
	want := events.Notified{To: "desktop", Kind: "question", Member: "dev", IDs: []string{"r2"}, Count: 1, Tries: 1}
	if told := r.told(); len(told) != 1 || told[0].IDs[0] != "r2" || told[0].To != want.To || told[0].Tries != 1 {
		t.Errorf("the journal has %+v", told)
	}
}

// TestHours: what comes at night waits, without what is answered in the night, and comes as one
// notice in the morning.
func TestHours(t *testing.T) {
	r := newRig(t, configs.Notify{Desktop: true, About: everything, Hours: yaml.Hours{From: 8 * time.Hour, To: 20 * time.Hour, Zone: "UTC"}})
	r.pass(9 * time.Hour)
	answered := r.ask("dev", "first")
	if next := r.step(); !next.Equal(noon.Add(20 * time.Hour)) {
		t.Errorf("the next round is at %v", next)
	}
	r.ask("ops", "second")
	r.pass(time.Minute)
	r.line(7, "dev", events.HookFeedback{Event: "TaskCompleted", Text: "tests fail\nmore", TaskID: "3", Path: "turn_end"})
	_, err := r.answer(answered.ID, false)
	testkit.Must(t, err)
	r.step()
	r.restart() // what has happened waits in the store
	r.pass(11 * time.Hour)
	r.step()
	r.wantShown("covey crew: digest: 2 notices: second | dev was refused by TaskCompleted: tests fail")
}

// TestDigest: after a notice the next one gathers.
func TestDigest(t *testing.T) {
	r := newRig(t, configs.Notify{Desktop: true, About: everything, Digest: 30 * time.Minute})
	done := func(seq uint64, id string) {
		r.line(seq, "dev", events.TaskChanged{Change: tasks.Change{Op: tasks.TaskCompleted, Task: tasks.Task{ID: id, Owner: "dev", Subject: "work"}}})
		r.pass(10 * time.Minute)
		r.step()
	}
	done(1, "1")
	r.wantShown("covey crew: done of dev: dev has completed task 1: work")
	done(2, "2")
	done(3, "3")
	r.wantShown()
	r.line(4, "", events.BudgetUse{What: events.USD, Used: 19, Limit: 20, Level: 90})
	r.line(5, "", events.BudgetUse{What: events.USD, Used: 10, Limit: 20, Level: 50})
	r.pass(20 * time.Minute)
	r.step()
	r.wantShown("covey crew: digest: 3 notices: dev has completed task 2: work | dev has completed task 3: work | " +
		"the team has used 19.00 of 20.00 US dollars (95 %)")
}

// TestOpenMerge: a held merge is open without a request.
func TestOpenMerge(t *testing.T) {
	r := newRig(t, configs.Notify{Desktop: true, About: []configs.Notable{configs.NotableMergeHeld}})
	ctx := t.Context()
	m, err := r.store.Merges().Propose(ctx, actors.Actor{Name: "dev"}, tasks.Merge{
		Branch: "covey/crew/dev", Member: "dev", Tasks: []string{"1"}, Title: "work", Commit: strings.Repeat("a", 40),
		From: strings.Repeat("b", 40), Into: "main", State: tasks.MergeQueued,
	})
	testkit.Must(t, err)
	m.State, m.Reason = tasks.MergeHeld, "tests fail"
	m, err = r.store.Merges().Move(ctx, actors.Actor{}, m, nil)
	testkit.Must(t, err)
	r.step()
	if len(r.shown) != 1 || !strings.HasSuffix(r.shown[0], "is held: tests fail") {
		t.Errorf("shown: %q", r.shown)
	}
	r.shown = nil
	r.step()
	m.State = tasks.MergeQueued
	m, err = r.store.Merges().Move(ctx, actors.Actor{}, m, nil)
	testkit.Must(t, err)
	r.step()
	m.State = tasks.MergeHeld
	_, err = r.store.Merges().Move(ctx, actors.Actor{}, m, nil)
	testkit.Must(t, err)
	r.step() // held again: that is news
	if len(r.shown) != 1 {
		t.Errorf("shown: %q", r.shown)
	}
}

// TestCommand: a command gets the notice on stdin, without secrets; one that fails is run again,
// and given up with one warning.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	testkit.Must(t, testkit.WriteProgram(filepath.Join(dir, "tell"), []byte("#!/bin/sh\ncat >>"+dir+"/got; test -f "+dir+"/works\n")))
	r := newRig(t, configs.Notify{Command: []string{filepath.Join(dir, "tell")}, About: everything})
	r.ask("dev", "may I?")
	r.step()
	r.step() // the pause after a failure is not over
	testkit.Must(t, os.WriteFile(filepath.Join(dir, "works"), nil, 0o600))
	r.pass(2 * time.Second)
	r.step()
	got, err := os.ReadFile(filepath.Join(dir, "got"))
	testkit.Must(t, err)
	one := `{"version":1,"team":"crew","kind":"question","member":"dev","id":"r1","text":"may I?","since":"2026-11-25T12:00:00Z",` +
		`"deadline":"2026-11-25T13:00:00Z","url":"http://127.0.0.1:8080/"}`
	if string(got) != one+one {
		t.Errorf("got %s", got)
	}
	if told := r.told(); len(told) != 1 || told[0].Tries != 2 || told[0].GivenUp != "" {
		t.Errorf("the journal has %+v", told)
	}

	testkit.Must(t, os.Remove(filepath.Join(dir, "works")))
	r.ask("dev", "and this?")
	for range 12 {
		r.step()
		r.pass(2 * time.Minute)
	}
	if w := r.warnings(); len(w) != 1 || !strings.Contains(w[0], "given up after") || !strings.Contains(w[0], "exit code 1") {
		t.Errorf("warnings: %q", w)
	}
	if told := r.told(); len(told) != 2 || told[1].GivenUp == "" || told[1].IDs[0] != "r2" {
		t.Errorf("the journal has %+v", told)
	}
}

// TestCannotWork: people are told once of a rule that cannot work.
func TestCannotWork(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r := newRig(t, configs.Notify{Desktop: true, About: everything}, configs.Notify{Command: []string{"./nowhere"}, About: everything})
	r.n.deps.Terminal = nil
	for range 3 {
		r.ask("dev", "may I?")
		r.step()
	}
	w := r.warnings()
	if len(w) < 2 || !strings.Contains(w[0], "no notify-send") || !strings.Contains(w[1], "./nowhere cannot be run") {
		t.Errorf("warnings: %q", w)
	}
	for _, text := range w[2:] {
		if strings.Contains(text, "desktop") {
			t.Errorf("said again: %q", text)
		}
	}
}

// TestEnd: the end of a run sends what a digest and a failure hold back, and the run's end.
func TestEnd(t *testing.T) {
	r := newRig(t, configs.Notify{Desktop: true, About: everything, Digest: time.Hour})
	r.ask("dev", "may I?")
	r.step()
	r.wantShown("covey crew: question of dev: may I?")
	r.n.End(t.Context(), "all work is done")
	r.wantShown("covey crew: ended: the team ends: all work is done")
	if len(r.told()) != 2 {
		t.Errorf("the journal has %+v", r.told())
	}
}

// TestRun: a line wakes the notices, and the end of the context ends them.
func TestRun(t *testing.T) {
	r := newRig(t, configs.Notify{Desktop: true, About: everything})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.n.Run(ctx) }()
	q := r.ask("dev", "may I?")
	r.line(1, "", events.RequestChanged{})
	testkit.Eventually(t, "the question is shown", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.shown) == 1
	})
	_, err := r.answer(q.ID, true)
	testkit.Must(t, err)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run returns %v", err)
	}
}
