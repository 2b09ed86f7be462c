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

	"github.com/coveyteam/covey/events"
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
	// quiet is how long a wait lasts before it is told, because a busy team would fill its journal with
	// short ones.
	quiet time.Duration

	tell func(member string, e events.Data)

	mu      sync.Mutex
	waiting map[string]int // by member
}

// NewSlots returns the slots in a state home. most returns how many this team uses at once; 0 means
// half of the cores, at least one. tell is called when a member begins to wait for a slot, and when it
// does not wait any more.
func NewSlots(home string, most func() int, tell func(member string, e events.Data)) *Slots {
	return &Slots{
		dir: filepath.Join(home, "gate-slots"), most: most, turn: make(chan struct{}, 1), wait: slotPatience, quiet: time.Second,
		tell: tell, waiting: map[string]int{},
	}
}

// Acquire waits for a slot for a member, and does without one after an hour. It fails if ctx ends
// first. Below a gate, which has a slot itself, it waits for nothing, because that could wait for ever.
func (s *Slots) Acquire(ctx context.Context, member string) (release func(), err error) {
	if s == nil || os.Getenv("COVEY_HOOK_DEPTH") != "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, FolderError(err)
	}
	inLine := s.turn // nil once it is the first in line
	var again, late <-chan time.Time
	for told := time.After(s.quiet); ; {
		select {
		case inLine <- struct{}{}:
			defer func() { <-s.turn }()
			inLine, late = nil, time.After(s.wait)
		case <-again:
		case <-told:
			s.count(member, 1)
			defer s.count(member, -1)
			continue
		case <-late:
			return func() {}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		for i := range s.limit() {
			if release, err := s.take(i); !errors.Is(err, errLocked) {
				return release, err
			}
		}
		again = time.After(slotPause)
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

// count counts the slots that a member waits for, and tells of the first and of the end of the last.
func (s *Slots) count(member string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.waiting[member]
	s.waiting[member] += n
	switch {
	case member == "": // it is nobody's gate
	case before == 0:
		s.tell(member, events.Waiting{Kind: events.ForGates, For: fmt.Sprintf("other gates (%d at once)", s.limit())})
	case before+n == 0:
		s.tell(member, events.Waiting{Kind: events.ForGates})
	}
}
