package specs

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// ownRig is a timetable of the members dev and ops, whose clock and loop the test has.
type ownRig struct {
	*Timetable
	t   *testing.T
	now time.Time
}

// newOwnRig returns a rig on a new store, on a Saturday at ten.
func newOwnRig(t *testing.T) *ownRig {
	store := testkit.OpenStore(t, tasks.Open)
	j, err := state.OpenJournal(filepath.Join(t.TempDir(), "journal.jsonl"), state.JournalOptions{
		Team: "crew", Store: store, Log: slog.New(slog.DiscardHandler), See: func(events.Line) {}, Failed: func(error) {},
	})
	testkit.Must(t, err)
	ignore := func(events.Line) {}
	go j.Run(events.TeamStarted{}, state.Views{Line: ignore, Stored: ignore, Grew: func(uint64) {}})
	t.Cleanup(func() { testkit.Must(t, j.Close()) })
	r := &ownRig{t: t, now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), Timetable: &Timetable{store: store, journal: j}}
	r.nextRun()
	return r
}

// nextRun replaces the timetable by one that knows what is stored.
func (r *ownRig) nextRun() {
	t := r.t
	loop := members.NewLoop(nil)
	r.Timetable = NewTimetable(r.store, r.journal, members.Clock{TimeNow: func() time.Time { return r.now }}, loop)
	testkit.Must(t, r.Replace(t.Context(), twoMembers()))
	go func() {
		for {
			select {
			case order := <-loop.Orders():
				order.Do(t.Context())
			case <-t.Context().Done():
				return
			}
		}
	}()
}

// twoMembers is the team of a rig.
func twoMembers() *configs.Team {
	return &configs.Team{Lead: configs.Member{Name: "dev"}, Teammates: []configs.Member{{Name: "ops"}}}
}

// add makes a schedule, which must succeed.
func (r *ownRig) add(own Own) string {
	r.t.Helper()
	id, _, err := r.Add(r.t.Context(), "call", own)
	testkit.Must(r.t, err)
	return id
}

// after lets time pass, runs what is due, and returns dev's unread mail.
func (r *ownRig) after(d time.Duration) []mail.Message {
	r.t.Helper()
	r.now = r.now.Add(d)
	testkit.Must(r.t, r.Due(r.t.Context()))
	unread, err := r.store.Mail().Unread(r.t.Context(), "dev")
	testkit.Must(r.t, err)
	return unread
}

// TestOwnSchedules: what a member has scheduled to itself comes when it is due, once for what was
// missed, not while its last message is unread, and over restarts.
func TestOwnSchedules(t *testing.T) {
	r := newOwnRig(t)
	ci := r.add(Own{Member: "dev", Cron: "*/10 * * * *", Text: "Look at CI."})
	once := r.add(Own{Member: "dev", Cron: "@every 25m", Text: "Ask again.", Once: true})
	if got := r.add(Own{Member: "dev", Cron: "*/10 * * * *", Text: "Look at CI."}); got != ci {
		t.Errorf("the same call makes %s and %s", ci, got)
	}
	want := []hooks.SessionCron{{ID: ci, Schedule: "*/10 * * * *", Recurring: true, Prompt: "Look at CI."},
		{ID: once, Schedule: "@every 25m", Prompt: "Ask again."}}
	if got := r.Of("dev"); !slices.Equal(got, want) || len(r.Of("ops")) > 0 {
		t.Errorf("schedules %+v, want %+v", got, want)
	}
	if got := r.after(9 * time.Minute); len(got) > 0 {
		t.Errorf("too early: %+v", got)
	}
	got := r.after(time.Minute)
	if len(got) != 1 || got[0].Kind != mail.Reminder || !strings.Contains(got[0].Text, "("+ci+", */10 * * * *): Look at CI.") {
		t.Errorf("mail %+v", got)
	}
	if got := r.after(10 * time.Minute); len(got) != 1 {
		t.Errorf("a second one beside an unread one: %+v", got)
	}
	takesTurns := func(member string) bool { return member == "dev" }
	if !r.Awaits(takesTurns) || r.Awaits(func(string) bool { return false }) {
		t.Error("a schedule that comes once is not awaited, or awaited by nobody")
	}

	// A night later, in another run, each comes once.
	_, err := r.store.Members().Attach(t.Context(), "dev", func() string { return "s" })
	testkit.Must(t, err)
	testkit.Must(t, r.store.Mail().Deliver(t.Context(), actors.Actor{Name: "dev"}, []string{got[0].ID}))
	r.nextRun()
	if got := r.after(10 * time.Hour); len(got) != 2 {
		t.Errorf("after a night: %+v", got)
	}
	if got := r.Of("dev"); len(got) != 1 || got[0].ID != ci || r.Awaits(takesTurns) {
		t.Errorf("schedules %+v", got)
	}
	status := r.Status()
	if len(status) != 1 || status[0].What != "message to dev: Look at CI." || !status[0].Next.Equal(r.now.Add(10*time.Minute)) {
		t.Errorf("status %+v", status)
	}
	testkit.Must(t, r.Remove(t.Context(), "dev", ci))
	if got := r.Of("dev"); len(got) > 0 {
		t.Errorf("removed: %+v", got)
	}
}

