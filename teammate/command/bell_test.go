//go:build unix

package command

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coveyteam/covey/teammate/program"
)

// bell is an alarm that a test rings, so that nothing depends on how fast a program is.
type bell struct {
	tb      testing.TB
	c       chan time.Time
	settled chan time.Duration // what it was set to, in order
}

// bells are the alarms of an agent, in the order in which it asks for them.
type bells struct {
	tb  testing.TB
	all chan *bell
}

// newBells has the agent of a rig get bells for alarms.
func newBells(tb testing.TB, opts *Options) bells {
	b := bells{tb, make(chan *bell, 100)}
	opts.Alarm = func(time.Duration) program.Alarm {
		one := &bell{tb, make(chan time.Time), make(chan time.Duration, 1000)}
		b.all <- one
		return program.Alarm{C: one.c, Set: func(d time.Duration) { one.settled <- d }, Stop: func() {}}
	}
	return b
}

// next waits until the agent asks for one more.
func (b bells) next() *bell {
	select {
	case one := <-b.all:
		return one
	case <-b.tb.Context().Done():
		return &bell{b.tb, nil, nil}
	}
}

// ring rings, once the agent has done what it is at.
func (b *bell) ring() {
	select {
	case b.c <- time.Time{}:
	case <-b.tb.Context().Done():
	}
}

// set waits until the agent sets it, and says to what.
func (b *bell) set() time.Duration {
	select {
	case d := <-b.settled:
		return d
	case <-b.tb.Context().Done():
		return 0
	}
}

// let lets the program go on that waits for a word.
func (r *rig) let(tb testing.TB, word string) {
	if err := os.WriteFile(filepath.Join(r.dir, word), nil, 0o600); err != nil {
		tb.Error(err)
	}
}

// awaitFile waits until a test lets the program go on.
func awaitFile(path string) {
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
