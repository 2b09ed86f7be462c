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

// Options configure an Agent. Command and Dir are required.
type Options struct {
	// Command is the program and its arguments. {prompt} in an argument is replaced by the
	// prompt; if no argument has it, the prompt goes to the program's stdin.
	Command []string
	// ExtraArgs follow Command in every run, before Resume. They are passed unchanged.
	ExtraArgs []string
	// Resume holds arguments that follow if a session's id is known; {session} in them is
	// replaced by that id, {prompt} by the prompt. Empty: the program has no sessions.
	Resume []string
	Env    []string // its complete environment; only a marker is added
	Dir    string   // absolute; where the program runs

	// Enter waits before each run until the program may start. leave is called when the
	// program has reported its session or has ended. An error ends the Run. nil: no wait.
	Enter func(ctx context.Context) (leave func(opened bool), err error)
	// Connect returns further arguments and environment. It is called before each run, so
	// that credentials do not outlive one run. nil: none.
	Connect func() (Extra, error)

	Dialect Dialect // the format of its output; empty: Auto

	// System returns the system prompt: it precedes the first prompt of each session, or
	// each prompt of a program without sessions. nil: none.
	System func() string

	// Session is the id that OnSession got in an earlier run; empty: none.
	Session string
	// OnSession is called with the id of a session as soon as the program prints a new one.
	// Its error ends the Run.
	OnSession func(id string) error
	// Brief returns a summary of the conversation. It begins a prompt to a program that
	// does not know the conversation, because its session was lost or it has none. nil: no
	// summary.
	Brief func() string
	// History is the content of the transcript, for Resume.
	History transcript.History

	// Started is called with the pid of each program that was started. It returns a
	// function to call when that program has ended. Either may be nil.
	Started func(pid int) (release func())
	// OnUsage is called with the usage of each prompt. It may be nil.
	OnUsage func(Spent)
	// Clock is the time of day; nil: time.Now.
	Clock func() time.Time
	// Alarm is what runs are timed with; nil: program.NewAlarm.
	Alarm    func(time.Duration) program.Alarm
	Timeouts Timeouts
	// Restarts is how often in a row a program may be killed before its member fails; 0: 3.
	// A program that a signal has killed is started again within its turn; one that exits
	// with a code fails its turn.
	Restarts int
	// Backoff is the pause before a killed program is started again. It doubles each time,
	// up to 20 times. 0: 500 ms.
	Backoff time.Duration
	// MaxOutput limits the text of one run, in bytes; the rest is replaced by a notice.
	// 0: 1 MiB.
	MaxOutput int
}

// Extra holds further arguments and environment of one run.
type Extra struct {
	Args []string // after ExtraArgs
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

// Spent is the usage of one prompt, as far as the program reports it.
type Spent struct {
	Usage   agent.Usage
	Known   bool    // Usage is known
	CostUSD float64 // since the session began; 0: unknown
}

// check reports what is missing and sets defaults.
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
	t := &o.Timeouts
	// All but Exit are generous, because they end work that someone has paid for.
	program.DefaultTimes(map[*time.Duration]time.Duration{
		&t.Quiet: 20 * time.Second, &t.Silence: 5 * time.Minute, &t.Tool: 30 * time.Minute, &t.Run: 2 * time.Hour,
		&t.Exit: 10 * time.Second, &t.Grace: 2 * time.Second, &o.Backoff: 500 * time.Millisecond,
	})
	return nil
}
