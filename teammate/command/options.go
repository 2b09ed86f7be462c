package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/teammate/program"
)

// Options configure an Agent. {prompt} in an argument of Command is replaced by the prompt; if no
// argument has it, the prompt goes to the program's stdin. A program without sessions gets System
// and Brief with each prompt.
type Options struct {
	program.Options

	// Resume holds arguments that follow if a session's id is known; {session} in them is
	// replaced by that id, {prompt} by the prompt. Empty: the program has no sessions.
	Resume []string
	// Connect returns further arguments and environment. It is called before each run, so
	// that credentials do not outlive one run. nil: none.
	Connect  func() (Extra, error)
	Dialect  Dialect // the format of its output; empty: Auto
	Timeouts Timeouts
	// MaxOutput limits the text of one run, in bytes; the rest is replaced by a notice.
	// 0: 1 MiB.
	MaxOutput int
}

// Extra holds further arguments and environment of one run.
type Extra struct {
	Args []string // after those of Command, before Resume
	Env  []string // NAME=value; they take precedence over those of Options
}

// Dialect is the format of a program's stdout.
type Dialect string

// The dialects.
const (
	// Auto determines the dialect from the first line that is a JSON object. Without such a
	// line, or if it belongs to no other dialect, it is Text.
	Auto Dialect = "auto"
	// Text is a program whose whole output is its reply.
	Text Dialect = "text"
	// Claude is `claude -p --output-format stream-json --verbose`.
	Claude Dialect = "claude"
	// Codex is `codex exec --json`.
	Codex Dialect = "codex"
)

// Timeouts limit waits for a program. Zero fields mean the default.
type Timeouts struct {
	// Quiet is the silence at the start of a program that prints JSON lines before people
	// are told; 20 s. After its first line it is three times as long.
	Quiet time.Duration
	// Silence is how long a program that prints JSON lines may print nothing outside of
	// tool calls; 5 min. A program that prints text does so at its end, and has until Run.
	Silence time.Duration
	Tool    time.Duration // the same during a tool call; 30 min
	Run     time.Duration // the whole run; 2 h
	Exit    time.Duration // from the line that ends the prompt to the program's own end; 10 s
	Grace   time.Duration // from TERM to KILL; 2 s
}

// check reports what is missing and sets defaults.
func (o *Options) check() error {
	if err := o.Complete(); err != nil {
		return fmt.Errorf("command: %w", err)
	}
	if strings.Contains(o.Command[0], promptMark) {
		return errors.New("command: the program itself cannot be " + promptMark)
	}
	if o.Dialect == "" {
		o.Dialect = Auto
	}
	if !slices.Contains([]Dialect{Auto, Text, Claude, Codex}, o.Dialect) {
		return fmt.Errorf("command: unknown dialect %q; there are auto, text, claude and codex", o.Dialect)
	}
	if o.Connect == nil {
		o.Connect = func() (Extra, error) { return Extra{}, nil }
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = 1 << 20
	}
	t := &o.Timeouts
	// All but Exit are generous, because they end work that someone has paid for.
	program.DefaultTimes(map[*time.Duration]time.Duration{
		&t.Quiet: 20 * time.Second, &t.Silence: 5 * time.Minute, &t.Tool: 30 * time.Minute, &t.Run: 2 * time.Hour,
		&t.Exit: 10 * time.Second, &t.Grace: 2 * time.Second,
	})
	return nil
}
