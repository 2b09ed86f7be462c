// Package runner runs hooks: it chooses those that match an event, runs them concurrently,
// decides what their ends mean and returns one outcome. It makes no promise of compatibility
// to programs outside covey.
//
// # How an event is handled
//
// A Runner is made once from all sources (the spec, settings files, plugins). For each
// event, Run chooses the handlers whose matcher and `if` match, keeps one of equal ones,
// and starts them concurrently with the Input as JSON on stdin. Each result is judged by
// itself and by the rules of its event (Judge), and the verdicts are merged in the order in
// which they arrive (Merge). What reads, judges and merges answers is pure.
// Processes, files and requests stay in this package and those below it.
package runner

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/web"
)

// Spawn describes a process of a hook that has just been started.
type Spawn struct {
	Input  hooks.Input   // the event
	Member string        // whose session it is; empty: nobody's
	Hook   hooks.Handler // the hook that the process runs
	Depth  int           // how many hooks of this program enclose it, its own included (see Inside)
}

// Session is what a Runner has to know of the session of an event.
type Session struct {
	Team, Member string                  // COVEY_TEAM and COVEY_MEMBER; empty: not set
	Root         string                  // where gates run and the path rules of an `if` begin; empty: ProjectDir
	EnvFile      string                  // CLAUDE_ENV_FILE of an event that has one; empty: none
	Loaded       func(skill string) bool // whether it has loaded a skill; nil: not known
	Env          func() []string         // further variables; nil: none
}

// Options configure a Runner. The zero value of each field is usable, as described there.
type Options struct {
	// Env is the environment that hooks inherit. The caller removes what hooks must not
	// see; OTEL_* is always removed. nil means this process's own.
	Env        []string
	ProjectDir string // CLAUDE_PROJECT_DIR, and where hooks run if their folder is gone
	SpillDir   string // keeps texts that are too long for the model; if empty, they are cut with a warning
	OutputCap  int    // bytes kept of each output in a Result; 0 means 64 KiB
	// Parallel is how many processes run at once, over all events, and how many more in
	// the background; 0 means three for each core.
	Parallel int
	Grace    time.Duration // from TERM to KILL when a hook's time is up; 0 means 500 ms
	// MaxProcesses is how many processes one hook may have, its children included; if
	// there are more, all are killed (on Linux). 0 means 1024, or half of what this
	// process's control group and user allow if that is less.
	MaxProcesses int
	// OnTooManyProcesses, if not nil, is called when processes that a hook has left behind exceed
	// MaxProcesses; for a running hook its Result says so. It may be called from any
	// goroutine, and after Run has returned.
	OnTooManyProcesses func(in hooks.Input, command, warning string)
	// Spawned, if not nil, is called for each process as soon as it runs; release is
	// called when the process has ended.
	Spawned func(pid int, s Spawn) (release func())
	// GateEnv, if not nil, returns further variables for gates that are commands. On an
	// error the gate does not run.
	GateEnv func(in hooks.Input) ([]string, error)
	// Box, if not nil, returns the box in which a command runs in a folder, nil for none, and
	// variables for it. On an error the command does not run.
	Box func(in hooks.Input, hook hooks.Handler, dir string) (*sandbox.Box, []string, error)
	// GateSlot, if not nil, is called before a gate that is a command runs, and waits until it may.
	// release is called when the gate has ended. The wait counts against no time limit, and such gates
	// do not count for Parallel.
	GateSlot func(ctx context.Context, in hooks.Input) (release func(), err error)
	// Session describes the session of an event; nil: the payload says which team and member it
	// belongs to, and nothing else is known.
	Session   func(in hooks.Input) Session
	Policies  func(name string) Policy // finds Handler.Policy; nil, or returning nil: there is none
	Callbacks *hooks.Registry          // hooks that are Go functions; nil: none. It may change at any time
	Models    Model                    // answers prompt and agent hooks; nil: they cannot judge
	Tools     Tools                    // makes the calls of mcp_tool hooks; nil: no server is connected
	// Gates, if not nil, is called before each gate that is a command and says how to run
	// it. It may be called from any goroutine.
	Gates func(ctx context.Context, in hooks.Input, gate hooks.Handler) GateRun
	// Locate, if not nil, is called before each command hook, gates included, and returns
	// what to run.
	Locate Locate
	// Interactive means that sessions stay open when their work is done. A Stop hook that
	// wakes an agent from the background is a notification then; in a headless run its
	// text is the feedback of the turn end.
	Interactive bool
	// FailClosed makes a configured hook that gives no verdict refuse, also at turn ends,
	// if its event can be refused and the hook runs in the foreground.
	FailClosed bool
	Now        func() time.Time // for durations; nil: time.Now
	NewID      func() string    // makes unique tool-use IDs; nil: random UUIDs
}

// Runner runs hooks: those that its sources configure, and the callbacks of its Registry,
// for any number of events at once. It does not change after New, except for the memory of
// `once`.
type Runner struct {
	opts       Options
	armed      map[hooks.Event][]*armed
	flaws      map[hooks.Event][]string
	limits     settings.Limits
	world      web.World     // shared by http hooks
	budget     time.Duration // for all hooks of a SessionEnd
	env        []string
	outerDepth int // how many hooks this process runs inside of
	slots      chan struct{}
	once       *onceSet
	background *backgroundSet
	// personal means that some layer is for one member only.
	personal bool
}

