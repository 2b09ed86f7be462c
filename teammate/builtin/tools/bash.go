package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/teammate/agent"
)

// bashInput is the input of Bash.
type bashInput struct {
	Command     string `json:"command"`
	Timeout     int64  `json:"timeout,omitempty"`
	Description string `json:"description,omitempty"`
	Background  bool   `json:"run_in_background,omitempty"`
}

// bashOutput is Bash's tool_response. Names and order follow recorded hosts, because
// PostToolUse hooks read them.
type bashOutput struct {
	Stdout string `json:"stdout"`
	// Stderr ends with covey's own notes, for example that the directory was reset;
	// recorded hosts do the same.
	Stderr string `json:"stderr"`
	// Interrupted and IsImage are always false: an interrupted call has no
	// response, and this Bash shows no images.
	Interrupted bool `json:"interrupted"`
	IsImage     bool `json:"isImage"`
	// NoOutputExpected means that the command prints nothing when it succeeds.
	NoOutputExpected bool   `json:"noOutputExpected"`
	BackgroundTaskID string `json:"backgroundTaskId,omitempty"`
	// OutputPath is the file with the whole of a truncated stdout.
	OutputPath string `json:"persistedOutputPath,omitempty"`
	OutputSize int64  `json:"persistedOutputSize,omitempty"`
}

// outputChars is how many characters of a command's output a model sees. More would
// distract it from its task.
const outputChars = 30_000

func (t *Set) bashTool() agent.Tool {
	spec := agent.Spec{
		Name: "Bash",
		Description: "Runs a command line in bash, without a terminal and without input. The directory " +
			"it ends in is where the next one begins, as long as it is inside the workspace; variables " +
			"and functions do not last. Of a long output the beginning and the end are shown, and the " +
			"file that holds all of it. What it starts is killed with it when it takes too long. For " +
			"files, prefer Read, Edit, Write, Glob and Grep.",
	}
	adjust := func(s *jsonschema.Schema) {
		s.Properties["timeout"].Minimum = jsonschema.Ptr(0.0)
		s.Properties["timeout"].Maximum = jsonschema.Ptr(float64(t.env.MaxTimeout.Milliseconds()))
	}
	about := map[string]string{
		"command": "The command line, for bash",
		"timeout": fmt.Sprintf("How long it may take, in milliseconds; %d unless given, %d at most",
			t.env.Timeout.Milliseconds(), t.env.MaxTimeout.Milliseconds()),
		"description": "What it does, in a few words, for people who watch",
		"run_in_background": "Do not wait for it: you are told when it ends. Until then you may do other work, or " +
			"end your turn. Look at its output with BashOutput, end it with KillShell",
	}
	tool := NewTyped(spec, about, adjust, t.bash)
	tool.Shown = Rendering(bashOutput.text)
	return tool
}

// text returns what a model sees of a successful command.
func (o bashOutput) text() string {
	if text := joinLines([]string{o.Stdout, o.Stderr}); text != "" {
		return text
	}
	return "(Bash completed with no output)"
}

// bash runs a command, in the background if the input says so.
func (t *Set) bash(ctx context.Context, in bashInput) agent.ToolResult {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return agent.Failed("Bash: command is empty.")
	case strings.ContainsRune(in.Command, 0):
		return agent.Failed("Bash: the command holds a zero byte, which no shell takes.")
	case in.Timeout < 0:
		return agent.Failed("Bash: timeout is a number of milliseconds; leave it out for the default.")
	}
	if t.isClosed() {
		return agent.Failed("Bash: %v", errClosed)
	}
	note, err := t.enter()
	if err == nil {
		err = t.env.makeOutputDir()
	}
	if err != nil {
		return agent.Failed("Bash: %v", err)
	}
	if in.Background {
		return t.startRun(in, note)
	}
	return t.foreground(ctx, in, note)
}

// enter checks that the member's directory exists. If it does not, enter returns to
// the workspace, and the note says so.
func (t *Set) enter() (note string, err error) {
	dir, root := t.env.Workdir.Dir(), t.env.Workdir.Root()
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return "", nil
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return "", fmt.Errorf("the workspace %s is not there any more", root)
	}
	t.env.Workdir.Move(root)
	return fmt.Sprintf("%s is not there any more; the command ran in %s", dir, root), nil
}

