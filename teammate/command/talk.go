package command

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// talk is one running prompt. Like the Host, it belongs to the goroutine of Run.
type talk struct {
	program.Talk
	a    *Agent
	rec  *recorder
	read reader
	box  *inbox
	errs *stderrTail
	stop context.CancelFunc // ends the program
	// opened is the leave function of Options.Enter; it may be called more than once.
	opened func(bool)

	printed  bool // the program has printed a line
	warnings int
}

// maxWarnings is how many warnings of one run people are shown.
const maxWarnings = 20

// stderrTail keeps the end of the program's stderr. All of it is a sign of life except retry
// notices.
type stderrTail struct {
	program.Tail
	box *inbox
}

// Write never fails.
func (w *stderrTail) Write(data []byte) (int, error) {
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

// talk returns a new prompt that has not been sent.
func (a *Agent) talk(h agent.Host) *talk {
	box := newInbox()
	return &talk{
		Talk: program.NewTalk(h), a: a, rec: newRecorder(h, a.opts.MaxOutput), read: newReader(a.opts.Dialect, a.opts.MaxOutput),
		box: box, errs: &stderrTail{box: box}, stop: func() {}, opened: func(bool) {},
	}
}

// run runs the program and handles its output until it has ended. When ctx ends, or the prompt
// is given up, it ends the program; output until then still counts.
func (t *talk) run(ctx context.Context, p proc.Process) ended {
	within, stop := context.WithCancel(ctx)
	defer stop()
	t.stop = stop
	p.Started = t.a.opts.Started
	over := make(chan ended, 1)
	go func() { // run waits for this goroutine
		exit, err := p.Run(within)
		t.box.close()
		over <- ended{exit, err}
	}()
	limit := t.a.opts.Alarm(t.a.opts.Timeouts.Run)
	defer limit.Stop()
	watch, quiet := t.a.opts.Alarm(t.silenceLimit()), t.a.opts.Alarm(t.a.opts.Timeouts.Quiet)
	defer watch.Stop()
	defer quiet.Stop()
	for heard := t.box.heard.Load(); ; {
		select {
		case <-t.box.ready:
			// The bytes of a notice are no sign of life, but those of an incomplete line are.
			if t.takeAll(ctx) {
				watch.Set(t.silenceLimit())
				quiet.Set(3 * t.a.opts.Timeouts.Quiet) // a model that has begun may think for a while
			}
			heard = t.box.heard.Load()
		case <-quiet.C:
			t.reportSilence()
		case <-watch.C:
			switch now := t.box.heard.Load(); {
			case t.read.over(): // it has finished but does not exit
				t.stop()
			case now != heard:
				heard = now
			default:
				t.giveUp(program.Silence(t.silenceLimit(), "ended"))
			}
			watch.Set(t.silenceLimit())
		case <-limit.C:
			t.giveUp(tooLong(t.a.opts.Timeouts.Run))
		case e := <-over:
			t.takeAll(ctx)
			return e
		}
	}
}

// tooLong returns the error of a program that does not end.
func tooLong(limit time.Duration) error {
	return &agent.APIError{
		Type: "server_error", Message: fmt.Sprintf("the agent program was at work for %v; it was ended", limit),
	}
}

// silenceLimit returns how long the program may be silent now.
func (t *talk) silenceLimit() time.Duration {
	switch limits := t.a.opts.Timeouts; {
	case !speaksLines(t.read):
		return limits.Run
	case t.read.over():
		return limits.Exit
	case t.rec.Busy():
		return limits.Tool
	default:
		return limits.Silence
	}
}

// giveUp ends the prompt early with err; the first error counts.
func (t *talk) giveUp(err error) {
	t.GiveUp(err)
	t.stop()
}

// takeAll handles the waiting lines, and reports whether any was a sign of life. After the
// transcript has failed it stops.
func (t *talk) takeAll(ctx context.Context) (alive bool) {
	for _, l := range t.box.drain() {
		t.printed = true
		all := t.read.line(l)
		alive = alive || !slices.ContainsFunc(all, func(n news) bool { return n.retries != "" })
		for _, n := range all {
			if err := t.handleNews(ctx, n); err != nil {
				t.giveUp(err)
				t.box.deafen()
				return alive
			}
		}
	}
	return alive
}

// handleNews handles one line.
func (t *talk) handleNews(ctx context.Context, n news) error {
	if n.session != "" {
		t.opened(true)
		if err := t.a.recordSession(n.session, t.Observer); err != nil {
			return err
		}
	}
	if n.text != "" {
		t.Touched = true
		t.rec.say(n.text)
	}
	if n.begun != nil {
		t.Touched = true
		if err := t.rec.begin(n.begun); err != nil {
			return fmt.Errorf("command: tool call %s: %w", n.begun.id, err)
		}
	}
	if n.ended != nil {
		if err := t.handleResult(ctx, n.ended); err != nil {
			return fmt.Errorf("command: result of tool call %s: %w", n.ended.id, err)
		}
	}
	t.show(n)
	return nil
}

// handleResult handles the result of a call. Hooks see a call after its result arrives and before it
// is recorded.
func (t *talk) handleResult(ctx context.Context, r *result) error {
	s := t.rec.running(r.id)
	if s == nil {
		return nil // unknown, or it already has its result
	}
	result := agent.ToolResult{Content: clean(program.Result(r.text)), IsError: r.isError}
	result.Rejected = r.rejected || r.isError && program.IsRejection(result.Content)
	if t.Sup != nil {
		for _, call := range s.calls {
			t.applyRemarks(t.Sup.Report(ctx, call, result))
		}
	}
	return t.rec.end(s, result)
}

// applyRemarks handles the feedback of hooks. A halt ends the turn at once; the rest goes into a
// prompt of its own, because the program takes no messages while it runs.
func (t *talk) applyRemarks(r agent.Remarks) {
	t.Later = append(t.Later, r.Feedback...)
	if r.Halted != "" {
		t.Halted = r.Halted
		t.stop()
	}
}

// show reports to the journal what no transcript holds.
func (t *talk) show(n news) {
	if len(n.plan) > 0 {
		t.Observer.Observe(events.Planned{Entries: n.plan})
	}
	if n.retries != "" {
		t.ReportRetry(n.retries)
	}
	if n.warning != "" && t.warnings < maxWarnings {
		t.warnings++
		t.Observer.Observe(events.Warning{Text: n.warning})
	}
}

// reportSilence tells people that a program that prints JSON lines has printed nothing for some
// time.
func (t *talk) reportSilence() {
	if speaksLines(t.read) && !t.rec.Busy() && !t.read.over() {
		t.Observer.Observe(events.HeldUp{For: "the agent program, which has printed nothing for a while"})
	}
}

// recordSession records the session's id, unless the program cannot resume sessions.
func (a *Agent) recordSession(id string, o events.Observer) error {
	if len(a.opts.Resume) == 0 || id == a.session || !sessionID().MatchString(id) {
		return nil
	}
	a.session = id
	// The id is stored before the program does anything in the session: a crash in between
	// would leave work in a session that cannot be found again.
	if err := a.opts.OnSession(id); err != nil {
		return fmt.Errorf("command: the session's id could not be kept: %w", err)
	}
	if a.lostWhy != "" {
		o.Observe(events.FreshSession{Reason: a.lostWhy})
	}
	a.lostWhy = ""
	return nil
}
