package acp

import (
	"context"
	"errors"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Options make an Agent. Command and Dir are required.
type Options struct {
	Command []string // the program and its arguments
	Env     []string // all of its environment; only COVEY_PROGRAM is added, to find what it leaves behind
	Dir     string   // absolute; where the program runs and its session works

	// Enter waits until the program may start, before each start. leave is called when
	// the session is open, or could not be opened. Its error ends the Run. nil: at once.
	Enter func(ctx context.Context) (leave func(opened bool), err error)

	MCPServers []MCPServer // servers that the session gets, team tools among them
	// Connect gives further servers, asked for anew before each start of the
	// program, so that what one life was entitled to does not outlive it. nil: none.
	Connect  func() ([]MCPServer, error)
	System   func() string // gives the system prompt of a new session; nil: none
	SystemBy SystemMode    // how the program takes it
	// Meta is _meta of session/new and of what enters a session again; nil: none.
	Meta map[string]any
	Mode string // session mode to set, such as "plan"; empty: the program's own

	// Session is the id that OnSession told in an earlier life; empty: none.
	Session string
	// SessionMade is when that session was made; zero: not known. See
	// Quirks.LoadAfterMinute.
	SessionMade time.Time
	// OnSession is told the id of each new session, before it is used. Its error
	// ends the Run.
	OnSession func(id string) error
	// Brief gives, in words, what a session that was lost has come to: the head
	// of the first prompt of the one that takes its place. nil: nothing.
	Brief func() string
	// History is what the transcript holds, for Resume.
	History transcript.History

	// Started is told the pid of each program that was started; what it returns
	// is called when that program has ended. Either may be nil.
	Started func(pid int) (release func())
	// OnUsage is told what each prompt has used. It may be nil.
	OnUsage func(Spent)
	// OnLive is told what the prompt that runs has used so far, whenever the program
	// tells of it; OnUsage follows in the end. It may be nil.
	OnLive func(Spent)
	// Clock is the time of day; nil: time.Now.
	Clock func() time.Time
	// After is what the start of a program is timed with; nil: time.After.
	After func(time.Duration) <-chan time.Time
	// Alarm is what prompts are timed with; nil: program.NewAlarm.
	Alarm    func(time.Duration) program.Alarm
	Timeouts Timeouts
	// Restarts is how often in a row a program that dies is started again before
	// its member is given up; 0: 3; less: not at all.
	Restarts int
	// Backoff is the pause before the first restart; it doubles with each one,
	// up to 20 times as long. 0: 500 ms.
	Backoff time.Duration
	Quirks  Quirks
}

// SystemMode is how a program takes a system prompt.
type SystemMode int

// The ways to pass a system prompt.
const (
	SystemInPrompt SystemMode = iota // before the first prompt of the session: every program
	SystemField                      // field systemPrompt of session/new, appended: codex-acp 2
	SystemMeta                       // _meta.systemPrompt.append of session/new: claude
)

// MCPServer is a server of tools that the program connects to: over HTTP if
// URL is set, else as a child of the program over stdio.
type MCPServer struct {
	Name    string // without "__", which separates server and tool in tool names
	URL     string
	Headers []Pair

	Command string
	Args    []string
	Env     []Pair
}

// Pair is a header or an environment variable.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Timeouts bound waits for a program. Zero fields take the default.
type Timeouts struct {
	// Start is how long a program may take for its first answer, and then until its session
	// is open; 40 s. One that has twice in a row given no answer at all is given up.
	Start time.Duration
	// Quiet is how long nothing may be heard after the start of a program, or after a
	// prompt, until people are told; 20 s. Within a prompt it is three times as long.
	Quiet   time.Duration
	Silence time.Duration // without any message in a prompt, no tool call open; 5 min
	Tool    time.Duration // the same while a tool call is open; 30 min
	Cancel  time.Duration // from session/cancel to TERM; 5 s
	Grace   time.Duration // from TERM to KILL; 2 s
}

// Quirks are what has to be known of a program beforehand, since it does not
// tell. The zero value is a program without quirks.
type Quirks struct {
	Usage UsageSource // where it tells of tokens
	// LoadAfterMinute: a session must not be loaded in the clock minute in
	// which it was made, or its history is damaged. One that replays nothing when
	// it is loaded has lost its history, and counts as lost (gemini).
	LoadAfterMinute bool
	// ReopenAfterCancel: MCP servers are lost with a cancelled call until the
	// session is opened anew (qwen).
	ReopenAfterCancel bool
	// TitleCommand: the title of a shell call that comes without input is the
	// command, then where it runs in square brackets and a description in round
	// ones (gemini).
	TitleCommand bool
}

// Spent is what one prompt has used, as far as the program tells.
type Spent struct {
	Usage   agent.Usage
	Known   bool    // Usage is known
	CostUSD float64 // since the session began; 0: not known
	// ContextUsed and ContextSize are tokens of the model's window; 0: not known.
	ContextUsed, ContextSize int64
}

// check finds what is missing and fills in defaults.
func (o *Options) check() error {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return errors.New("acp: no command given")
	}
	if o.Dir == "" {
		return errors.New("acp: no working directory given")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Alarm == nil {
		o.Alarm = program.NewAlarm
	}
	if o.OnSession == nil {
		o.OnSession = func(string) error { return nil }
	}
	if o.Restarts == 0 {
		o.Restarts = 3
	}
	t := &o.Timeouts
	for _, limit := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.Start, 40 * time.Second}, {&t.Quiet, 20 * time.Second}, {&t.Silence, 5 * time.Minute}, {&t.Tool,
			30 * time.Minute},
		{&t.Cancel, 5 * time.Second}, {&t.Grace, 2 * time.Second}, {&o.Backoff, 500 * time.Millisecond},
	} {
		if *limit.field <= 0 {
			*limit.field = limit.value
		}
	}
	return nil
}
