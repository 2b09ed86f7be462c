package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/judging"
	"github.com/coveyteam/covey/hooks/settings"
)

// sessionEndBudget is how long all hooks of a SessionEnd may take together
// unless a setting asks for more: somebody waits for the program to end.
const sessionEndBudget = 1500 * time.Millisecond

// errBudget ends hooks whose event has no time left.
var errBudget = errors.New("the time for all hooks of the event is up")

// run is one event on its way through the hooks.
type run struct {
	*Runner
	known   *hooks.EventInfo
	in      hooks.Input
	id      string
	wire    []byte
	dir     string // where the hooks run
	env     []string
	observe func(hooks.Progress)
	around  int // how many hooks of this program stand around the event

	mu       sync.Mutex        // guards verdicts and serializes observe
	verdicts []judging.Verdict // in the order in which the hooks finished
	left     int               // hooks that have left for the background
}

// all runs the chosen hooks side by side, as many at once as the Runner has
// slots, and returns when all have ended. They start in the order in which they
// are configured.
func (r *run) all(ctx context.Context, chosen []*armed) {
	hooksCtx := ctx
	if r.known.Event == hooks.SessionEnd {
		limited, cancel := context.WithTimeoutCause(ctx, r.budget, errBudget)
		defer cancel()
		hooksCtx = limited
	}
	wire, err := r.in.Wire()
	r.wire, r.dir = wire, r.workDir()
	r.env = r.eventEnv(r.in)
	var running sync.WaitGroup
	for _, h := range chosen {
		if err != nil {
			r.finish(h, judgeAny(r.known, h, judging.Finding{Code: -1,
				Fault: fmt.Sprintf("the hook's input cannot be written: %v", err)}))
			continue
		}
		if h.fromStart() && hooksCtx.Err() == nil {
			r.sendOff(ctx, h)
			continue
		}
		if !r.acquire(hooksCtx, h) {
			found := judging.Finding{Code: -1, Aborted: ctx.Err() != nil, TimedOut: ctx.Err() == nil,
				Fault: errBudget.Error()}
			r.finish(h, judgeAny(r.known, h, found))
			continue
		}
		r.report(hooks.Progress{Command: h.label, Status: h.StatusMessage})
		work := func() {
			defer r.release(h)
			if h.mayLeave() {
				r.attend(ctx, hooksCtx, h)
				return
			}
			r.finish(h, r.one(ctx, hooksCtx, h))
		}
		if len(chosen) == 1 || r.known.Event == hooks.PreModelSwitch { // whose hooks run one after another
			work() // a switch of goroutines is a tenth of what a hook costs
			continue
		}
		running.Go(work)
	}
	running.Wait()
}

// acquire waits for a slot; it fails if ctx has ended first.
func (r *run) acquire(ctx context.Context, h *armed) bool {
	if r.slotless(h) {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case r.slots <- struct{}{}:
	}
	if ctx.Err() != nil { // both were ready, and select chose at random
		r.release(h)
		return false
	}
	return true
}

// release gives a slot back.
func (r *run) release(h *armed) {
	if !r.slotless(h) {
		<-r.slots
	}
}

// slotless reports whether a hook runs without a slot: one that runs within the program, and
// one for whose end another one waits that has a slot. The two would wait for each other.
func (r *run) slotless(h *armed) bool { return h.inside() || r.around > 0 }

// report tells the observer.
func (r *run) report(p hooks.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(p)
}

// tell calls the observer; r.mu is held.
func (r *run) tell(p hooks.Progress) {
	if r.observe != nil {
		p.Event, p.ToolUseID = r.known.Event, r.id
		r.observe(p)
	}
}

// finish notes a verdict and tells the observer of it, in one step, so that
// both orders are one.
func (r *run) finish(h *armed, v judging.Verdict) {
	if v.Type, v.Command = h.kind(), h.label; h.Mode == hooks.Observe {
		v = v.Quiet()
	}
	r.spill(&v)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verdicts = append(r.verdicts, v)
	r.tell(hooks.Progress{Command: h.label, Result: &v.Result})
}

// one runs a single hook under its own deadline and judges it.
func (r *run) one(caller, ctx context.Context, h *armed) judging.Verdict {
	limit := h.timeout(r.known, r.budget)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	started := r.opts.Now()
	var v judging.Verdict
	h, sitting := r.sitting(limited, h)
	switch {
	case sitting.Known != nil:
		v = judging.Verdict{Result: *sitting.Known}
	case sitting.Fault != "":
		v = judgeAny(r.known, h, judging.Finding{Code: -1, Fault: sitting.Fault})
	case h.Policy != "":
		v = r.runPolicy(limited, h)
	case h.barred != "":
		v = r.refuseBarred(h)
	default:
		found, seen := r.handle(limited, h)
		timing(caller, limited, &found, limit)
		v = judgeAny(r.known, h, found)
		seen.describe(&v, r.opts.OutputCap)
	}
	v.Duration = r.opts.Now().Sub(started)
	if sitting.Known == nil {
		sitting.heard(v)
	}
	return v
}

// seen is what a handler did besides judging: it completes a Result, with at
// most limit of each text.
type seen interface {
	describe(v *judging.Verdict, limit int)
}

// handle does what the hook's type calls for.
func (r *run) handle(ctx context.Context, h *armed) (judging.Finding, seen) {
	switch {
	case h.callback != nil:
		found, stdout, note := r.runCallback(ctx, h)
		return found, heard{stdout, note}
	case h.endpoint != nil:
		return r.runHTTP(ctx, h)
	case h.Type == "prompt" || h.Type == "agent":
		return r.runModel(ctx, h)
	case h.Type == "mcp_tool":
		return r.runTool(ctx, h)
	case h.Type != "command":
		return judging.Finding{Code: -1, Fault: settings.CheckType(r.known, h.Type)}, heard{}
	}
	return r.runCommand(ctx, h)
}

// timing notes that a hook was ended before it could answer: by whoever called
// Run, or because its time, which was limit, or that of its event was up.
func timing(caller, limited context.Context, found *judging.Finding, limit time.Duration) {
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

// judgeAny judges a hook or a gate.
func judgeAny(known *hooks.EventInfo, h *armed, found judging.Finding) judging.Verdict {
	found.Command = h.label
	found.FailClosed = h.closed && !h.fromStart()
	if h.Gate {
		return judging.Gate(known, found)
	}
	return judging.Judge(known, &h.Handler, found)
}
