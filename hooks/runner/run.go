package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// sessionEndBudget is how long all hooks of a SessionEnd may take together unless a
// setting says otherwise. It is short because somebody waits for the program to end.
const sessionEndBudget = 1500 * time.Millisecond

// errBudget is the cause for ending hooks when their event's time is up.
var errBudget = errors.New("the time for all hooks of the event is up")

// run is the handling of one event.
type run struct {
	*Runner
	known   *hooks.EventInfo
	in      hooks.Input
	id      string
	wire    []byte
	dir     string // where hooks run by default
	env     []string
	observe func(hooks.Progress)
	depth   int // how many hooks of this program enclose the event

	mu       sync.Mutex // guards verdicts and serializes observe
	verdicts []Verdict  // in the order in which the hooks finished
	detached int        // how many hooks went to the background
}

// runAll runs the chosen hooks concurrently, as many at once as the Runner has slots, and
// returns when all have ended or detached. They start in the order in which they are
// configured.
func (r *run) runAll(ctx context.Context, chosen []*armed) {
	hooksCtx := ctx
	if r.known.Event == hooks.SessionEnd {
		limited, cancel := context.WithTimeoutCause(ctx, r.budget, errBudget)
		defer cancel()
		hooksCtx = limited
	}
	// The input is encoded once for all hooks. An error is the verdict of each of them, so
	// that gates refuse.
	wire, err := r.in.Wire()
	r.wire, r.dir = wire, r.workDir()
	r.env = r.eventEnv(r.in)
	var running sync.WaitGroup
	for _, h := range chosen {
		if err != nil {
			r.skip(h, Finding{Code: -1, Fault: fmt.Sprintf("the hook's input cannot be written: %v", err)})
			continue
		}
		if h.startsInBackground() && hooksCtx.Err() == nil {
			r.startInBackground(ctx, h)
			continue
		}
		if !r.acquire(hooksCtx, h) {
			// hooksCtx has ended: with the caller's, or because the time for all hooks is
			// up.
			r.skip(h, Finding{Code: -1, Aborted: ctx.Err() != nil, TimedOut: ctx.Err() == nil,
				Fault: errBudget.Error()})
			continue
		}
		r.report(hooks.Progress{Command: h.label, Status: h.StatusMessage})
		work := func() {
			defer r.release(h)
			if h.mayDetach() {
				r.runForeground(ctx, hooksCtx, h)
				return
			}
			r.finish(h, r.runOne(ctx, hooksCtx, h))
		}
		// The hooks of PreModelSwitch run one after another. A single hook needs no
		// goroutine: switching takes a tenth of the time of a hook.
		if len(chosen) == 1 || r.known.Event == hooks.PreModelSwitch {
			work()
			continue
		}
		running.Go(work)
	}
	running.Wait()
}

// acquire waits for a slot; it returns false if ctx ends first.
func (r *run) acquire(ctx context.Context, h *armed) bool {
	if r.slotless(h) {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case r.slots <- struct{}{}:
	}
	if ctx.Err() != nil { // both were ready, and select chooses at random
		r.release(h)
		return false
	}
	return true
}

// release returns a slot.
func (r *run) release(h *armed) {
	if !r.slotless(h) {
		<-r.slots
	}
}

// slotless reports whether a hook runs without a slot: a hook that runs inside the program,
// a hook whose end another one with a slot waits for, which would deadlock, and a gate that has its
// own kind of slot.
func (r *run) slotless(h *armed) bool {
	return h.inProcess() || r.depth > 0 || r.opts.GateSlot != nil && h.isGate()
}

// report locks and tells the observer.
func (r *run) report(p hooks.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(p)
}

// tell calls the observer. The caller holds r.mu.
func (r *run) tell(p hooks.Progress) {
	if r.observe != nil {
		p.Event, p.ToolUseID = r.known.Event, r.id
		r.observe(p)
	}
}

