package crew

import (
	"context"
	"slices"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/tasks"
)

// recorder is a Part that records what it is told.
type recorder struct {
	name string
	told *[]string
}

func (r recorder) record(what string) error {
	*r.told = append(*r.told, r.name+": "+what)
	return nil
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

// TestPartsAreTold: parts are told of each moment of a member's life in the order of their list.
func TestPartsAreTold(t *testing.T) {
	store := testkit.OpenStore(t, tasks.Open)
	var told []string
	c := crewOf(t, Deps{
		Store: store, Journal: runJournal(t, store), Short: &state.Shortage{},
		Parts: []Part{recorder{"a", &told}, struct{}{}, recorder{"b", &told}},
	}, "lead", "dev")
	addSeat(t, c, &configs.Member{Name: "lead"})
	session, err := c.attach(t.Context(), "dev")
	testkit.Must(t, err)
	session.State, session.Reason = stateHalted, "it takes no turns here"
	testkit.Must(t, store.Members().Set(t.Context(), session))
	old, err := c.newSeat(t.Context(), &c.deps.Team().Teammates[0], session)
	testkit.Must(t, err)
	c.deps.Seats.add(old)

	c.join(t.Context(), old)
	c.sinkOf(t.Context(), old)(events.Event{Member: "dev", Data: events.TextSaid{}})
	c.finishLife(t.Context(), old, nil)
	c.leave(t.Context(), old, "it failed")
	testkit.Must(t, c.seatAgain(t.Context(), old, c.deps.Team().Teammates[0]))
	now, _ := c.deps.Seats.Of("dev")
	testkit.Must(t, c.removeSeat(t.Context(), now))
	c.finish(t.Context())

	var want []string
	for _, moment := range []string{"joined dev", "saw dev say a b", "stopped dev", "retired dev", "rejoined dev with its agent", "left dev", "ended"} {
		want = append(want, "a: "+moment, "b: "+moment)
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
