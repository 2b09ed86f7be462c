package members

import "sync"

// Opening waits until all first members of a team have begun their sessions or cannot
// begin, so that a halted member does not block the wait.
type Opening struct {
	mu    sync.Mutex
	begun int
	want  int // number of members; 0: not known yet
	up    chan struct{}
}

// NewOpening returns an Opening; Expect sets the number of its members.
func NewOpening() *Opening { return &Opening{up: make(chan struct{})} }

// Expect sets how many members begin. Call it once, before the first one begins.
func (o *Opening) Expect(members int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.want = members
}

// Begun counts a member. Call it once for each.
func (o *Opening) Begun() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.begun++; o.begun == o.want {
		close(o.up)
	}
}

// Up returns a channel that is closed once all have begun.
func (o *Opening) Up() <-chan struct{} { return o.up }
