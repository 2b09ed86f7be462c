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

// bashInput is what a model asks of Bash.
type bashInput struct {
	Command     string `json:"command"`
	Timeout     int64  `json:"timeout,omitempty"`
	Description string `json:"description,omitempty"`
	Background  bool   `json:"run_in_background,omitempty"`
}

// bashOutput is Bash's tool_response. Names and order are those of recorded
// hosts, because PostToolUse hooks read them.
type bashOutput struct {
	Stdout string `json:"stdout"`
	// Stderr ends with what covey has to say, such as that the directory was
	// reset; recorded hosts do the same.
	Stderr string `json:"stderr"`
	// Interrupted and IsImage are always false: an interrupted call has no
	// response, and this Bash shows no images.
	Interrupted bool `json:"interrupted"`
	IsImage     bool `json:"isImage"`
	// NoOutputExpected says that the command prints nothing when it succeeds.
	NoOutputExpected bool   `json:"noOutputExpected"`
	BackgroundTaskID string `json:"backgroundTaskId,omitempty"`
	// OutputPath is the file that holds all of a stdout that was cut.
	OutputPath string `json:"persistedOutputPath,omitempty"`
	OutputSize int64  `json:"persistedOutputSize,omitempty"`
}

// outputChars is how many characters of a command's output a model sees: about
// what it can read at one go without losing sight of its task.
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
		"run_in_background": "Do not wait for it; look at its output with BashOutput, end it with " +
			"KillShell",
	}
	tool := NewTyped(spec, about, adjust, t.bash)
	tool.Shown = Rendering(bashOutput.text)
	return tool
}

// text is what a model sees of a command that did its work.
func (o bashOutput) text() string {
	if text := joined([]string{o.Stdout, o.Stderr}); text != "" {
		return text
	}
	return "(Bash completed with no output)"
}

// bash runs a command, in the background if it is told to.
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
		return agent.Failed("Bash: " + errClosed.Error())
	}
	note, err := t.enter()
	if err == nil {
		err = t.env.makeOutputDir()
	}
	if err != nil {
		return agent.Failed(fmt.Sprintf("Bash: %v", err))
	}
	if in.Background {
		return t.startRun(in, note)
	}
	return t.foreground(ctx, in, note)
}

// enter makes sure that the member's directory is there. The note says so if
// it had to go back to the workspace.
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

// foreground runs a command and waits for it. What went wrong in covey itself
// is told apart from what the command did: only the latter has an exit code.
func (t *Set) foreground(ctx context.Context, in bashInput, note string) agent.ToolResult {
	s, err := t.shell.script(in.Command, true)
	if err != nil {
		return agent.Failed(fmt.Sprintf("Bash: the command could not be prepared: %v", err))
	}
	defer s.remove()
	timed, cancel := context.WithTimeout(ctx, t.env.timeout(in))
	defer cancel()
	r := &finished{
		in:     in,
		stdout: spool{dir: t.env.OutputDir, name: "stdout"},
		stderr: spool{dir: t.env.OutputDir, name: "stderr"},
	}
	p := t.process(s)
	p.Stdout, p.Stderr = &r.stdout, &r.stderr
	release := func() {}
	p.Started = func(pid int) { release = t.env.track(pid) }
	r.exit, err = p.Run(timed)
	release()
	// A context that ended before the start is an interrupt or a timeout like
	// any other; every other error means that there was no shell to run.
	if err != nil && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		return agent.Failed(fmt.Sprintf("Bash: the shell could not be started: %v", err))
	}
	r.interrupted = ctx.Err() != nil && (r.exit.Stopped || err != nil)
	r.timedOut = t.env.timeout(in)
	if t.isClosed() {
		// Close came meanwhile, and may have looked for what this command leaves
		// running before it was there.
		t.endStrays()
	}
	r.notes = append(r.notes, note, t.follow(s.directory()), t.leftBehind(r.exit, p.Marker))
	return r.result()
}

// timeout is how long a command may take.
func (e *Env) timeout(in bashInput) time.Duration {
	if in.Timeout == 0 {
		return e.Timeout
	}
	if in.Timeout >= e.MaxTimeout.Milliseconds() { // a larger number would not fit a Duration
		return e.MaxTimeout
	}
	return time.Duration(in.Timeout) * time.Millisecond
}

// callPrefix begins the environment entry by which a command's processes are
// found. The Tools' id and the number of the command follow.
const callPrefix = "COVEY_CALL="

// process is the shell that runs s. Its marker finds what it starts, wherever
// that went.
func (t *Set) process(s *script) proc.Process {
	marker := fmt.Sprintf("%s%s-%d.", callPrefix, t.id, t.calls.Add(1))
	return proc.Process{
		Args:   s.args(),
		Dir:    t.env.Workdir.Dir(),
		Env:    append(append([]string{}, t.env.Environ...), marker),
		Grace:  t.env.Grace,
		Marker: marker,
	}
}

// follow moves the member to where its shell has gone. Outside the workspace
// relative paths would escape the rules that are written for it, so the member
// goes back to the workspace's root then, and the note tells the model.
func (t *Set) follow(dir string) (note string) {
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
	timedOut       time.Duration // how long it was given
	notes          []string
}

// result is what Bash answers: the output first, errors after it, then notes.
// A command that failed has its exit code above.
func (f *finished) result() agent.ToolResult {
	// Errors are short as a rule, so they go first when room is shared out.
	stderr, _ := f.stderr.text(outputChars / 3)
	stdout, path := f.stdout.text(outputChars - utf8.RuneCountInString(stderr))
	output := bashOutput{
		Stdout: stdout, Stderr: joined(append([]string{stderr}, f.notes...)),
		NoOutputExpected: expectsNoOutput(f.in.Command), OutputPath: path,
	}
	if path != "" {
		output.OutputSize = f.stdout.size
	}
	text := joined([]string{output.Stdout, output.Stderr})
	switch {
	case f.interrupted:
		return agent.Failed(joined([]string{"Interrupted: the command was killed, with all that it had started.",
			text}))
	case f.exit.Stopped:
		return agent.Failed(joined([]string{
			fmt.Sprintf("Exit code %d", exitCode(f.exit)),
			fmt.Sprintf("Command timed out after %v and was killed, with all that it had started. "+
				"Give it more time with timeout, or use run_in_background.", f.timedOut), text,
		}))
	case exitCode(f.exit) != 0:
		return agent.Failed(joined([]string{fmt.Sprintf("Exit code %d", exitCode(f.exit)), text}))
	}
	return Success(output.text(), output)
}

// joined puts the parts that are not empty on lines of their own.
func joined(parts []string) string {
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "\n")
}
