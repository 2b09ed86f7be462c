package lives

import "sync"

// Opening waits until all members with which a team begins have begun their sessions, or
// are known never to begin: otherwise nobody could wait for a team with a halted member.
type Opening struct {
	mu    sync.Mutex
	begun int
	want  int // how many are waited for; 0: not known yet
	up    chan struct{}
}

// NewOpening makes an Opening for a number of members that Expect names.
func NewOpening() *Opening { return &Opening{up: make(chan struct{})} }

// Expect sets how many members begin. It is called once, before the first has begun.
func (o *Opening) Expect(members int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.want = members
}

// Begun counts a member. Each is counted once.
func (o *Opening) Begun() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.begun++; o.begun == o.want {
		close(o.up)
	}
}

// Up is closed once all have begun.
func (o *Opening) Up() <-chan struct{} { return o.up }
