package command

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// talk is one prompt while the program works at it. It belongs to the goroutine
// of Run, as the Host does.
type talk struct {
	a    *Agent
	rec  *recorder
	read reader
	box  *inbox
	errs *lastWords
	sup  agent.Supervisor // nil: the Host is none
	eye  agent.Observer
	stop context.CancelFunc // ends the program
	// opened ends what Options.Enter has begun; it may be called more than once.
	opened func(bool)

	later    []agent.Input // to be said in a prompt of their own
	touched  bool          // the program has said something of substance
	halted   string        // by a hook
	err      error         // why the prompt is given up
	warnings int
	notice   string // what people were last told of a lost model
}

// maxWarnings is how many of its warnings a run may show to people.
const maxWarnings = 20

// lastWords is the program's stderr: its end is kept, and all of it is a sign
// of life but the news that its model is lost.
type lastWords struct {
	program.Tail
	box *inbox
}

// Write never fails.
func (w *lastWords) Write(data []byte) (int, error) {
	if !program.IsRetryNotice(string(data)) {
		w.box.heard.Add(int64(len(data)))
	}
	return w.Tail.Write(data)
}

// ended is how a process ended.
type ended struct {
	exit proc.Exit
	err  error // it could not be started
}

// talk is a prompt that is still to be sent.
func (a *Agent) talk(h agent.Host) *talk {
	t := &talk{a: a, rec: newRecorder(h, a.opts.MaxOutput), box: newInbox(), stop: func() {}, opened: func(bool) {}}
	t.read = newReader(a.opts.Dialect, a.opts.MaxOutput)
	t.errs = &lastWords{box: t.box}
	// What the Host cannot do is done without: a test, or another host, may offer
	// less than a member does.
	t.sup, _ = h.(agent.Supervisor)
	t.eye, _ = h.(agent.Observer)
	return t
}

// run runs the program and takes in what it prints until it has ended and all
// of that is taken in. When ctx ends, or the prompt is given up, the program is
// ended; what it prints on its way out counts.
func (t *talk) run(ctx context.Context, p proc.Process) ended {
	within, stop := context.WithCancel(ctx)
	defer stop()
	t.stop = stop
	var release func()
	p.Started = func(pid int) {
		if t.a.opts.Started != nil {
			release = t.a.opts.Started(pid)
		}
	}
	over := make(chan ended, 1)
	go func() { // run waits for it
		exit, err := p.Run(within)
		if release != nil {
			release()
		}
		t.box.close()
		over <- ended{exit, err}
	}()
	limit := t.a.opts.Alarm(t.a.opts.Timeouts.Run)
	defer limit.Stop()
	watch, quiet := t.a.opts.Alarm(t.patience()), t.a.opts.Alarm(t.a.opts.Timeouts.Quiet)
	defer watch.Stop()
	defer quiet.Stop()
	for heard := t.box.heard.Load(); ; {
		select {
		case <-t.box.ready:
			// Bytes of a notice are no sign of life, those of half a line may be one.
			if t.takeAll(ctx) {
				watch.Set(t.patience())
				quiet.Set(3 * t.a.opts.Timeouts.Quiet) // a model that has begun may think for a while
			}
			heard = t.box.heard.Load()
		case <-quiet.C:
			t.tellOfSilence()
		case <-watch.C:
			switch now := t.box.heard.Load(); {
			case t.read.over(): // its work is done, but it does not leave
				t.stop()
			case now != heard:
				heard = now
			default:
				t.giveUp(silence(t.patience()))
			}
			watch.Set(t.patience())
		case <-limit.C:
			t.giveUp(tooLong(t.a.opts.Timeouts.Run))
		case e := <-over:
			t.takeAll(ctx)
			return e
		}
	}
}

// silence is the error of a program that says nothing for too long. It is a
// failed model request: an endpoint that does not answer looks like this.
func silence(limit time.Duration) error {
	return &agent.APIError{
		Type:    "server_error",
		Message: fmt.Sprintf("the agent program has not said anything for %v; it was ended", limit),
	}
}

// tooLong is the error of a program that does not end.
func tooLong(limit time.Duration) error {
	return &agent.APIError{
		Type: "server_error", Message: fmt.Sprintf("the agent program was at work for %v; it was ended", limit),
	}
}

