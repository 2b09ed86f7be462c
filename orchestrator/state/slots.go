package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
)

// slotPause is how often a waiting gate looks for a free slot.
const slotPause = 20 * time.Millisecond

// slotPatience is how long the first in line waits. A process that is no gate, such as one that a
// member left behind, may hold a slot for ever.
const slotPatience = time.Hour

// Slots limit how many gates, setups of working copies and merges run at once, over all teams of one
// user: each of them may use all cores of the machine, and tests fail under load. A slot is a file in
// the state home that whoever runs one locks, so that the kernel frees the slots of a process that was
// killed. Its methods may be called from any goroutine; a nil *Slots limits nothing.
type Slots struct {
	dir  string
	most func() int
	turn chan struct{} // the one of this process that looks for a slot, so that they start in order
	wait time.Duration // after which a gate runs without a slot

	mu      sync.Mutex
	waiting map[string]int // by member
}

// NewSlots returns the slots in a state home. most returns how many this team uses at once; 0 means
// half of the cores, at least one.
func NewSlots(home string, most func() int) *Slots {
	return &Slots{dir: filepath.Join(home, "gate-slots"), most: most, turn: make(chan struct{}, 1), wait: slotPatience, waiting: map[string]int{}}
}

// Waits returns what a member waits for; empty: for no slot.
func (s *Slots) Waits(member string) string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[member] == 0 {
		return ""
	}
	return fmt.Sprintf("other gates (%d at once)", s.limit())
}

// Acquire waits for a slot for a member, and does without one after an hour. It fails if ctx ends
// first. Below a gate, which has a slot itself, it waits for nothing, because that could wait for ever.
func (s *Slots) Acquire(ctx context.Context, member string) (release func(), err error) {
	if s == nil || os.Getenv("COVEY_HOOK_DEPTH") != "" {
		return func() {}, nil
	}
	s.count(member, 1)
	defer s.count(member, -1)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, FolderError(err)
	}
	for late := time.After(s.wait); ; {
		for i := range s.limit() {
			if release, err := s.take(i); !errors.Is(err, errLocked) {
				return release, err
			}
		}
		select {
		case <-time.After(slotPause):
		case <-late:
			return func() {}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// take takes a slot.
func (s *Slots) take(i int) (release func(), err error) {
	f, err := proc.OpenOwn(filepath.Join(s.dir, strconv.Itoa(i)), os.O_RDWR)
	if err != nil {
		return nil, FolderError(err)
	}
	if err := tryLock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = (&teamLock{file: f}).Release() }, nil // the kernel frees what cannot be freed here
}

func (s *Slots) limit() int {
	if n := s.most(); n > 0 {
		return n
	}
	return max(runtime.NumCPU()/2, 1)
}

func (s *Slots) count(member string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[member] += n
}
