package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Options make an Agent. Command and Dir are required.
type Options struct {
	// Command is the program and its arguments. Where an argument holds {prompt},
	// the prompt stands there; if none does, it goes to the program's stdin.
	Command []string
	// ExtraArgs follow Command in every run, before Resume. They are passed as
	// they are.
	ExtraArgs []string
	// Resume are arguments that follow when a session's id is known; {session} in
	// them is that id, {prompt} the prompt. Empty: the program has no sessions,
	// and each run begins anew.
	Resume []string
	Env    []string // all of its environment; nothing is added but a marker
	Dir    string   // absolute; where the program runs

	// Enter waits until the program may start, before each run. leave is called when it
	// has told its session, or has ended. Its error ends the Run. nil: at once.
	Enter func(ctx context.Context) (leave func(opened bool), err error)
	// Connect gives further arguments and environment, asked for anew before each
	// run, so that what one run was entitled to does not outlive it. nil: none.
	Connect func() (Extra, error)

	Dialect Dialect // what it prints; empty: Auto

	// System gives what a conversation begins with: it stands before the first
	// prompt of each session, and before each prompt of a program without
	// sessions. nil: nothing.
	System func() string

	// Session is the id that OnSession told in an earlier life; empty: none.
	Session string
	// OnSession is told the id of a session as soon as the program prints a new
	// one. Its error ends the Run.
	OnSession func(id string) error
	// Brief gives, in words, what the conversation has come to. It stands at the
	// head of a prompt to a program that knows nothing of it: its session was
	// lost, or it has none. nil: nothing.
	Brief func() string
	// History is what the transcript holds, for Resume.
	History transcript.History

	// Started is told the pid of each program that was started; what it returns
	// is called when that program has ended. Either may be nil.
	Started func(pid int) (release func())
	// OnUsage is told what each prompt has used. It may be nil.
	OnUsage func(Spent)
	// Clock is the time of day; nil: time.Now.
	Clock func() time.Time
	// Alarm is what runs are timed with; nil: program.NewAlarm.
	Alarm    func(time.Duration) program.Alarm
	Timeouts Timeouts
	// Restarts is how often in a row a program may be killed before its member is given
	// up; 0: 3. A program that a signal has killed is started again within its turn, one
	// that ends with an exit code costs its turn.
	Restarts int
	// Backoff is the pause before a program that was killed is started again; it
	// doubles each time, up to 20 times as long. 0: 500 ms.
	Backoff time.Duration
	// MaxOutput bounds the text that one run may say, in bytes; the rest is left
	// out, with a notice. 0: 1 MiB.
	MaxOutput int
}

// Extra is what one run of the program gets besides.
type Extra struct {
	Args []string // behind ExtraArgs
	Env  []string // NAME=value; they win over those of Options
}

// Dialect is what a program prints on its stdout.
type Dialect string

// The dialects.
const (
	// Auto finds out by the first line that is a JSON object; until one comes,
	// and if it is no line of the others, it is Text.
	Auto Dialect = "auto"
	// Text is a program whose whole output is its reply.
	Text Dialect = "text"
	// Claude is `claude -p --output-format stream-json --verbose`.
	Claude Dialect = "claude"
	// Codex is `codex exec --json`.
	Codex Dialect = "codex"
)

// Timeouts bound waits for a program. Zero fields take the default.
type Timeouts struct {
	// Quiet is how long a program that prints JSON lines may print nothing until people
	// are told, from its start; 20 s, and three times as long from its first line on.
	Quiet time.Duration
	// Silence is how long a program that prints JSON lines may print nothing while
	// no tool call is open; 5 min. A program that prints text says it all at its
	// end, and has until Run.
	Silence time.Duration
	Tool    time.Duration // the same while a tool call is open; 30 min
	Run     time.Duration // the whole run; 2 h
	Exit    time.Duration // from the line that ends the prompt to the program's own end; 10 s
	Grace   time.Duration // from TERM to KILL; 2 s
}

// Spent is what one prompt has used, as far as the program tells.
type Spent struct {
	Usage   agent.Usage
	Known   bool    // Usage is known
	CostUSD float64 // since the session began; 0: not known
}

// check finds what is missing and fills in defaults.
func (o *Options) check() error {
	switch {
	case len(o.Command) == 0 || o.Command[0] == "":
		return errors.New("command: no command given")
	case strings.Contains(o.Command[0], promptMark):
		return errors.New("command: the program itself cannot be " + promptMark)
	case o.Dir == "":
		return errors.New("command: no working directory given")
	}
	if o.Dialect == "" {
		o.Dialect = Auto
	}
	if !slices.Contains([]Dialect{Auto, Text, Claude, Codex}, o.Dialect) {
		return fmt.Errorf("command: unknown dialect %q; there are auto, text, claude and codex", o.Dialect)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Alarm == nil {
		o.Alarm = program.NewAlarm
	}
	if o.OnSession == nil {
		o.OnSession = func(string) error { return nil }
	}
	if o.Restarts <= 0 {
		o.Restarts = 3
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = 1 << 20
	}
	o.defaultTimes()
	return nil
}

// defaultTimes are generous, since each of them ends work that somebody has paid
// for; the exit of a program that has said all needs no such patience.
func (o *Options) defaultTimes() {
	t := &o.Timeouts
	for _, limit := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.Quiet, 20 * time.Second}, {&t.Silence, 5 * time.Minute}, {&t.Tool, 30 * time.Minute}, {&t.Run,
			2 * time.Hour},
		{&t.Exit, 10 * time.Second}, {&t.Grace, 2 * time.Second}, {&o.Backoff, 500 * time.Millisecond},
	} {
		if *limit.field <= 0 {
			*limit.field = limit.value
		}
	}
}
