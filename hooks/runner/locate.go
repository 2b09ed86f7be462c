package runner

import (
	"cmp"

	"github.com/coveyteam/covey/hooks"
)

// Locate returns what to run for a command hook: its command line and, in exec form, its
// arguments. It returns them as configured if nothing has to change.
//
// A hook runs where its member works and names its script relative to that. In a working
// copy of the member's own this would be the member's copy of the script; the caller knows
// which copy is meant.
type Locate func(in hooks.Input, hook hooks.Handler) (command string, args []string)

// located returns the hook with the command to run for it. Its label stays.
func (r *run) located(h *armed) *armed {
	if r.opts.Locate == nil || h.final {
		return h
	}
	other := *h
	other.Command, other.Args = r.opts.Locate(r.in, h.Handler)
	return &other
}

// rootOf returns where the path rules of an `if` begin.
func (o *Options) rootOf(in hooks.Input) string { return cmp.Or(o.session(in).Root, o.ProjectDir) }

// session describes the session of an event.
func (o *Options) session(in hooks.Input) Session {
	if o.Session != nil {
		return o.Session(in)
	}
	team, member := in.Member()
	return Session{Team: team, Member: member}
}
