package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/settings"
)

// markerName is the environment variable that identifies the processes of one hook run.
const markerName = "COVEY_HOOK_RUN"

// outputs holds what a command wrote.
type outputs struct {
	stdout answerCapture
	stderr capture
	note   string // what people should know of how the process ended
}

// describe copies the outputs into a Result.
func (o *outputs) describe(v *Verdict, limit int) {
	v.Stdout, v.Stderr = o.stdout.text(limit), o.stderr.text(limit)
	for _, note := range []string{o.note, o.stdout.cutNote("stdout", limit), o.stderr.cutNote("stderr",
		limit)} {
		if note != "" {
			v.Warn("%s", note)
		}
	}
}

// runCommand runs a command handler and reads its answer.
func (r *run) runCommand(ctx context.Context, h *armed) (Finding, *outputs) {
	c := r.launch(ctx, h, nil)
	return c.wait(ctx)
}

// launched is a command handler that has been started, or could not be.
type launched struct {
	*run
	gate           bool
	dialect        hooks.Dialect
	out            *outputs
	outEnd, errEnd tail // only filled for gates
	running        *proc.Running
	fault          string // why it did not start; empty if it did
}

// launch starts a command handler. ask, which may be nil, is called when the hook asks to
// continue in the background. The caller must call wait, even if the start failed.
func (r *run) launch(ctx context.Context, h *armed, ask func(limit time.Duration)) *launched {
	h = r.located(h)
	c := &launched{run: r, gate: h.Gate, dialect: h.Dialect}
	c.out = &outputs{stdout: answerCapture{capture{limit: r.opts.OutputCap}},
		stderr: capture{limit: r.opts.OutputCap}}
	// Both count: the hooks that this process runs inside of, and those of this program
	// that enclose the event.
	if depth := r.outerDepth + r.depth; depth >= maxDepth {
		c.fault = fmt.Sprintf("hooks that start covey are nested %d deep: no further one is started", depth)
		return c
	}
	if h.Gate {
		c.out.stdout.also, c.out.stderr.also = &c.outEnd, &c.errEnd
	}
	args, err := commandLine(h, r.lookup)
	dir, dirErr := r.handlerDir(h)
	if err = errors.Join(err, dirErr); err != nil {
		c.fault = err.Error()
		return c
	}
	process := c.process(h, args, dir)
	if process.Stdin, err = settings.Input(h.Dialect, c.wire, c.opts.Now); err != nil {
		c.fault = fmt.Sprintf("the hook's input cannot be translated for %s: %v", h.Dialect.Program, err)
		return c
	}
	if h.Gate && r.opts.GateEnv != nil {
		more, err := r.opts.GateEnv(r.in)
		if err != nil {
			c.fault = err.Error()
			return c
		}
		process.Env = append(process.Env, more...)
	}
	if r.opts.Box != nil {
		box, more, err := r.opts.Box(r.in, h.Handler, dir)
		if err != nil {
			c.fault = err.Error()
			return c
		}
		process.Box, process.Env = box, append(process.Env, more...)
	}
	if ask != nil {
		process.Stdout = &asyncDetector{to: &c.out.stdout, ask: ask}
	}
	if c.running, err = process.Start(ctx); err != nil {
		c.fault = err.Error() + startHint(err)
	}
	return c
}

// process describes the command's process. A warning about processes that it leaves behind
// may come after the event has ended.
func (c *launched) process(h *armed, args []string, dir string) proc.Process {
	marker := markerName + "=" + uuid.NewString()
	p := proc.Process{Args: args, Dir: dir, Env: c.handlerEnv(h, marker),
		Stdout: &c.out.stdout, Stderr: &c.out.stderr, Grace: c.opts.Grace, Marker: marker,
		MaxProcesses: c.opts.MaxProcesses}
	if c.opts.OnTooManyProcesses != nil {
		p.OnTooMany = func(warning string) { c.opts.OnTooManyProcesses(c.in, h.label, "what it left behind "+warning) }
	}
	if c.opts.Spawned != nil {
		p.Started = func(pid int) func() {
			return c.opts.Spawned(pid, Spawn{Input: c.in, Member: c.opts.session(c.in).Member, Hook: h.Handler, Depth: c.depth + 1})
		}
	}
	return p
}

