// Package runner runs hooks: it chooses those that an event calls for, runs them
// side by side, has their answers judged and hands back one outcome. It makes no
// promise of compatibility to programs outside covey.
//
// # The way of an event
//
// A Runner is made once from all sources (the spec, settings files, plugins). For
// each event Run chooses the handlers whose matcher and `if` fit, keeps one of equal
// ones, and starts them side by side with the Input as JSON on stdin. Each end is
// judged by itself, and the verdicts are merged in the order in which they came
// (package judging). Processes, files and requests stay in this package and below.
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
	"github.com/coveyteam/covey/hooks/judging"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/web"
)

// Spawn is a process of a hook that has just been started.
type Spawn struct {
	Input hooks.Input   // of the event
	Hook  hooks.Handler // whose process it is
	Depth int           // how many hooks of this program stand around it with its own (see Inside)
}

// Options tune a Runner. The zero value serves; each field says what it means then.
type Options struct {
	// Env is the environment that hooks inherit. The caller has taken out what
	// hooks must not see; OTEL_* is always taken out. nil: this process's own.
	Env        []string
	ProjectDir string // CLAUDE_PROJECT_DIR, and where hooks run when their folder is gone
	SpillDir   string // keeps texts too long for the model; empty: the rest is lost, with a warning
	OutputCap  int    // bytes kept of each output in a Result; 0: 64 KiB
	// Parallel is how many processes run at once, over all events, and how many more
	// in the background; 0: three for each core.
	Parallel int
	Grace    time.Duration // from TERM to KILL when a hook's time is up; 0: 500 ms
	// MaxProcesses is how many processes one hook may be with all that it starts; if there
	// are more, all of them are killed (on Linux). 0: 1024, or half of what this process's
	// control group and user allow if that is less.
	MaxProcesses int
	// Crowded is told when that happens to what a hook has left behind; else its Result
	// says so. It is called from any goroutine, also after Run has returned. nil: nobody.
	Crowded func(in hooks.Input, command, warning string)
	// Spawned is told of each process as soon as it runs, and what it is; release is called
	// when it has ended. nil: nobody is told.
	Spawned func(pid int, s Spawn) (release func())
	// GateEnv are further variables of commands that are gates. With an error none is run.
	// nil: there are none.
	GateEnv   func() ([]string, error)
	EnvFile   func(in hooks.Input) string                // CLAUDE_ENV_FILE of a SessionStart; nil or empty: none
	Who       func(in hooks.Input) (team, member string) // COVEY_TEAM, COVEY_MEMBER; nil: what the payload says
	Policies  func(name string) Policy                   // what a gate names (Handler.Policy); nil, or giving nil: there is none
	Callbacks *hooks.Registry                            // hooks that are Go functions; nil: none. It may change while the Runner runs
	Models    Model                                      // answers prompt and agent hooks; nil: they cannot judge
	Tools     Tools                                      // makes the calls of mcp_tool hooks; nil: no server is connected
	// Gates is asked before each gate that is a command how it is to be run, as often
	// as there are gates and from any goroutine. nil: as they are configured.
	Gates func(ctx context.Context, in hooks.Input, gate hooks.Handler) GateRun
	// Locate is asked before each command hook, gates too, what to run for it. nil: what
	// is configured.
	Locate Locate
	// Interactive says that sessions stay when their work is done. A Stop hook that wakes
	// an agent from the background is a notification then; in a headless run its words
	// are the turn end's feedback.
	Interactive bool
	// Root is where the path rules of an `if` begin for an event. nil or empty: at
	// ProjectDir.
	Root func(in hooks.Input) string
	// FailClosed makes a configured hook that gives no verdict refuse, also at turn
	// ends, where its event can refuse and somebody waits for it.
	FailClosed bool
	Now        func() time.Time // for durations; nil: time.Now
	NewID      func() string    // makes tool-use IDs, unique ones; nil: random UUIDs
}

// Runner runs hooks: all that its sources configure, and the callbacks of its
// Registry, for any number of events at once. It never changes after NewRunner
// but for what `once` remembers.
type Runner struct {
	opts    Options
	armed   map[hooks.Event][]*armed
	flaws   map[hooks.Event][]string
	limits  settings.Limits
	world   web.World     // of http hooks
	budget  time.Duration // of SessionEnd
	env     []string
	depth   int
	slots   chan struct{}
	ran     *onceBook
	errands *errands
	// personal says that some layer is for one member alone.
	personal bool
}

// New makes a Runner for sources, in the order in which they were merged:
// of two equal hooks the one of the last source runs. What is wrong with a
// single hook is no error here: it is warned of in each Outcome of its event
// (Validate finds it earlier). The error names an option that cannot serve.
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
	r.take(sources)
	return r, nil
}

// newRunner makes a Runner without hooks.
func newRunner(opts Options) *Runner {
	r := &Runner{opts: opts, armed: map[hooks.Event][]*armed{}, flaws: map[hooks.Event][]string{},
		slots: make(chan struct{}, opts.Parallel), ran: &onceBook{ran: map[string]bool{}},
		errands: newErrands(opts.Parallel)}
	r.depth = hookDepth(r.opts.Env)
	r.env = r.baseEnv()
	return r
}

// take arms the hooks of all sources.
func (r *Runner) take(sources []settings.Source) {
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

// complete fills in defaults.
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

// Run fires one event: it runs all hooks that match and returns, when the last
// has ended, what they decided together. It makes the run's tool-use ID itself;
// the event of a tool call carries the call's.
//
// observe, which may be nil, is told of each hook's start and end; its calls
// come one at a time. All have returned when Run does, save for those about hooks
// in the background (Progress.Background), which return before Settle does. It must
// not call Run or Settle.
//
// Run fails only if ctx ends, with ctx's error and what was known by then; all
// hooks have been ended by then, too. in.Payload is required.
func (r *Runner) Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error) {
	event := in.Payload.Event()
	id := r.toolUseID(in)
	listening := r.listening(in)
	if len(listening) == 0 {
		return hooks.Outcome{Event: event, ToolUseID: id, Decision: hooks.Pass, Warnings: r.flaws[event]}, ctx.Err()
	}
	known := hooks.InfoOf(event)
	chosen, warnings := r.choose(known, listening, in)
	chosen = withoutModels(ctx, chosen)
	run := &run{Runner: r, known: known, in: in, id: id, observe: observe, around: around(ctx)}
	if len(chosen) > 0 {
		run.all(ctx, chosen)
	}
	run.askAwaited(ctx)
	out := judging.Merge(known, in.HookName(), run.verdicts)
	out.ToolUseID = id
	out.Matched, out.Background = len(chosen), run.left
	out.Warnings = slices.Concat(r.flaws[event], warnings)
	return out, ctx.Err()
}

// listening lists the hooks of an event: those that are configured, then the
// callbacks that there are now, then the function hooks of its conversation.
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

// toolUseID is the call's own ID for a tool event, else a new one.
func (r *Runner) toolUseID(in hooks.Input) string {
	if id := in.ToolUseID(); id != "" {
		return id
	}
	return r.opts.NewID()
}
