package replica

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestStandbyInElection: a standby that begins while the servers choose a leader says so.
func TestStandbyInElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		records := &fakeStream{w: &world{rand: rand.New(rand.NewPCG(1, 1)), faults: 1}, first: 1}
		var told []Epoch
		_, err := new(Link).mayLead(ctx, records, Candidate{Waits: func(e Epoch) {
			told = append(told, e)
			time.AfterFunc(time.Minute, cancel)
		}}, true)
		if !errors.Is(err, context.Canceled) || len(told) != 1 || told[0].Number != 0 {
			t.Errorf("a standby was told %v, %v", told, err)
		}
	})
}

// TestLedWaitsForAnElection: servers that choose a leader keep no team from its start.
func TestLedWaitsForAnElection(t *testing.T) {
	wrong := errors.New("wrong")
	for name, c := range map[string]struct {
		election time.Duration
		after    error // what the servers answer once they have a leader
		cancel   time.Duration
		want     error
		took     time.Duration
	}{
		"an election":     {election: 9 * time.Second, took: 9 * time.Second},
		"another error":   {after: wrong, want: wrong},
		"error after it":  {election: 5 * time.Second, after: wrong, want: wrong, took: 5 * time.Second},
		"too few servers": {election: time.Hour, want: errNoLeader, took: electionWait},
		"the user ends":   {election: time.Hour, cancel: time.Second, want: errNoLeader, took: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.cancel > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.cancel)
					defer cancel()
				}
				begun := time.Now()
				err := new(Link).led(ctx, func() error {
					if time.Since(begun) < c.election {
						return new(Link).streamError(context.DeadlineExceeded)
					}
					return c.after
				})
				if !errors.Is(err, c.want) || c.want == nil && err != nil {
					t.Errorf("led: %v, want %v", err, c.want)
				}
				if took := time.Since(begun); took < c.took || took > c.took+2*retryEvery {
					t.Errorf("led took %v, want %v", took, c.took)
				}
			})
		})
	}
}
