package crew

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/launch"
)

// TestSeatWithoutOccupant: a seat that gets no occupant is closed, because nobody gets it.
func TestSeatWithoutOccupant(t *testing.T) {
	c := crewOf(t, Deps{}, "lead", "dev")
	closed := 0
	c.occupy = func(_ context.Context, s *Seat) (Occupant, error) {
		s.OnClose(func() error { closed++; return nil })
		return Occupant{}, errors.New("its cost is unknown")
	}
	if s, err := c.seatOne(t.Context(), configs.Member{Name: "dev"}); !errors.Is(err, errUnseated) || s != nil || closed != 1 {
		t.Errorf("its seat is %v, closed %d times, and the error %v", s, closed, err)
	}
}

// TestSeatAllSharesCommits: members who get their seats at the start do not wait for one commit
// each.
func TestSeatAllSharesCommits(t *testing.T) {
	const members = 200
	names := make([]string, members)
	for i := range names {
		names[i] = fmt.Sprint("m", i)
	}
	c := crewOf(t, Deps{}, names...)
	c.deps.Programs = launch.NewPrograms(launch.Deps{Store: c.deps.Store, Ledger: c.deps.Ledger})
	commits := func() uint64 {
		now, err := c.deps.Store.Changed(t.Context(), 0)
		testkit.Must(t, err)
		return now.Now
	}
	before := commits()
	testkit.Must(t, c.SeatAll(t.Context()))
	if n := commits() - before; n > members/2 {
		t.Errorf("%d commits for %d members", n, members)
	}
	for i, s := range c.deps.Seats.All() {
		if s.Member.Name != names[i] || s.Member.Session.Name != names[i] {
			t.Errorf("at %d sits %s with the session of %s", i, s.Member.Name, s.Member.Session.Name)
		}
	}
}
