package doctor

import (
	"strings"
	"testing"
	"time"
)

// TestClockOfServers: a clock that differs much from that of the servers is named, in one line.
func TestClockOfServers(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{0, time.Minute, -time.Minute} {
		if found := clockFindings(off); len(found) > 0 {
			t.Errorf("%s off: %v", off, found)
		}
	}
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		found := clockFindings(off)
		if len(found) != 1 || !strings.Contains(found[0].Text, "the clock of this host differs from that of the servers by 1h0m0s") ||
			strings.Contains(found[0].Text, "\n") {
			t.Errorf("%s off: %v", off, found)
		}
	}
}
