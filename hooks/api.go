package hooks

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"
)

// Source is one layer of configured hooks: the spec, a settings file or a plugin.
type Source struct {
	Name     string   // for people: a file's path, "spec", or a plugin's name
	Root     string   // a plugin's root folder; empty for everything else
	Settings Settings // what the layer configures
}

// Options tune a Runner. The zero value serves; see each field for what it means then.
type Options struct {
	Env        []string                                 // base environment of hooks; the caller has filtered it
	ProjectDir string                                   // CLAUDE_PROJECT_DIR, and where hooks run if their folder is gone
	SpillDir   string                                   // where texts too long for the model are kept whole; "": they are cut
	OutputCap  int                                      // bytes kept of each output stream; 0: 64 KiB
	Parallel   int                                      // hooks that run at once, over all events; 0: three a core
	Grace      time.Duration                            // from TERM to KILL; 0: 500 ms
	Spawned    func(pid int, in Input) (release func()) // told of each process; release is called when it has ended
	EnvFile    func(in Input) string                    // CLAUDE_ENV_FILE for SessionStart; "": none
	Who        func(in Input) (team, member string)     // COVEY_TEAM and COVEY_MEMBER; nil: what the payload says
	Policies   map[string]Policy                        // what gates may name (Handler.Policy)
	NewID      func() string                            // makes tool-use IDs; nil: random UUIDs
	Now        func() time.Time                         // nil: time.Now
}

// Policy is a gate that is written in Go. It decides like a hook does.
type Policy func(ctx context.Context, in Input) Result

// Runner runs the hooks of all its sources.
type Runner struct{}

// NewRunner makes a Runner.
func NewRunner(sources []Source, opts *Options) (*Runner, error) { return &Runner{}, nil }

// Run fires one event.
func (r *Runner) Run(ctx context.Context, in Input, observe func(Progress)) (Outcome, error) {
	return Outcome{Event: in.Payload.Event(), ToolUseID: uuid.NewString(), Decision: Pass}, ctx.Err()
}

// Process is one run of a program.
type Process struct {
	Args           []string      // Args[0] is looked up on the PATH of Env
	Dir            string        //
	Env            []string      // nil: this process's environment
	Stdin          []byte        // nil: /dev/null
	Stdout, Stderr io.Writer     // written to by goroutines that Run waits for; nil: discarded
	Grace          time.Duration // from TERM to KILL once ctx has ended; 0: 500 ms
	Marker         string        // NAME=value in Env by which children that left the session are found
	Started        func(pid int) // called once, when it runs
}

// Exit says how a Process ended.
type Exit struct {
	Code    int    // -1 if a signal ended it or it never ran
	Signal  string // "killed", "terminated", …; empty if it exited
	Stopped bool   // ctx ended first, and the whole tree was killed
	Held    bool   // a child kept an output open after the program had exited
	Left    []int  // children that outlived it: running on, or, if Stopped, killed
}

// Run runs p until it ends or ctx does.
func (p Process) Run(ctx context.Context) (Exit, error) {
	return Exit{Code: -1}, errors.New("not yet")
}

// Call returns the tool call that in is about, for rules. Its second result is
// false for events that are not about a tool call.
func (in Input) Call(root string) (Call, bool) { return Call{}, false }

// ParseInput reads a hook input of any event.
func ParseInput(event Event, raw []byte, defaults Common) (Input, error) { return Input{}, nil }

// MarshalJSON is the wire form.
func (in Input) MarshalJSON() ([]byte, error) { return nil, nil }

// SettingsFile is what covey reads of a Claude Code settings file.
type SettingsFile struct {
	Hooks           Settings
	Permissions     Permissions
	DisableAllHooks bool
}

// Permissions holds the permission rules of a settings file or a member.
type Permissions struct {
	Allow       []string `json:"allow,omitempty" yaml:"allow,omitempty"`
	Ask         []string `json:"ask,omitempty" yaml:"ask,omitempty"`
	Deny        []string `json:"deny,omitempty" yaml:"deny,omitempty"`
	DefaultMode string   `json:"defaultMode,omitempty" yaml:"defaultMode,omitempty"`
}

// ParseSettings reads a settings file; what is wrong in it is left out and warned of.
func ParseSettings(name string, data []byte) (SettingsFile, []error) { return SettingsFile{}, nil }

// Problem is a mistake in configured hooks, with its place.
type Problem struct {
	Event Event  // as it was written
	Group int    // index in the event's list; -1: the event itself
	Hook  int    // index in the group's hooks; -1: the group itself
	Field string // JSON name of the field; empty: the whole
	Text  string // what is wrong, and what to write instead
}

// Validate finds all mistakes in s, in the order of events, groups and hooks.
func Validate(s Settings) []Problem { return nil }

// Implemented reports whether this version runs handlers of that type.
func Implemented(handlerType string) bool { return handlerType == "command" }

// Known reports whether e is an event that hooks can listen to.
func (e Event) Known() bool { return true }

// Nearest returns the event whose name is most like name, or "" if none is near.
func Nearest(name string) Event { return "" }

// ParseRule reads one permission rule.
func ParseRule(s string) (Rule, error) { return Rule{text: s}, nil }

// Fires reports whether a hook with r as its `if` runs for c.
func (r Rule) Fires(c Call) bool { return true }

// Permits reports whether r, standing in an allow list, allows c.
func (r Rule) Permits(c Call) bool { return false }

// Forbids reports whether r, standing in a deny or ask list, catches c.
func (r Rule) Forbids(c Call) bool { return true }
