package runner

import (
	"context"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/judging"
)

// GateRun is how one gate that is a command is to be run, as Options.Gates says.
// The zero value runs it as it is configured.
type GateRun struct {
	// Known is what the gate has said about the very same files; it is not asked
	// again. nil: it is.
	Known *hooks.Result
	// Command is run in place of the configured one, under its name; empty: the
	// configured one. It is a command line for the same shell.
	Command string
	// Args replace those of a gate in exec form; nil: its own.
	Args []string
	// Settled says that its words mean what they say where it runs: Options.Locate is
	// not asked about them.
	Settled bool
	// Fault is why the gate cannot be run; it refuses then. Empty: it can.
	Fault string
	// Heard is told what the gate said, before anybody acts on it; nil: nobody. A
	// gate that was ended from outside has said nothing.
	Heard func(hooks.Result)
}

// sitting asks the caller how a gate is to be run, and gives the gate as it is
// then, and what it has said before, if that counts.
func (r *run) sitting(ctx context.Context, h *armed) (as *armed, g GateRun) {
	if r.opts.Gates == nil || !h.Gate || h.Policy != "" || h.kind() != "command" || h.barred != "" {
		return h, GateRun{}
	}
	g = r.opts.Gates(ctx, r.in, h.Handler)
	if g.Command == "" && g.Args == nil && !g.Settled {
		return h, g
	}
	other := *h
	other.settled = g.Settled
	if g.Command != "" {
		other.Command = g.Command
	}
	if g.Args != nil {
		other.Args = g.Args
	}
	return &other, g
}

// heard passes on what a gate said.
func (g GateRun) heard(v judging.Verdict) {
	if g.Heard != nil && v.Outcome != hooks.Cancelled {
		g.Heard(v.Result)
	}
}

// refuseBarred is the verdict of a hook that managed settings do not let run
// although the spec makes it binding: it refuses, where its event can.
func (r *run) refuseBarred(h *armed) judging.Verdict {
	strict := *h
	strict.OnFailure = "block"
	return judgeAny(r.known, &strict, judging.Finding{Code: -1,
		Fault: h.barred + ": this hook is binding and must not run, so it refuses"})
}
