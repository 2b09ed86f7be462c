package crew

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/teammate"
)

// TestSeatWithoutItsCost: a seat whose earlier cost cannot be read is closed, because
// nobody gets it.
func TestSeatWithoutItsCost(t *testing.T) {
	c := crewOf(t, Ports{}, "lead", "dev")
	c.ports.Programs = launch.NewPrograms(launch.Options{Store: c.ports.Store, Ledger: c.ports.Accounts.Ledger})
	closed := 0
	c.ports.MakeOccupant = func(_ context.Context, s *Seat) (Occupant, error) {
		s.OnClose(func() error { closed++; return nil })
		return Occupant{Teammate: &teammate.Teammate{}}, nil
	}
	testkit.Must(t, c.ports.Store.Put(t.Context(), "program/dev", json.RawMessage(`"no session"`)))
	if s, err := (staffing{c}).seatOne(t.Context(), configs.Member{Name: "dev"}); err == nil || s != nil || closed != 1 {
		t.Errorf("its seat is %v, closed %d times, and the error %v", s, closed, err)
	}
}
