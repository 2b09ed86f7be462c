package notices

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/process"
)

// How long a target may take for one notice.
const (
	desktopWithin = 10 * time.Second
	commandWithin = time.Minute
	postWithin    = 15 * time.Second
)

// maxOutput bounds what is kept of a command's output, in bytes.
const maxOutput = 2000

// markerName is the variable that identifies the processes of one notice.
const markerName = "COVEY_NOTICE"

// notifySend is the program that shows notices where the desktop is that of freedesktop.org.
const notifySend = "notify-send"

// finalError is a failure that trying again does not help.
type finalError struct{ err error }

// Error returns the text for people.
func (f *finalError) Error() string { return f.err.Error() }

// Unwrap returns the error itself.
func (f *finalError) Unwrap() error { return f.err }

// final makes a finalError.
func final(format string, args ...any) error { return &finalError{fmt.Errorf(format, args...)} }

// patience returns how long a notice is tried again before it is given up. A desktop that does
// not show a notice now shows it to nobody later.
func patience(rule configs.Notify) time.Duration {
	switch {
	case rule.Webhook != "":
		return 6 * time.Hour
	case len(rule.Command) > 0:
		return 10 * time.Minute
	}
	return 0
}

// deliver hands a notice to the target of a rule.
func (n *Notices) deliver(ctx context.Context, rule configs.Notify, notice Notice) error {
	switch {
	case rule.Webhook != "":
		return n.post(ctx, rule, notice)
	case len(rule.Command) > 0:
		return n.command(ctx, rule.Command, commandWithin, texts.Encode(notice))
	case n.deps.Terminal != nil:
		n.deps.Terminal(title(notice), notice.Text)
		return nil
	}
	// Servers of notices read markup, which agents must not be able to write.
	text := html.EscapeString(notice.Text)
	return n.command(ctx, []string{notifySend, "--app-name=covey", "--", title(notice), text}, desktopWithin, nil)
}

// title returns the title of a notice on a desktop.
func title(n Notice) string {
	text := "covey " + n.Team + ": " + strings.ReplaceAll(string(n.Kind), "_", " ")
	if n.Member != "" {
		text += " of " + n.Member
	}
	return oneLine(text)
}

// command runs a program with input on stdin, as gates are run: in a session of its own, with
// the environment of the team's other programs, and with no right to act on the team.
func (n *Notices) command(ctx context.Context, args []string, within time.Duration, input []byte) error {
	timed, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	out := &output{}
	marker := markerName + "=" + uuid.NewString()
	exit, err := proc.Process{
		Args: args, Dir: n.deps.Team().Workspace, Env: append(slices.Clip(n.deps.Environ), marker),
		Stdin: input, Stdout: out, Stderr: out, Reap: true, Marker: marker,
		Started: func(pid int) func() { return n.deps.Processes.Register(pid, process.Owner{Kind: process.Hook}) },
	}.Run(timed)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case timed.Err() != nil:
		return fmt.Errorf("it ran longer than %v", within)
	case errors.Is(err, proc.ErrStart):
		return final("%w", err)
	case err != nil:
		return err
	case exit.Code != 0:
		return fmt.Errorf("exit code %d: %s", exit.Code, oneLine(string(out.data)))
	}
	return nil
}

// output keeps the beginning of what is written to it.
type output struct{ data []byte }

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	o.data = append(o.data, p[:min(len(p), maxOutput-len(o.data))]...)
	return len(p), nil
}

// Check returns why the notices of a rule cannot be delivered, or nil if nothing speaks against
// it. It sends nothing, and does not look for a terminal.
func Check(rule configs.Notify, workspace string) error {
	switch {
	case rule.Webhook != "":
		_, err := secretOf(rule.SecretFile)
		return err
	case len(rule.Command) > 0:
		name := rule.Command[0]
		if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
			name = filepath.Join(workspace, name)
		}
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("the command %s cannot be run: %s", rule.Command[0], texts.Cause(err))
		}
		return nil
	}
	if _, err := exec.LookPath(notifySend); err != nil {
		return errors.New("the team has no terminal and this machine no " + notifySend +
			"; install it, or keep `covey up` in a terminal")
	}
	return nil
}

// minSecret is the least length of a secret, in bytes.
const minSecret = 16

// secretOf reads the secret of a webhook. Its errors do not quote it.
func secretOf(path string) ([]byte, error) {
	data, err := texts.ReadFile(path, 4<<10)
	if err != nil {
		return nil, fmt.Errorf("the secret file %s cannot be read: %w", path, err)
	}
	if data = bytes.TrimSpace(data); len(data) < minSecret {
		return nil, fmt.Errorf("the secret in %s is too short; write at least %d characters, "+
			"such as the output of `openssl rand -hex 32`", path, minSecret)
	}
	return data, nil
}