// TestOwnSchedulesRefused: what a member cannot schedule, and why.
func TestOwnSchedulesRefused(t *testing.T) {
	r := newOwnRig(t)
	for _, test := range []struct{ cron, text, want string }{
		{"@hourly", " ", "the message is empty"},
		{"@hourly", strings.Repeat("x", maxOwnText+1), "at most 4096 are allowed"},
		{"", "x", "is not a recurring time"},
		{"0 22-6 * * *", "x", "22-6 ends before it begins"},
		{"@every 10s", "x", "at least 1m"},
		{"0 0 31 4 *", "x", "never occurs"},
	} {
		if _, _, err := r.Add(t.Context(), "c", Own{Member: "dev", Cron: test.cron, Text: test.text}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q %.9q: %v, want %q", test.cron, test.text, err, test.want)
		}
	}
	for i := range maxOwn {
		r.add(Own{Member: "dev", Cron: "@hourly", Text: fmt.Sprint(i)})
	}
	if _, _, err := r.Add(t.Context(), "c", Own{Member: "dev", Cron: "@hourly", Text: "eleventh"}); err == nil ||
		!strings.Contains(err.Error(), "you have 10 schedules, which is the most") {
		t.Errorf("the eleventh: %v", err)
	}
	ops := r.add(Own{Member: "ops", Cron: "@hourly", Text: "another member's"})
	for _, id := range []string{ops, "", "dev/none"} {
		if err := r.Remove(t.Context(), "dev", id); err == nil || !strings.Contains(err.Error(), "you have no schedule") {
			t.Errorf("remove %q: %v", id, err)
		}
	}
}

// TestOwnSchedulesLeave: the schedules of a member go with it, in a running team and in one that is
// down.
func TestOwnSchedulesLeave(t *testing.T) {
	r := newOwnRig(t)
	for _, member := range []string{"dev", "ops"} {
		r.add(Own{Member: member, Cron: "@hourly", Text: "x"})
	}
	testkit.Must(t, r.Left(t.Context(), "dev"))
	if r.nextRun(); len(r.Of("dev")) != 0 || len(r.Of("ops")) != 1 {
		t.Errorf("dev has %+v, ops %+v", r.Of("dev"), r.Of("ops"))
	}
	team := twoMembers()
	team.Teammates = nil
	testkit.Must(t, r.Replace(t.Context(), team))
	if list, err := StoredSchedules(t.Context(), r.store); len(list) > 0 || err != nil {
		t.Errorf("stored %+v, %v", list, err)
	}
}
