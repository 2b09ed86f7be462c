package acp

import (
	"fmt"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/teammate/program"
)

// Options configure an Agent.
type Options struct {
	program.Options

	MCPServers []MCPServer // servers that the session gets, team tools among them
	// Connect returns further servers. It is called before each start of the program, so
	// that credentials do not outlive one run. nil: none.
	Connect  func() ([]MCPServer, error)
	SystemBy SystemMode // how the program takes the system prompt
	// Meta is _meta of session/new and of the requests that resume a session; nil: none.
	Meta map[string]any
	Mode string // session mode to set, such as "plan"; empty: the program's default
	// SessionMade is when Session was made; zero: unknown. See Quirks.LoadAfterMinute.
	SessionMade time.Time
	// OnLive is called with the usage of the running prompt so far, whenever the program
	// reports it; OnUsage follows at the end. It may be nil.
	OnLive func(program.Spent)
	// After times the start of a program; nil: time.After.
	After func(time.Duration) <-chan time.Time
	// CPU returns how long a program and its descendants have computed; nil: proc.CPUOf.
	CPU      func(pid int) time.Duration
	Timeouts Timeouts
	// Known means that the program is known to speak the protocol, so that a start without an
	// answer is only late.
	Known  bool
	Quirks Quirks
}

// SystemMode is how a program takes a system prompt.
type SystemMode int

// The ways to pass a system prompt.
const (
	SystemInPrompt SystemMode = iota // before the first prompt of the session: any program
	SystemField                      // field systemPrompt of session/new, appended: codex-acp 2
	SystemMeta                       // _meta.systemPrompt.append of session/new: claude
)

// MCPServer is a tool server that the program connects to: over HTTP if URL is set,
// otherwise over stdio as a child of the program.
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

// Timeouts limit waits for a program. Zero fields mean the default.
type Timeouts struct {
	// Start limits the time to a program's first answer, and then to its open session; 40 s.
	// Time in which the program computes does not count. The limit doubles with each start in
	// a row that was late. All of these together take at most 15 times Start.
	Start time.Duration
	// Quiet is the silence after the start of a program or after a prompt before people
	// are told; 20 s. Once the model has begun it is three times as long.
	Quiet   time.Duration
	Silence time.Duration // without any message in a prompt, outside of tool calls; 5 min
	Tool    time.Duration // the same during a tool call; 30 min
	Cancel  time.Duration // from session/cancel to TERM; 5 s
	Grace   time.Duration // from TERM to KILL; 2 s
}

// Quirks describe what a program does not tell of itself. The zero value is a program
// without quirks.
type Quirks struct {
	Usage UsageSource // where it reports tokens
	// LoadAfterMinute: a session must not be loaded in the clock minute in which it was
	// made, because its history would be damaged. A session that replays nothing when it
	// is loaded has lost its history, and counts as lost (gemini).
	LoadAfterMinute bool
	// ReopenAfterCancel: a cancelled call loses the MCP servers until the session is
	// opened again (qwen).
	ReopenAfterCancel bool
	// TitleCommand: the title of a shell call without input is the command, followed by
	// its directory in square brackets and a description in parentheses (gemini).
	TitleCommand bool
}

// process returns how the program is started.
func (o *Options) process() program.ProcessOptions {
	return program.ProcessOptions{
		Command: o.Command, Env: o.Env, Dir: o.Dir, Grace: o.Timeouts.Grace, Box: o.Box, Started: o.Started,
	}
}

// check reports what is missing and sets defaults.
func (o *Options) check() error {
	if err := o.Complete(); err != nil {
		return fmt.Errorf("acp: %w", err)
	}
	if o.Connect == nil {
		o.Connect = func() ([]MCPServer, error) { return nil, nil }
	}
	if o.OnLive == nil {
		o.OnLive = func(program.Spent) {}
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.CPU == nil {
		o.CPU = proc.CPUOf
	}
	t := &o.Timeouts
	program.DefaultTimes(map[*time.Duration]time.Duration{
		&t.Start: 40 * time.Second, &t.Quiet: 20 * time.Second, &t.Silence: 5 * time.Minute, &t.Tool: 30 * time.Minute,
		&t.Cancel: 5 * time.Second, &t.Grace: 2 * time.Second,
	})
	return nil
}
