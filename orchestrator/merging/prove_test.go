package merging

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestTrialsGiveWay: a trial of tests ends as soon as there is other work to do, which Serve then sees, and when its
// time is over; at the end of a run only the time ends it.
func TestTrialsGiveWay(t *testing.T) {
	for name, c := range map[string]struct {
		last  bool
		wakes bool
		want  error
	}{
		"other work":               {wakes: true, want: errLater},
		"too long":                 {want: errTooLong},
		"other work while it ends": {last: true, wakes: true, want: errTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &Merger{woken: make(chan struct{}, 1)}
				err := d.interruptibly(t.Context(), time.Minute, c.last, func(ctx context.Context) error {
					if c.wakes {
						d.wake()
					}
					<-ctx.Done()
					return nil // as gates that were ended: what they say does not count
				})
				if !errors.Is(err, c.want) {
					t.Errorf("it ended with %v, want %v", err, c.want)
				}
				if woken := len(d.woken) == 1; woken != c.wakes {
					t.Errorf("Serve is woken: %v, want %v", woken, c.wakes)
				}
			})
		})
	}
	t.Run("in time", func(t *testing.T) {
		d := &Merger{woken: make(chan struct{}, 1)}
		own := errors.New("its own")
		if err := d.interruptibly(t.Context(), time.Hour, false, func(context.Context) error { return own }); !errors.Is(err, own) {
			t.Errorf("it ended with %v", err)
		}
	})
}
