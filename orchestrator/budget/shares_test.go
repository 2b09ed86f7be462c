package budget

import (
	"fmt"
	"testing"

	"github.com/coveyteam/covey/tasks"
)

// TestShares follows the requests of a turn: before, in and after its tasks.
func TestShares(t *testing.T) {
	var s Shares
	divide := func(want string, tokens int64, now ...string) {
		t.Helper()
		ids, due := s.Divide("dev", now, tasks.Cost{Tokens: tokens})
		if have := fmt.Sprint(ids, due.Tokens); have != want {
			t.Errorf("%s, want %s", have, want)
		}
	}
	s.Begin("dev")
	divide("[] 0", 10)       // it reads its mail
	divide("[1] 11", 1, "1") // task 1 is taken
	divide("[1 2] 2", 2, "1", "2")
	divide("[2] 0", 0, "2") // task 1 is completed
	divide("[2] 3", 3)      // it reports
	s.Begin("dev")
	divide("[] 0", 20) // a turn without a task
	s.Begin("dev")
	divide("[] 0", 30)
	divide("[4] 30", 0, "4") // completed without being taken
	divide("[4] 5", 5)
}
