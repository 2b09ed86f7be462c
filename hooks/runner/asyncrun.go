package runner

import (
	"context"
	"time"

	"github.com/coveyteam/covey/hooks"
)

// startsInBackground reports whether the hook runs in the background from its start. Only
// commands do; a gate never does, because its verdict is needed.
func (h *armed) startsInBackground() bool { return h.mayDetach() && (h.Async || h.AsyncRewake) }

// mayDetach reports whether the hook may ask to continue in the background.
func (h *armed) mayDetach() bool {
	return h.Type == "command" && h.callback == nil && !h.Gate && h.Policy == "" && h.barred == ""
}

// backgroundTimeout returns how long the hook may run in the background. The budget of a
// SessionEnd does not apply, because the end of the session does not wait for it.
func (h *armed) backgroundTimeout(known *hooks.EventInfo) time.Duration {
	if h.Timeout <= 0 && known.Event == hooks.SessionEnd {
		return defaultTimeout(known.Event, h.Type)
	}
	return h.timeout(known, 0)
}

// startInBackground starts a hook in the background. The time it waits there for a slot
// counts against its timeout.
func (r *run) startInBackground(ctx context.Context, h *armed) {
	r.report(hooks.Progress{Command: h.label, Status: h.StatusMessage})
	// The hook outlives its event. Its time, Drain and its own end are what ends it.
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	b := r.detach(h, end, false)
	c := &commandRun{limit: h.backgroundTimeout(r.known), started: r.opts.Now()}
	timer := time.AfterFunc(c.limit, func() { end(errTimedOut) })
	go func() { // Drain waits for it
		defer timer.Stop()
		select {
		case r.background.slots <- struct{}{}:
			c.found, c.out = r.runCommand(ctx, h)
			<-r.background.slots
		case <-ctx.Done():
			r.unspend(h, r.in.SessionID)
			c.found = Finding{Code: -1, TimedOut: true}
		}
		r.finishBackground(ctx, b, c)
	}()
}

// commandRun is the run of a command that may continue in the background.
type commandRun struct {
	limit   time.Duration
	started time.Time
	asked   chan time.Duration // the time it asked for in the background; capacity 1
	ended   chan struct{}      // closed once found and out are set

	found Finding
	out   *outputs // nil if it never ran
}

// quick is how long a hook may run before it gets a goroutine. A switch of goroutines
// takes a tenth of the time of such a hook, and is negligible for a slower one.
const quick = 30 * time.Millisecond

// runForeground runs a hook until it has ended or continues in the background. The hook
// has a context of its own, because it may outlive the event.
func (r *run) runForeground(caller, ctx context.Context, h *armed) {
	c := &commandRun{limit: h.timeout(r.known, r.budget), started: r.opts.Now(),
		asked: make(chan time.Duration, 1), ended: make(chan struct{})}
	own, end := context.WithCancelCause(context.WithoutCancel(ctx))
	timer := time.AfterFunc(c.limit, func() { end(context.DeadlineExceeded) })
	// Until the hook detaches, the end of the event ends it, too. timer.Stop and hold
	// report whether they came in time: only then neither has ended the hook, and it may go
	// on.
	hold := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	l := r.launch(own, h, func(limit time.Duration) { c.asked <- limit })
	c.follow(own, l)
	if limit, asks := r.awaitDetach(c); asks {
		if timer.Stop() && hold() {
			r.continueInBackground(own, r.detach(h, end, true), c, limit)
			return
		}
		<-r.background.slots // its time, or its caller's, has just run out
	}
	<-c.ended
	timer.Stop()
	hold()
	timing(caller, own, &c.found, c.limit)
	end(nil)
	v := judgeAny(r.known, h, c.found)
	c.out.describe(&v, r.opts.OutputCap)
	v.Duration = r.opts.Now().Sub(c.started)
	r.finish(h, v)
}

// follow waits for the command, in a goroutine of its own once the command has asked to
// detach or turns out to be slow. A command whose outputs have ended can no longer ask.
func (c *commandRun) follow(ctx context.Context, l *launched) {
	wait := func() {
		defer close(c.ended)
		c.found, c.out = l.wait(ctx)
	}
	if l.running == nil {
		wait()
		return
	}
	slow := time.NewTimer(quick)
	defer slow.Stop()
	select {
	case <-l.running.Drained():
		wait()
	case limit := <-c.asked:
		c.asked <- limit // does not block: the channel has capacity 1 and is written once
		go wait()
	case <-slow.C:
		go wait() // runForeground or Drain waits for it
	}
}

// awaitDetach waits until a hook has ended, or has asked to detach and got a background
// slot, which the caller then holds. Without a free slot the hook stays in the foreground.
// A hook that detaches and exits still counts as detached.
func (r *run) awaitDetach(c *commandRun) (limit time.Duration, asks bool) {
	select {
	case limit = <-c.asked:
	case <-c.ended:
		select {
		case limit = <-c.asked:
		default:
			return 0, false
		}
	}
	select {
	case r.background.slots <- struct{}{}:
		return limit, true
	case <-c.ended:
	}
	select {
	case r.background.slots <- struct{}{}:
		return limit, true
	default:
		return 0, false
	}
}

// detach registers a hook that continues in the background, and tells the observer.
func (r *run) detach(h *armed, end context.CancelCauseFunc, byLine bool) *backgroundHook {
	b := r.background.add(h, r.in.SessionID, end)
	b.byLine, b.interactive = byLine, r.opts.Interactive
	r.mu.Lock()
	defer r.mu.Unlock()
	r.detached++
	r.tell(hooks.Progress{Command: h.label, Background: &hooks.Background{ID: b.id, Rewake: b.AsyncRewake}})
	return b
}

// continueInBackground lets a detached hook that holds a slot run on. limit is the time it
// asked for; 0 means the time of a hook that starts in the background.
func (r *run) continueInBackground(ctx context.Context, b *backgroundHook, c *commandRun, limit time.Duration) {
	rest := limit
	if limit <= 0 {
		limit = b.backgroundTimeout(r.known)
		rest = max(limit-r.opts.Now().Sub(c.started), 0)
	}
	c.limit = limit
	timer := time.AfterFunc(rest, func() { b.end(errTimedOut) })
	end := func() {
		<-c.ended
		timer.Stop()
		<-r.background.slots
		r.finishBackground(ctx, b, c)
	}
	select {
	case <-c.ended:
		end() // so that the observer is told before Run returns
	default:
		go end() // Drain waits for it
	}
}

// finishBackground judges a hook that has ended in the background and tells the observer.
func (r *run) finishBackground(ctx context.Context, b *backgroundHook, c *commandRun) {
	defer r.background.remove(b)
	found := c.found
	explainEnd(ctx, &found, c.limit)
	v := Late(r.known, &b.Handler, found)
	if c.out != nil {
		v.Hear(r.known.Event, c.out.stdout.text(answerCap), b.byLine)
		c.out.describe(&v, r.opts.OutputCap)
	}
	v.Type, v.Command, v.Duration = b.kind(), b.label, r.opts.Now().Sub(c.started)
	if b.Mode == hooks.Observe {
		v = v.Quiet()
	}
	r.spill(&v)
	r.report(hooks.Progress{Command: b.label, Result: &v.Result,
		Background: b.effect(r.known, r.in.HookName(), r.background.wasRefused(b.session), &v)})
}