// New returns a Runner for sources, which are in merge order: of two equal hooks the one of
// the later source runs. A mistake in a single hook is not an error: each Outcome of its
// event carries a warning (Validate finds it earlier). The error names an invalid option.
// opts may be nil.
func New(sources []settings.Source, opts *Options) (*Runner, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	r := newRunner(o)
	r.load(sources)
	return r, nil
}

// newRunner returns a Runner without hooks.
func newRunner(opts Options) *Runner {
	r := &Runner{opts: opts, armed: map[hooks.Event][]*armed{}, flaws: map[hooks.Event][]string{},
		slots: make(chan struct{}, opts.Parallel), once: &onceSet{ran: map[string]bool{}},
		background: newBackgroundSet(opts.Parallel)}
	r.outerDepth = hookDepth(r.opts.Env)
	r.env = r.baseEnv()
	return r
}

// load prepares the hooks of all sources. Managed ones come last.
func (r *Runner) load(sources []settings.Source) {
	r.budget = budgetOf(sources, r.opts.Env)
	r.limits = settings.LimitsOf(sources)
	for _, managed := range []bool{false, true} {
		for i := range sources {
			if sources[i].Managed == managed {
				r.arm(&sources[i])
				r.personal = r.personal || sources[i].Member != ""
			}
		}
	}
}

// complete checks the options and fills in defaults.
//
// New and Inspect call it on a copy of the caller's Options.
func (o *Options) complete() error {
	if o.OutputCap < 0 || o.Parallel < 0 || o.Grace < 0 || o.MaxProcesses < 0 {
		return fmt.Errorf("hook options: OutputCap, Parallel, Grace and MaxProcesses must not be negative")
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.OutputCap == 0 {
		o.OutputCap = defaultOutputCap
	}
	if o.Parallel == 0 {
		o.Parallel = 3 * runtime.GOMAXPROCS(0)
	}
	if o.MaxProcesses == 0 {
		o.MaxProcesses = proc.DefaultLimit()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return nil
}

// Run fires one event: it runs all hooks that match and returns their joint decision when
// the last has ended. The tool-use ID of the outcome is that of the event's tool call, or
// else a new one.
//
// observe, which may be nil, is called at each hook's start and end, one call at a time.
// All calls have returned when Run returns, except those about hooks in the background
// (Progress.Background), which return before Drain does. observe must not call Run or
// Drain.
//
// Run fails only if ctx ends, with ctx's error and the outcome so far; all hooks have been
// ended by then, too. in.Payload is required.
func (r *Runner) Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error) {
	event := in.Payload.Event()
	id := r.toolUseID(in)
	if event == hooks.Stop { // a turn end begins
		r.background.setRefused(in.SessionID, false)
	}
	listening := r.listening(in)
	if len(listening) == 0 {
		return hooks.Outcome{Event: event, ToolUseID: id, Decision: hooks.Pass, Warnings: r.flaws[event]}, ctx.Err()
	}
	known := hooks.InfoOf(event)
	// From here on the event has its hooks: later changes of the Registry do not concern
	// it.
	chosen, warnings := r.choose(ctx, listening, in)
	run := &run{Runner: r, known: known, in: in, id: id, observe: observe, depth: depthOf(ctx)}
	if len(chosen) > 0 {
		run.runAll(ctx, chosen)
	}
	// After all verdicts are known, because a refusal makes the questions void, and before
	// they are merged, because an answer may be known at once.
	run.askAwaited(ctx)
	out := Merge(known, in.HookName(), run.verdicts)
	if known.EndsTurn() && event != hooks.SubagentStop && out.Continues() {
		r.background.setRefused(in.SessionID, true)
	}
	out.ToolUseID = id
	out.Matched, out.Background = len(chosen), run.detached
	out.Warnings = slices.Concat(r.flaws[event], warnings)
	return out, ctx.Err()
}

// listening returns the hooks of an event: those that are configured, then the current
// callbacks, then the function hooks of its conversation.
func (r *Runner) listening(in hooks.Input) []*armed {
	event := in.Payload.Event()
	callbacks, functions := r.opts.Callbacks.Of(event), r.opts.Callbacks.FunctionsFor(in)
	if len(callbacks)+len(functions) == 0 {
		return r.armed[event]
	}
	list := slices.Clip(r.armed[event])
	for _, c := range slices.Concat(callbacks, functions) {
		list = append(list, &armed{Handler: c.Handler, source: &settings.Source{Name: c.Source}, matcher: c.Matcher,
			rule: c.Rule, label: c.Label, key: c.Key, callback: c})
	}
	return list
}

// toolUseID returns the call's own ID for a tool event, else a new one.
func (r *Runner) toolUseID(in hooks.Input) string {
	if id := in.ToolUseID(); id != "" {
		return id
	}
	return r.opts.NewID()
}
