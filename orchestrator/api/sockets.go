package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Sockets are where a running team is reached: one for the operator, one for the processes of each
// member, and one for processes of the team that belong to no member. The socket says who calls,
// and the kernel has to agree. All methods are safe for concurrent use.
type Sockets struct {
	Bus       *bus.Bus
	Place     state.Place
	Processes *process.Processes
	Warn      func(format string, args ...any)

	mu      sync.Mutex
	began   bool
	members map[string]bool // who has a socket, or gets one when the team listens
}

// Listen begins to listen. The error names the way out.
func (s *Sockets) Listen() error {
	if err := s.listen(s.Place.Socket(), s.operator); err != nil {
		return err
	}
	if err := s.listen(s.Place.MemberSocket(""), s.nobody); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = true
	for name := range s.members {
		s.open(name)
	}
	return nil
}

// listen opens one socket.
func (s *Sockets) listen(path string, identify func(process.Caller) (bus.Identity, error)) error {
	err := s.Bus.Listen(path, func(c net.Conn) (bus.Identity, error) {
		by, err := s.Processes.Identify(c)
		if err != nil {
			return bus.Identity{}, err
		}
		return identify(by)
	})
	if err == nil || errors.Is(err, bus.ErrSocketDir) { // that one names the way out
		return err
	}
	return s.Place.SocketError(path, err)
}

// Env returns the variables with which a member's processes find the team; an empty name stands for
// processes that belong to no member. A member gets its socket here and not before, because one
// that never works has no processes.
func (s *Sockets) Env(member string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if member != "" && !s.members[member] {
		if s.members == nil {
			s.members = map[string]bool{}
		}
		s.members[member] = true
		if s.began {
			s.open(member)
		}
	}
	return []string{state.SocketVariable + "=" + s.Place.MemberSocket(member)}
}

// open opens a member's socket. s.mu is held. A member without one can still work.
func (s *Sockets) open(member string) {
	if err := s.listen(s.Place.MemberSocket(member), s.member(member)); err != nil {
		s.Warn("%s cannot reach the team by covey commands: %v", member, err)
	}
}

// Left closes the socket of a member that is no longer in the team, and ends its connections.
func (s *Sockets) Left(_ context.Context, member string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.members, member)
	path := s.Place.MemberSocket(member)
	err := s.Bus.StopListening(path)
	s.Bus.HangUp(func(id bus.Identity) bool { return CallerFrom(id).Member == member })
	return errors.Join(err, os.RemoveAll(filepath.Dir(path)))
}

// operator identifies who calls at the operator's socket.
func (s *Sockets) operator(by process.Caller) (bus.Identity, error) {
	id := Identity(by)
	id.NeedsKey = by.Kind == process.Operator
	return id, nil
}

// nobody identifies who calls at the socket of processes that belong to no member. It makes no
// operator.
func (s *Sockets) nobody(by process.Caller) (bus.Identity, error) {
	if by.Kind == process.Operator {
		by.Kind = process.Unowned
	}
	return Identity(by), nil
}

// member returns the function that identifies who calls at a member's socket. Whom the kernel does
// not know, and who is in another namespace, is the member's if it knows the key in the member's
// folder.
func (s *Sockets) member(name string) func(process.Caller) (bus.Identity, error) {
	return func(by process.Caller) (bus.Identity, error) {
		switch {
		case by.Member == name || by.IsHook() && by.Member == "":
			return Identity(by), nil
		case by.Member != "":
			return bus.Identity{}, fmt.Errorf("this is the socket of member %s, and %s", name, by)
		}
		id := Identity(process.Caller{Kind: process.MemberTool, Member: name, PID: by.PID})
		id.NeedsKey = true
		return id, nil
	}
}
