package crew

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/teammate"
)

// recorder is a Part that records what it is told.
type recorder struct {
	name string
	told *[]string
	stop context.CancelFunc // ends the crew's loop
}

func (r recorder) record(what string) error {
	*r.told = append(*r.told, r.name+": "+what)
	return nil
}

func (r recorder) Begin(context.Context) error { return r.record("begins") }

func (r recorder) Due(context.Context) error {
	r.stop()
	return r.record("due")
}

func (r recorder) Describe(s *plan.Scene, all []*members.Member) {
	s.Noted, s.Digests = true, s.Digests+1
	_ = r.record(fmt.Sprint("describes ", s.Seats[1].Name, " ", all[1].Name, " ", s.Digests))
}

func (r recorder) Assigned(m *members.Member, w teammate.Work) {
	_ = r.record("assigned " + m.Name + " by " + string(w.Cause))
}

func (r recorder) Ready(_ context.Context, m *members.Member) error {
	return r.record("ready " + m.Name)
}

func (r recorder) Stored(_ context.Context, e events.Event) error {
	return r.record("stored " + e.Data.Type())
}

func (r recorder) Joined(_ context.Context, m *members.Member) error {
	return r.record("joined " + m.Name)
}

func (r recorder) Rejoined(_ context.Context, m *members.Member, how members.Return) error {
	if how.SameAgent && !how.Rotated {
		return r.record("rejoined " + m.Name + " with its agent")
	}
	return r.record("rejoined " + m.Name)
}

func (r recorder) Complete(_ context.Context, _ *members.Member, e events.Event) (events.Event, error) {
	e.Data = events.TextSaid{Text: e.Data.(events.TextSaid).Text + " " + r.name}
	return e, nil
}

func (r recorder) Saw(_ context.Context, m *members.Member, e events.Event) error {
	return r.record("saw " + m.Name + " say" + e.Data.(events.TextSaid).Text)
}

func (r recorder) Stopped(m *members.Member) error { return r.record("stopped " + m.Name) }

func (r recorder) Retired(_ context.Context, m *members.Member) error {
	return r.record("retired " + m.Name)
}

func (r recorder) Left(_ context.Context, name string) error { return r.record("left " + name) }

func (r recorder) Ended(context.Context) error { return r.record("ended") }

// TestPartsAreTold: parts are told of each moment of a run and of a member's life in the order of
// their list.
func TestPartsAreTold(t *testing.T) {
	store := testkit.OpenStore(t, tasks.Open)
	var told []string
	ctx, stop := context.WithCancel(t.Context())
	c := crewOf(t, Deps{
		Store: store, Journal: runJournal(t, store), Short: &state.Shortage{},
		Parts: []Part{recorder{"a", &told, stop}, struct{}{}, recorder{"b", &told, stop}},
	}, "lead", "dev")
	addSeat(t, c, &configs.Member{Name: "lead"}).Life.Retire("it takes no turns here")
	session, err := c.attach(t.Context(), "dev")
	testkit.Must(t, err)
	session.State, session.Reason = actors.StateHalted, "it takes no turns here"
	testkit.Must(t, store.Members().Set(t.Context(), session))
	old, err := c.newSeat(t.Context(), &c.deps.Team().Teammates[0], session)
	testkit.Must(t, err)
	c.deps.Seats.add(old)

	d := &director{c: c}
	if _, err := c.work(ctx, ctx, d); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	told = slices.DeleteFunc(told, func(s string) bool { return strings.HasSuffix(s, "joined lead") })
	c.ready(t.Context(), old)
	d.hand(old, teammate.Work{Cause: events.ByGoal}, "")
	old.Sink(t.Context())(events.Event{Member: "dev", Data: events.TextSaid{}})
	line, err := events.Event{Data: events.RequestChanged{}}.Line()
	testkit.Must(t, err)
	c.Stored(line)
	c.finishLife(t.Context(), old, nil)
	c.leave(t.Context(), old, "it failed")
	testkit.Must(t, c.seatAgain(t.Context(), old, c.deps.Team().Teammates[0]))
	now, _ := c.deps.Seats.Of("dev")
	testkit.Must(t, c.removeSeat(t.Context(), now))
	c.finish(t.Context())

	var want []string
	for _, moment := range []string{
		"begins", "joined dev", "due", "describes dev dev", "ready dev", "assigned dev by goal", "saw dev say a b", "stored request",
		"stopped dev", "retired dev", "rejoined dev with its agent", "left dev", "ended",
	} {
		first, second := moment, moment
		if strings.HasPrefix(moment, "describes") { // the second part sees what the first knows
			first, second = moment+" 1", moment+" 2"
		}
		want = append(want, "a: "+first, "b: "+second)
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
