package runner

import (
	"context"

	"github.com/coveyteam/covey/hooks"
)

// GateRun describes how to run one gate that is a command (Options.Gates). The zero value runs
// it as configured.
type GateRun struct {
	// Known is an earlier verdict of the gate on the same files. The gate is not run
	// then. nil means that it runs.
	Known *hooks.Result
	// Command replaces the configured command, for the same shell; results keep the
	// configured name. Empty means the configured one.
	Command string
	// Args replaces the arguments of a gate in exec form; nil means its own.
	Args []string
	// Final means that the command is final: Options.Locate is not asked.
	Final bool
	// Fault is why the gate cannot run, in which case it refuses; empty if it can.
	Fault string
	// OnVerdict, which may be nil, is called with the gate's verdict before anything acts on
	// it. It is not called for a gate that was cancelled.
	OnVerdict func(hooks.Result)
}

// isGate reports whether a hook is a gate that is a command and may run.
func (h *armed) isGate() bool {
	return h.Gate && h.Policy == "" && h.kind() == "command" && h.barred == ""
}

// planGate asks the caller how to run a gate. It returns the gate with the changes of the
// plan applied, and the plan.
func (r *run) planGate(ctx context.Context, h *armed) (as *armed, g GateRun) {
	if r.opts.Gates == nil || !h.isGate() {
		return h, GateRun{}
	}
	g = r.opts.Gates(ctx, r.in, h.Handler)
	if g.Command == "" && g.Args == nil && !g.Final {
		return h, g
	}
	other := *h
	other.final = g.Final
	if g.Command != "" {
		other.Command = g.Command
	}
	if g.Args != nil {
		other.Args = g.Args
	}
	return &other, g
}

// report calls OnVerdict with a verdict.
func (g GateRun) report(v Verdict) {
	if g.OnVerdict != nil && v.Outcome != hooks.Cancelled {
		g.OnVerdict(v.Result)
	}
}

// refuseBarred returns the verdict of a hook that the spec makes binding and that managed
// settings do not allow to run: it refuses, if its event can be refused.
func (r *run) refuseBarred(h *armed) Verdict {
	strict := *h
	strict.OnFailure = "block"
	return judgeAny(r.known, &strict, Finding{Code: -1,
		Fault: h.barred + ": this hook is binding and cannot run, so it refuses"})
}
