package hooks

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
)

// maxTimeout bounds what a setting may ask for; more would overflow a Duration.
const maxTimeout = 7 * 24 * time.Hour

// markerName is the variable by which the processes of one hook are known.
const markerName = "COVEY_HOOK_RUN"

// outputs is what a command wrote.
type outputs struct {
	stdout answerCapture
	stderr capture
	note   string // what the process did that people should know
}

// describe puts the outputs into a Result.
func (o *outputs) describe(v *verdict, limit int) {
	v.Stdout, v.Stderr = o.stdout.text(limit), o.stderr.text(limit)
	for _, note := range []string{o.note, o.stdout.cutNote("stdout", limit), o.stderr.cutNote("stderr",
		limit)} {
		if note != "" {
			v.warn("%s", note)
		}
	}
}

// runCommand runs a command handler and reads what it answers.
func (r *run) runCommand(ctx context.Context, h *armed) (finding, *outputs) {
	out := &outputs{stdout: answerCapture{capture{limit: r.opts.OutputCap}},
		stderr: capture{limit: r.opts.OutputCap}}
	found := finding{code: -1}
	if r.depth >= maxDepth {
		found.fault = fmt.Sprintf("hooks that start covey stand %d deep here: one more is not started", r.depth)
		return found, out
	}
	var outEnd, errEnd tail
	if h.Gate {
		out.stdout.also, out.stderr.also = &outEnd, &errEnd
	}
	args, err := commandLine(h, r.lookup)
	dir, nowhere := r.place(h)
	if err = errors.Join(err, nowhere); err != nil {
		found.fault = err.Error()
		return found, out
	}
	marker := markerName + "=" + uuid.NewString()
	process := Process{Args: args, Dir: dir, Env: r.handlerEnv(h, marker), Stdin: r.wire,
		Stdout: &out.stdout, Stderr: &out.stderr, Grace: r.opts.Grace, Marker: marker}
	release := func() {}
	if r.opts.Spawned != nil {
		process.Started = func(pid int) { release = r.opts.Spawned(pid, r.in) }
	}
	exit, err := process.Run(ctx)
	release()
	found.tail = endOf(&outEnd, &errEnd)
	out.note = exitNote(exit)
	switch {
	case exit.Stopped || ctx.Err() != nil:
		found.timedOut = true
	case err != nil:
		found.fault = err.Error() + startHint(err)
	default:
		found.code = exit.Code
		found.stderr = out.stderr.text(r.opts.OutputCap)
		found.answer = readAnswer(r.known.event, out.stdout.text(answerCap), out.stdout.dropped > 0)
		if exit.Signal != "" && h.Gate {
			found.fault = "ended by a signal: " + exit.Signal
		}
	}
	return found, out
}

// startHint is the way out when a program does not start, where one is known.
func startHint(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return " (chmod +x makes it executable)"
	case errors.Is(err, syscall.ENOEXEC):
		return " (it lacks a first line like #!/bin/sh)"
	}
	return ""
}

// exitNote tells people of children that a hook left behind.
func exitNote(exit Exit) string {
	switch {
	case exit.Stopped && len(exit.Left) > 0:
		return fmt.Sprintf("killed with its children %s", pids(exit.Left))
	case exit.Held && len(exit.Left) > 0:
		return fmt.Sprintf("it left a child that holds its output open, and was not waited for: %s",
			pids(exit.Left))
	case exit.Held:
		return "it left a child that holds its output open, and was not waited for"
	case len(exit.Left) > 0:
		return fmt.Sprintf("it left children running: %s", pids(exit.Left))
	case exit.Signal != "" && !exit.Stopped:
		return "ended by a signal: " + exit.Signal
	}
	return ""
}

// pids lists process IDs for people.
func pids(list []int) string {
	const most = 8
	text := strings.Trim(fmt.Sprint(list[:min(len(list), most)]), "[]")
	if len(list) > most {
		text += fmt.Sprintf(" and %d more", len(list)-most)
	}
	return "pid " + text
}

// commandLine makes the arguments of a command handler: exec form if it has
// args, else shell form. $0 in shell form is the shell's path, as recorded.
func commandLine(h *armed, lookup func(name string) string) ([]string, error) {
	if strings.TrimSpace(h.Command) == "" {
		return nil, fmt.Errorf("the hook has no command")
	}
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

// timeout is how long the handler may run.
func (h *armed) timeout(known *traits, budget time.Duration) time.Duration {
	switch {
	case h.Timeout > 0:
		return min(time.Duration(h.Timeout*float64(time.Second)), maxTimeout)
	case known.event == SessionEnd:
		return budget
	}
	return known.defaultTimeout(h.Type)
}