// wait waits until the command has ended. ctx must be the one that launch was given.
//
// It reads what the process wrote only after Wait has returned, when nothing writes to it
// any more. A process that was stopped has no verdict, whatever it has printed.
func (c *launched) wait(ctx context.Context) (Finding, *outputs) {
	found := Finding{Code: -1, Fault: c.fault}
	if c.running == nil {
		found.TimedOut = ctx.Err() != nil
		return found, c.out
	}
	exit := c.running.Wait()
	found.Tail = endOf(&c.outEnd, &c.errEnd)
	c.out.note = exitNote(exit, c.opts.MaxProcesses)
	found.Stderr = c.out.stderr.text(c.opts.OutputCap)
	if exit.Stopped || ctx.Err() != nil {
		found.TimedOut = true
		return found, c.out
	}
	stdout, code := settings.Answer(c.dialect, c.known.Event, c.wire, c.out.stdout.text(answerCap), exit.Code)
	found.Code = code
	found.Answer = Read(c.known.Event, stdout, c.out.stdout.dropped > 0)
	if exit.Signal != "" && c.gate {
		found.Fault = "ended by a signal: " + exit.Signal
	}
	return found, c.out
}

// startHint returns a known remedy for a program that does not start, or "".
func startHint(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return " (chmod +x makes it executable)"
	case errors.Is(err, syscall.ENOEXEC):
		return " (it lacks a first line like #!/bin/sh)"
	}
	return ""
}

// exitNote tells people about child processes that a hook left behind, or about too many
// processes. limit is how many it may have.
func exitNote(exit proc.Exit, limit int) string {
	switch {
	case exit.TooMany:
		return proc.TooManyText(limit)
	case exit.Stopped && len(exit.Left) > 0:
		return fmt.Sprintf("killed with its children %s", pids(exit.Left))
	case exit.Held && len(exit.Left) > 0:
		return fmt.Sprintf("it left a child that keeps its output open and was not waited for: %s",
			pids(exit.Left))
	case exit.Held:
		return "it left a child that keeps its output open and was not waited for"
	case len(exit.Left) > 0:
		return fmt.Sprintf("it left children running: %s", pids(exit.Left))
	case exit.Signal != "" && !exit.Stopped:
		return "ended by a signal: " + exit.Signal
	}
	return ""
}

// pids lists process IDs for people, at most eight of them.
func pids(list []int) string {
	const most = 8
	text := strings.Trim(fmt.Sprint(list[:min(len(list), most)]), "[]")
	if len(list) > most {
		text += fmt.Sprintf(" and %d more", len(list)-most)
	}
	return "pid " + text
}

// commandLine returns the arguments of a command handler: exec form if it has args, else
// shell form. In shell form $0 is the shell's path, as recorded.
func commandLine(h *armed, lookup func(name string) string) ([]string, error) {
	if strings.TrimSpace(h.Command) == "" {
		return nil, fmt.Errorf("the hook has no command")
	}
	// In exec form no shell reads the arguments, so all values are filled in as they are.
	// An empty list is exec form, too.
	if h.Args != nil {
		args := make([]string, 0, len(h.Args)+1)
		for _, arg := range append([]string{h.Command}, h.Args...) {
			filled, err := userConfig(substitute(arg, h.source, lookup, false), h.source, false)
			if err != nil {
				return nil, err
			}
			args = append(args, filled)
		}
		return args, nil
	}
	line, err := userConfig(substitute(h.Command, h.source, lookup, true), h.source, true)
	if err != nil {
		return nil, err
	}
	switch h.Shell {
	case "":
		if runtime.GOOS == "windows" {
			return []string{"sh", "-c", line}, nil
		}
		return []string{"/bin/sh", "-c", line}, nil
	case "bash":
		return []string{"bash", "-c", line}, nil
	case "powershell":
		return []string{"pwsh", "-NoProfile", "-NonInteractive", "-Command", line}, nil
	}
	return nil, fmt.Errorf("there is no shell %q: write bash or powershell, or leave it out", h.Shell)
}

// timeout returns how long the handler may run. budget is the time of a SessionEnd.
func (h *armed) timeout(known *hooks.EventInfo, budget time.Duration) time.Duration {
	switch {
	case h.Timeout > 0:
		return min(time.Duration(h.Timeout*float64(time.Second)), hooks.MaxTimeout)
	case known.Event == hooks.SessionEnd:
		return budget
	}
	return defaultTimeout(known.Event, h.Type)
}