// foreground runs a command and waits for it. Only a command that ran has an exit
// code; a failure of covey itself has none.
func (t *Set) foreground(ctx context.Context, in bashInput, note string) agent.ToolResult {
	s, err := t.shell.script(in.Command, true)
	if err != nil {
		return agent.Failed("Bash: the command could not be prepared: %v", err)
	}
	defer s.remove()
	timed, cancel := context.WithTimeout(ctx, t.env.timeout(in))
	defer cancel()
	r := &finished{
		in:     in,
		denied: t.env.Denied, dir: t.env.Workdir.Dir(), most: t.env.Box.Policy().MaxProcesses,
		stdout: spool{dir: t.env.OutputDir, name: "stdout"},
		stderr: spool{dir: t.env.OutputDir, name: "stderr"},
	}
	p := t.process(s)
	p.Stdout, p.Stderr = &r.stdout, &r.stderr
	p.Started = t.env.Started
	r.exit, err = p.Run(timed)
	// A context that ended before the start is an interrupt or a timeout like any
	// other; every other error means that the shell did not start.
	if err != nil && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		return agent.Failed("Bash: the shell could not be started: %v", err)
	}
	r.interrupted = ctx.Err() != nil && (r.exit.Stopped || err != nil)
	r.cut = errors.Is(context.Cause(ctx), agent.ErrCut)
	r.timedOut = t.env.timeout(in)
	if t.isClosed() {
		// Close ran meanwhile, and may have looked for this command's processes
		// before they existed.
		t.endStrays()
	}
	r.notes = append(r.notes, note, t.followShell(s.directory()), t.recordStrays(r.exit, p.Marker))
	return r.result()
}

// timeout returns how long a command may take.
func (e *Env) timeout(in bashInput) time.Duration {
	if in.Timeout == 0 {
		return e.Timeout
	}
	if in.Timeout >= e.MaxTimeout.Milliseconds() { // compared first, because a Duration may overflow
		return e.MaxTimeout
	}
	return time.Duration(in.Timeout) * time.Millisecond
}

// callPrefix begins the environment variable that marks a command's processes. The id
// of the Set and the number of the command follow.
const callPrefix = "COVEY_CALL="

// process returns the shell process for s. Its marker finds everything that it
// starts.
func (t *Set) process(s *script) proc.Process {
	marker := fmt.Sprintf("%s%s-%d.", callPrefix, t.id, t.calls.Add(1))
	return proc.Process{
		Args:   s.args(),
		Dir:    t.env.Workdir.Dir(),
		Env:    append(append([]string{}, t.env.Environ...), marker),
		Grace:  t.env.Grace,
		Marker: marker,
		Box:    t.env.Box,
	}
}

// followShell moves the member to its shell's directory. Outside the workspace relative
// paths would escape the rules written for it, so followShell then moves the member back
// to the workspace's root, and the note tells the model.
func (t *Set) followShell(dir string) (note string) {
	if dir == "" {
		return ""
	}
	root := t.env.Workdir.Root()
	if rel, ok := below(resolve(root), dir); ok {
		dir = root
		if rel != "." {
			dir = root + string(os.PathSeparator) + rel
		}
		t.env.Workdir.Move(dir)
		return ""
	}
	t.env.Workdir.Move(root)
	return "Shell cwd was reset to " + root
}

// finished is a foreground command that has ended.
type finished struct {
	in             bashInput
	stdout, stderr spool
	exit           proc.Exit
	interrupted    bool
	cut            bool          // for a text that comes next
	timedOut       time.Duration // the timeout, if it expired
	notes          []string
	denied         func(output, dir string) string // Env.Denied
	most           int                             // how many processes it may have
	dir            string                          // where the command ran
}

// result returns Bash's result: the output, then errors, then notes. A failed command
// has its exit code at the top.
func (f *finished) result() agent.ToolResult {
	// Errors are usually short, so they get their share of the limit first.
	stderr, _ := f.stderr.text(outputChars / 3)
	stdout, path := f.stdout.text(outputChars - utf8.RuneCountInString(stderr))
	if f.denied != nil && exitCode(f.exit) != 0 {
		f.notes = append(f.notes, f.denied(joinLines([]string{stdout, stderr}), f.dir))
	}
	if f.exit.TooMany {
		f.notes = append(f.notes, "The command "+proc.TooManyText(f.most))
	}
	output := bashOutput{
		Stdout: stdout, Stderr: joinLines(append([]string{stderr}, f.notes...)),
		NoOutputExpected: expectsNoOutput(f.in.Command), OutputPath: path,
	}
	if path != "" {
		output.OutputSize = f.stdout.size
	}
	text := joinLines([]string{output.Stdout, output.Stderr})
	switch {
	case f.interrupted && f.cut:
		return agent.Failed("%s", joinLines([]string{agent.CutShort + " The command was killed, with all that it had started.", text}))
	case f.interrupted:
		return agent.Failed("%s", joinLines([]string{"Interrupted: the command was killed, with all that it had started.",
			text}))
	case f.exit.Stopped:
		return agent.Failed("%s", joinLines([]string{
			fmt.Sprintf("Exit code %d", exitCode(f.exit)),
			fmt.Sprintf("Command timed out after %v and was killed, with all that it had started. "+
				"Give it more time with timeout, or use run_in_background.", f.timedOut), text,
		}))
	case exitCode(f.exit) != 0:
		return agent.Failed("%s", joinLines([]string{fmt.Sprintf("Exit code %d", exitCode(f.exit)), text}))
	}
	return Success(output.text(), output)
}

// joinLines joins the non-empty parts by line feeds.
func joinLines(parts []string) string {
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "\n")
}