// patience is how long the program may be silent now.
func (t *talk) patience() time.Duration {
	switch limits := t.a.opts.Timeouts; {
	case !speaksLines(t.read):
		return limits.Run
	case t.read.over():
		return limits.Exit
	case t.rec.busy():
		return limits.Tool
	default:
		return limits.Silence
	}
}

// giveUp ends the prompt early because of err; the first reason counts.
func (t *talk) giveUp(err error) {
	if t.err == nil {
		t.err = err
	}
	t.stop()
}

// takeAll takes in what waits, and reports whether any of it was a sign of life. Once
// the transcript has failed, nothing more is worth anything.
func (t *talk) takeAll(ctx context.Context) (alive bool) {
	for _, l := range t.box.take() {
		all := t.read.line(l)
		alive = alive || !slices.ContainsFunc(all, func(n news) bool { return n.retries != "" })
		for _, n := range all {
			if err := t.note(ctx, n); err != nil {
				t.giveUp(err)
				t.box.deafen()
				return alive
			}
		}
	}
	return alive
}

// note takes in one thing that the program told.
func (t *talk) note(ctx context.Context, n news) error {
	if n.session != "" {
		t.opened(true)
		if err := t.a.enter(n.session); err != nil {
			return err
		}
	}
	if n.text != "" {
		t.touched = true
		t.rec.say(n.text)
	}
	if n.begun != nil {
		t.touched = true
		if err := t.rec.begin(n.begun); err != nil {
			return fmt.Errorf("command: tool call %s: %w", n.begun.id, err)
		}
	}
	if n.ended != nil {
		if err := t.done(ctx, n.ended); err != nil {
			return fmt.Errorf("command: result of tool call %s: %w", n.ended.id, err)
		}
	}
	t.show(n)
	return nil
}

// done takes in the result of a call. Hooks look at the call after its result
// and before the result is recorded.
func (t *talk) done(ctx context.Context, r *result) error {
	s := t.rec.running(r.id)
	if s == nil {
		return nil // it has its one result, or was never heard of
	}
	s.result = agent.ToolResult{Content: clean(shorten(r.text)), IsError: r.isError}
	s.result.Rejected = r.rejected || r.isError && program.IsRejection(s.result.Content)
	if t.sup != nil {
		for _, call := range s.calls {
			t.remark(t.sup.Report(ctx, call, s.result))
		}
	}
	return t.rec.end(s)
}

// remark takes in what hooks said of a call. A halt ends the turn at once; all
// else is said in a prompt of its own, for nobody can speak to the program.
func (t *talk) remark(r agent.Remarks) {
	t.later = append(t.later, r.Feedback...)
	if r.Halted != "" {
		t.halted = r.Halted
		t.stop()
	}
}

// show tells the journal of what no transcript holds.
func (t *talk) show(n news) {
	if t.eye == nil {
		return
	}
	if len(n.plan) > 0 {
		t.eye.Observe(agent.Planned{Entries: n.plan})
	}
	if n.retries != "" && n.retries != t.notice {
		t.notice = n.retries
		t.eye.Observe(agent.HeldUp{For: n.retries})
	}
	if n.warning != "" && t.warnings < maxWarnings {
		t.warnings++
		t.eye.Observe(agent.Warning{Text: n.warning})
	}
}

// tellOfSilence tells people that a program which tells what it does has told nothing for
// some time.
func (t *talk) tellOfSilence() {
	if t.eye != nil && speaksLines(t.read) && !t.rec.busy() && !t.read.over() {
		t.eye.Observe(agent.HeldUp{For: "the agent program, which has printed nothing for a while"})
	}
}

// enter notes the session's id. A program that cannot be told to resume has
// none.
func (a *Agent) enter(id string) error {
	if len(a.opts.Resume) == 0 || id == a.session || !sessionID().MatchString(id) {
		return nil
	}
	a.session = id
	// The id is kept before the program does anything in the session: a crash
	// between the two would leave work in a session that nobody finds again.
	if err := a.opts.OnSession(id); err != nil {
		return fmt.Errorf("command: the session's id could not be kept: %w", err)
	}
	return nil
}
