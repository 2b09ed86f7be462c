package command

import (
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/teammate/agent"
)

// Placeholders in a command line.
const (
	promptMark  = "{prompt}"
	sessionMark = "{session}"
)

// maxArgument is the longest prompt that is passed as an argument, in bytes. Linux allows
// arguments up to 128 KiB.
const maxArgument = 120 << 10

// markerName is the environment variable that marks the descendants of a program, so that they
// are found even if they have left its session.
const markerName = "COVEY_PROGRAM="

// process returns the process that runs the program for one prompt.
func (a *Agent) process(prompt string, stdout, stderr io.Writer) (proc.Process, error) {
	extra, err := a.opts.Connect()
	if err != nil {
		return proc.Process{}, fmt.Errorf("command: what connects the agent program: %w", err)
	}
	args, asArgument := a.commandLine(prompt, extra.Args)
	if asArgument && len(prompt) > maxArgument {
		return proc.Process{}, &agent.APIError{Type: "invalid_request", Message: fmt.Sprintf(
			"the prompt has %d bytes, and as an argument %d is the most; a command without %s gets it on its stdin",
			len(prompt), maxArgument, promptMark)}
	}
	marker := markerName + rand.Text()
	p := proc.Process{
		Args: args, Dir: a.opts.Dir, Env: slices.Concat(a.opts.Env, extra.Env, []string{marker}), Marker: marker,
		Stdout: stdout, Stderr: stderr, Grace: a.opts.Timeouts.Grace, Reap: true, Box: a.opts.Box,
		Leased: true, // its input has ended, so it would not notice that covey is gone
	}
	if !asArgument {
		p.Stdin = []byte(prompt)
	}
	return p, nil
}

// commandLine returns the command with its placeholders replaced; asArgument reports that the
// prompt is one of them.
func (a *Agent) commandLine(prompt string, extra []string) (args []string, asArgument bool) {
	resume := a.opts.Resume
	if a.session == "" {
		resume = nil
	}
	marked := func(arg string) {
		asArgument = asArgument || strings.Contains(arg, promptMark)
		args = append(args, fill(arg, argument(prompt), a.session))
	}
	args = append(args, a.opts.Command[0])
	for _, arg := range a.opts.Command[1:] {
		marked(arg)
	}
	args = append(args, extra...)
	for _, arg := range resume {
		marked(arg)
	}
	return args, asArgument
}

// fill replaces prompt and session in one argument, in one pass, so that a placeholder in the
// prompt stays. A prompt that begins the argument must not look like an option, because it may
// come from anyone's mail.
func fill(arg, prompt, session string) string {
	if strings.HasPrefix(arg, promptMark) && strings.HasPrefix(prompt, "-") {
		prompt = "\n" + prompt
	}
	return strings.NewReplacer(promptMark, prompt, sessionMark, session).Replace(arg)
}

// argument returns a prompt in the form that an argument can hold: without NUL.
func argument(prompt string) string { return strings.ReplaceAll(prompt, "\x00", "\uFFFD") }
