package hooks

import (
	"cmp"
	"fmt"
	"slices"
)

// Session holds the function hooks of one conversation: Go functions that its
// agent, or a skill that it uses, registers while it runs, and that are gone
// when it ends. They are called when that conversation ends a turn, and for no
// other: neither that of another member nor that of a helper inside.
//
// Make it with Registry.Session. It is safe for concurrent use.
type Session struct {
	registry *Registry
	id       string

	// What follows is guarded by the registry's mutex.
	functions []*Registered // replaced, never changed
	released  bool
}

// Session is the place for function hooks of the conversation with that id: the
// session's id of a member (session_id), or the agent's id of a helper
// (agent_id). All calls with one id give the same Session until its Release.
func (r *Registry) Session(id string) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sessions[id]; s != nil {
		return s
	}
	s := &Session{registry: r, id: id}
	if r.sessions == nil {
		r.sessions = map[string]*Session{}
	}
	r.sessions[id] = s
	return s
}

// AtStop has do called at each turn end of the conversation (Stop, and
// SubagentStop of a helper), beside the configured hooks. name stands in the
// journal; empty: the function's name in Go. remove takes it off again; it may
// be called at any time and more than once.
//
// The error is ErrCallback: there is no function, or the conversation is over.
func (s *Session) AtStop(name string, do Func) (remove func(), err error) {
	h, err := register(Stop, Callback{Name: name, Do: do})
	if err != nil {
		return nil, fmt.Errorf("function hook: %w", err)
	}
	h.Handler.Type, h.Label = "function", "function "+cmp.Or(name, functionName(do))
	h.Source = "functions"
	r := s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.released {
		return nil, fmt.Errorf("function hook: %w: its conversation is over", ErrCallback)
	}
	r.made++
	h.Key = fmt.Sprintf("function\x00%d", r.made)
	h.registry = r
	s.functions = append(slices.Clone(s.functions), h)
	return func() { s.remove(h) }, nil
}

// remove takes one function off.
func (s *Session) remove(h *Registered) {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	h.removed = true
	s.functions = slices.DeleteFunc(slices.Clone(s.functions), func(other *Registered) bool { return other == h })
}

// Release takes all functions of the conversation off, because it is over. No
// call begins after it has returned; one that has begun goes on. Calling it
// twice is fine, and so is calling it for a conversation that had none.
func (s *Session) Release() {
	r := s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range s.functions {
		h.removed = true
	}
	s.functions, s.released = nil, true
	if r.sessions[s.id] == s {
		delete(r.sessions, s.id)
	}
}

// FunctionsFor lists the function hooks of an event: those of the helper whose
// stop it is, or of the member's conversation. A nil Registry has none.
func (r *Registry) FunctionsFor(in Input) []*Registered {
	event := in.Payload.Event()
	if r == nil || event != Stop && event != SubagentStop {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*Registered
	if s := r.sessions[in.AgentID]; s != nil && in.AgentID != "" {
		list = s.functions
	}
	if s := r.sessions[in.SessionID]; s != nil && event == Stop {
		list = slices.Concat(s.functions, list)
	}
	return list
}
