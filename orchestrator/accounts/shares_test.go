package accounts

import (
	"fmt"
	"testing"

	"github.com/coveyteam/covey/tasks"
)

// TestShares follows the requests of a turn: before, in and after its tasks.
func TestShares(t *testing.T) {
	var s Shares
	want := func(want string) func(ids []string, due tasks.Cost) {
		return func(ids []string, due tasks.Cost) {
			t.Helper()
			if have := fmt.Sprint(ids, due.Tokens); have != want {
				t.Errorf("%s, want %s", have, want)
			}
		}
	}
	divide := func(tokens int64, now ...string) ([]string, tasks.Cost) {
		return s.divide("dev", now, tasks.Cost{Tokens: tokens})
	}
	s.begin("dev")
	want("[] 0")(divide(10))       // it reads its mail
	want("[1] 11")(divide(1, "1")) // task 1 is taken
	want("[1 2] 2")(divide(2, "1", "2"))
	want("[2] 3")(divide(3, "2"))
	want("[2] 0")(s.complete("dev", "1")) // the news comes late
	want("[2] 0")(s.complete("dev", "2"))
	want("[2] 4")(divide(4)) // it reports
	s.begin("dev")
	want("[] 0")(divide(20)) // a turn without a task
	s.begin("dev")
	want("[] 0")(divide(30))
	want("[4] 30")(s.complete("dev", "4")) // without being taken
	want("[4] 5")(divide(5))
	want("[5] 0")(s.complete("dev", "5"))
	want("[5] 6")(divide(6))
}