// finish records a verdict and tells the observer, under one lock, so that both see the
// same order.
func (r *run) finish(h *armed, v Verdict) {
	if v.Type, v.Command = h.kind(), h.label; h.Mode == hooks.Observe {
		v = v.Quiet()
	}
	r.spill(&v)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verdicts = append(r.verdicts, v)
	r.tell(hooks.Progress{Command: h.label, Result: &v.Result})
}

// skip records the verdict of a hook that could not start.
func (r *run) skip(h *armed, found Finding) {
	r.unspend(h, r.in.SessionID)
	r.finish(h, judgeAny(r.known, h, found))
}

// runOne runs a single hook under its own deadline and judges it.
func (r *run) runOne(caller, ctx context.Context, h *armed) Verdict {
	limit := h.timeout(r.known, r.budget)
	// Under the gate's own deadline, because the caller may have to look at files to
	// answer.
	planned, cancelPlan := context.WithTimeout(ctx, limit)
	h, gate := r.planGate(planned, h)
	cancelPlan()
	if r.opts.GateSlot != nil && h.isGate() && r.depth == 0 && gate.Known == nil && gate.Fault == "" {
		release, err := r.opts.GateSlot(ctx, r.in)
		if err != nil {
			gate.Fault = fmt.Sprintf("waiting until it may run: %v", err)
		} else {
			defer release()
		}
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	started := r.opts.Now()
	var v Verdict
	switch {
	case gate.Known != nil:
		v = Verdict{Result: *gate.Known}
	case gate.Fault != "":
		v = judgeAny(r.known, h, Finding{Code: -1, Fault: gate.Fault})
	case h.Policy != "":
		v = r.runPolicy(limited, h)
	case h.barred != "":
		v = r.refuseBarred(h)
	default:
		found, output := r.handle(limited, h)
		timing(caller, limited, &found, limit)
		v = judgeAny(r.known, h, found)
		output.describe(&v, r.opts.OutputCap)
	}
	v.Duration = r.opts.Now().Sub(started)
	if gate.Known == nil {
		gate.report(v)
	}
	return v
}

// describer is what a handler leaves besides its verdict.
type describer interface {
	// describe adds it to a Result, at most limit bytes of each text.
	describe(v *Verdict, limit int)
}

// handle runs the hook as its type says.
func (r *run) handle(ctx context.Context, h *armed) (Finding, describer) {
	switch {
	case h.callback != nil:
		found, stdout, note := r.runCallback(ctx, h)
		return found, textOutput{stdout, note}
	case h.endpoint != nil:
		return r.runHTTP(ctx, h)
	case h.asksModel():
		return r.runModel(ctx, h)
	case h.Type == "mcp_tool":
		return r.runTool(ctx, h)
	case h.Type != "command":
		return Finding{Code: -1, Fault: settings.CheckType(r.known, h.Type)}, textOutput{}
	}
	return r.runCommand(ctx, h)
}

// timing records that a hook was ended before it could answer: by the caller of Run, or
// because its own time, which was limit, or that of its event was up.
func timing(caller, limited context.Context, found *Finding, limit time.Duration) {
	switch {
	case caller.Err() != nil:
		found.Aborted = true
	case found.TimedOut:
		found.Fault = fmt.Sprintf("timed out after %v", limit)
		if cause := context.Cause(limited); errors.Is(cause, errBudget) {
			found.Fault = cause.Error()
		}
	}
}

// shown returns the hook as models see it, and the plugin that it comes from: a plugin's path
// is expanded, and an agent's reason has no prompt before it.
func (h *armed) shown() (command, plugin string) {
	if h.source.Root != "" {
		plugin = h.source.Name
	}
	if h.Type == "agent" {
		return "", plugin
	}
	unchanged := func(name string) string { return "${" + name + "}" }
	return substitute(h.label, h.source, unchanged, false), plugin
}

// judgeAny judges a hook or a gate.
func judgeAny(known *hooks.EventInfo, h *armed, found Finding) Verdict {
	found.Command, found.Plugin = h.shown()
	found.FailClosed = h.closed && !h.startsInBackground()
	if h.Gate {
		return Gate(known, found)
	}
	return Judge(known, &h.Handler, found)
}
