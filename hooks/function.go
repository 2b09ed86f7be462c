package hooks

import (
	"cmp"
	"fmt"
	"slices"
)

// Session holds the function hooks of one conversation: Go functions that its agent, or a
// skill that it uses, registers while it runs, and that are removed when it ends. They are
// called when that conversation ends a turn, but not for another member's conversation or
// that of a helper inside.
//
// Make it with Registry.Session. It is safe for concurrent use.
type Session struct {
	registry *Registry
	id       string

	// The fields below are guarded by the registry's mutex.
	functions []*Registered // replaced, never changed
	released  bool
}

// Session returns the function hooks of the conversation with that id: a member's
// session_id, or a helper's agent_id. All calls with one id return the same Session until
// its Release.
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

// AtStop registers do to be called at each turn end of the conversation (Stop, and
// SubagentStop of a helper), in addition to the configured hooks. name appears in the
// journal; empty means the function's name in Go. remove unregisters it; it may be called
// at any time and more than once.
//
// The error is ErrCallback: do is nil, or the conversation is over.
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

// remove unregisters one function.
func (s *Session) remove(h *Registered) {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	h.removed = true
	s.functions = slices.DeleteFunc(slices.Clone(s.functions), func(other *Registered) bool { return other == h })
}

// Release unregisters all functions of the conversation, because it is over. No call begins
// after it has returned; a call that has begun continues. It may be called twice, and for
// a conversation without functions.
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

// FunctionsFor returns the function hooks of an event: those of the helper that stops, or of
// the member's conversation. A nil Registry has none.
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
