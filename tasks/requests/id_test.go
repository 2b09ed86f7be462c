package requests

import (
	"slices"
	"strings"
	"testing"
)

// TestOlderRequestIDs: compareIDs puts ULIDs first, in their order.
func TestOlderRequestIDs(t *testing.T) {
	ids := []string{"r10", "r9", "01M807FCEJWV78H1YDH6MWY6YT", "r1", "01M7ZX4Q8GJ3N5T6V7W8X9Y0ZA"}
	slices.SortFunc(ids, compareIDs)
	if got := strings.Join(ids, " "); got != "01M7ZX4Q8GJ3N5T6V7W8X9Y0ZA 01M807FCEJWV78H1YDH6MWY6YT r1 r9 r10" {
		t.Errorf("%s", got)
	}
}
