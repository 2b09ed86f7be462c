//go:build unix

package proc

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestSlowPumps: what a program wrote before it ended is taken also if the machine was so
// busy that nobody read it in time, and only who still has the output open holds it.
func TestSlowPumps(t *testing.T) {
	t.Parallel()
	said := strings.Repeat("deny ", 10_000)
	for name, held := range map[string]bool{"ended": false, "a child holds it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			pl := &plumbing{drained: make(chan struct{})}
			write, err := pl.collect(&got)
			if err != nil {
				t.Fatal(err)
			}
			defer write.Close()
			if _, err := write.WriteString(said); err != nil {
				t.Fatal(err)
			}
			if !held {
				_ = write.Close()
			}
			time.AfterFunc(2*lingerDelay, func() { // the pump gets its turn too late
				pump(pl.outputs[0])
				close(pl.drained)
			})
			if pl.finish() != held {
				t.Errorf("held: %v", !held)
			}
			if got.String() != said {
				t.Errorf("%d bytes of %d were taken", got.Len(), len(said))
			}
		})
	}
}
