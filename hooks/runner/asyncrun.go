package runner

import (
	"context"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/judging"
)

// fromStart reports whether nobody waits for the hook from its start on. Only
// commands go on in the background; a gate never does, since it has to agree.
func (h *armed) fromStart() bool { return h.mayLeave() && (h.Async || h.AsyncRewake) }

// mayLeave reports whether the hook may ask to go on in the background.
func (h *armed) mayLeave() bool {
	return h.Type == "command" && h.callback == nil && !h.Gate && h.Policy == "" && h.barred == ""
}

// lateTimeout is how long the hook may run in the background. What bounds those
// that hold the end of a session up does not bound it.
func (h *armed) lateTimeout(known *hooks.EventInfo) time.Duration {
	if h.Timeout <= 0 && known.Event == hooks.SessionEnd {
		return defaultTimeout(known.Event, h.Type)
	}
	return h.timeout(known, 0)
}

// sendOff starts a hook in the background. It waits there for a slot, too, and
// that counts as its time.
func (r *run) sendOff(ctx context.Context, h *armed) {
	r.report(hooks.Progress{Command: h.label, Status: h.StatusMessage})
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	e := r.leave(h, end, false)
	w := &work{limit: h.lateTimeout(r.known), started: r.opts.Now()}
	timer := time.AfterFunc(w.limit, func() { end(errLate) })
	go func() { // Settle waits for it
		defer timer.Stop()
		select {
		case r.errands.slots <- struct{}{}:
			w.found, w.out = r.runCommand(ctx, h)
			<-r.errands.slots
		case <-ctx.Done():
			w.found = judging.Finding{Code: -1, TimedOut: true}
		}
		r.late(ctx, e, w)
	}()
}

// work is the run of a command that may leave for the background.
type work struct {
	limit   time.Duration
	started time.Time
	asked   chan time.Duration // what it asked for; has one place
	ended   chan struct{}      // closed once found and out are there

	found judging.Finding
	out   *outputs // nil: it has never run
}

// quick is how long a hook may run before it gets a goroutine. A switch of
// goroutines is a tenth of what such a hook costs, and little for a slower one.
const quick = 30 * time.Millisecond

// attend runs a hook that is waited for, until it has ended or has left for the
// background. It has a context of its own, since the event may be over before it
// is.
func (r *run) attend(caller, ctx context.Context, h *armed) {
	w := &work{limit: h.timeout(r.known, r.budget), started: r.opts.Now(),
		asked: make(chan time.Duration, 1), ended: make(chan struct{})}
	own, end := context.WithCancelCause(context.WithoutCancel(ctx))
	timer := time.AfterFunc(w.limit, func() { end(context.DeadlineExceeded) })
	hold := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	c := r.launch(own, h, func(limit time.Duration) { w.asked <- limit })
	w.follow(own, c)
	if limit, asks := r.mayGo(w); asks {
		if timer.Stop() && hold() {
			r.goOn(own, r.leave(h, end, true), w, limit)
			return
		}
		<-r.errands.slots // its time was up, or its caller's, in this moment
	}
	<-w.ended
	timer.Stop()
	hold()
	timing(caller, own, &w.found, w.limit)
	end(nil)
	v := judgeAny(r.known, h, w.found)
	w.out.describe(&v, r.opts.OutputCap)
	v.Duration = r.opts.Now().Sub(w.started)
	r.finish(h, v)
}

// follow waits for the command, in a goroutine of its own once it has asked to
// leave or turns out to be slow. Whose outputs have ended cannot ask any more.
func (w *work) follow(ctx context.Context, c *launched) {
	wait := func() {
		defer close(w.ended)
		w.found, w.out = c.wait(ctx)
	}
	if c.running == nil {
		wait()
		return
	}
	slow := time.NewTimer(quick)
	defer slow.Stop()
	select {
	case <-c.running.Drained():
		wait()
	case limit := <-w.asked:
		w.asked <- limit // it has one place, and is asked once
		go wait()
	case <-slow.C:
		go wait() // attend waits for it, or Settle
	}
}

// mayGo waits until a hook has ended or asks to leave and finds a slot in the
// background, which it holds then; without one it is waited for meanwhile. One
// that asks and ends at once has left all the same.
func (r *run) mayGo(w *work) (limit time.Duration, asks bool) {
	select {
	case limit = <-w.asked:
	case <-w.ended:
		select {
		case limit = <-w.asked:
		default:
			return 0, false
		}
	}
	select {
	case r.errands.slots <- struct{}{}:
		return limit, true
	case <-w.ended:
	}
	select {
	case r.errands.slots <- struct{}{}:
		return limit, true
	default:
		return 0, false
	}
}

// leave notes that a hook goes on in the background, and tells the observer.
func (r *run) leave(h *armed, end context.CancelCauseFunc, byLine bool) *errand {
	e := r.errands.add(h, r.in.SessionID, end)
	e.byLine, e.interactive = byLine, r.opts.Interactive
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left++
	r.tell(hooks.Progress{Command: h.label, Background: &hooks.Background{ID: e.id, Rewake: e.AsyncRewake}})
	return e
}

// goOn lets a hook run on that has left with a slot. limit is how long it asked
// for; 0: as long as a hook that is in the background from its start.
func (r *run) goOn(ctx context.Context, e *errand, w *work, limit time.Duration) {
	rest := limit
	if limit <= 0 {
		limit = e.lateTimeout(r.known)
		rest = max(limit-r.opts.Now().Sub(w.started), 0)
	}
	w.limit = limit
	timer := time.AfterFunc(rest, func() { e.end(errLate) })
	end := func() {
		<-w.ended
		timer.Stop()
		<-r.errands.slots
		r.late(ctx, e, w)
	}
	select {
	case <-w.ended:
		end() // the observer hears of it before Run returns
	default:
		go end() // Settle waits for it
	}
}

// late judges a hook that has ended in the background and tells the observer.
func (r *run) late(ctx context.Context, e *errand, w *work) {
	defer r.errands.remove(e)
	found := w.found
	ended(ctx, &found, w.limit)
	v := judging.Late(r.known, &e.Handler, found)
	if w.out != nil {
		v.Hear(r.known.Event, w.out.stdout.text(answerCap), e.byLine)
		w.out.describe(&v, r.opts.OutputCap)
	}
	v.Type, v.Command, v.Duration = e.kind(), e.label, r.opts.Now().Sub(w.started)
	if e.Mode == hooks.Observe {
		v = v.Quiet()
	}
	r.spill(&v)
	b := e.background(r.known, r.in.HookName(), &v)
	r.report(hooks.Progress{Command: e.label, Result: &v.Result, Background: b})
}
