package runner

import "github.com/coveyteam/covey/hooks"

// Locate says what to run for a command hook: its command line and, in exec form,
// its arguments; both as they are configured where nothing is to change.
//
// A hook runs where its member works, and names its script from there: in a working
// copy of the member's own, that would be the member's own copy of the script. It
// is for the caller to know which one was meant.
type Locate func(in hooks.Input, hook hooks.Handler) (command string, args []string)

// located is the hook with the command that is to run for it, under its own name.
func (r *run) located(h *armed) *armed {
	if r.opts.Locate == nil || h.settled {
		return h
	}
	other := *h
	other.Command, other.Args = r.opts.Locate(r.in, h.Handler)
	return &other
}

// rootOf is where the path rules of an `if` begin.
func (o *Options) rootOf(in hooks.Input) string {
	if o.Root != nil {
		if root := o.Root(in); root != "" {
			return root
		}
	}
	return o.ProjectDir
}
