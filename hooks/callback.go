package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/texts"
)

// Func is a hook written in Go. It gets what a command reads on stdin and returns what a
// command would answer; As reads the payload of its event. It may be called for several
// events at once, and must not change the Input, which others read at the same time.
//
// An error or a panic means that it could not judge: the action goes ahead and the hook
// counts as failed open, unless it is a gate. It must return when ctx ends. A function
// that does not is abandoned at its deadline, and counts as running until it returns
// (Registry.Wait).
type Func func(ctx context.Context, in Input) (Answer, error)

// Answer is what a Func returns. The zero Answer allows the action.
type Answer struct {
	// Decision is Block to refuse, or Halt to stop the agent (continue:false); any other
	// value decides nothing. Which refusals an event accepts is in Events; a refusal
	// without effect causes a warning.
	Decision Decision
	Reason   string // of Block, for the model; of Halt, for people

	Context       string // additional context for the model (additionalContext)
	SystemMessage string // for people

	// Permission is the decision of PreToolUse (allow, deny, ask) and PermissionRequest
	// (allow, deny) about the call.
	Permission   Permission
	UpdatedInput json.RawMessage // replaces the whole input of the tool; nil leaves it unchanged
	// Output are further fields of hookSpecificOutput, such as updatedToolOutput.
	Output map[string]json.RawMessage
}

// Callback is a Func with the settings that any hook can have. Do is required.
type Callback struct {
	Name    string // follows "callback" in the journal; empty means the function's name in Go
	Matcher string // as Group.Matcher: empty or "*" for all subjects
	If      string // as Handler.If: a permission rule; tool events only
	// When reports whether the hook runs for an input that Matcher and If choose, so that one that has
	// nothing to say leaves no trace; nil: always. It must be quick.
	When    func(Input) bool
	Timeout time.Duration // 0 means the event's default
	Once    bool          // run once in a session
	// OnFailure is continue (or empty) or block: see Handler.OnFailure.
	OnFailure string
	// Gate makes it fail closed: an error, a panic and a timeout refuse.
	Gate bool
	Do   Func
}

// Registry holds the hooks of a program that are written in Go. runner.Options.Callbacks
// gives them to a Runner, where they run together with the configured ones, which they
// follow in order. The zero value is empty and ready to use. It is safe for concurrent
// use, also while events run. It must not be copied.
type Registry struct {
	mu sync.Mutex
	// The lists of callbacks are replaced, never changed, so that an event can use the one
	// it has read without a lock.
	callbacks map[Event][]*Registered
	made      int
	running   map[*call]bool
	sessions  map[string]*Session // by id
	after     []*afterTurn        // in the order in which they were added; replaced, never changed
}

// On registers do for all events of that name whose subject matches. It returns what Add
// returns.
func (r *Registry) On(event Event, matcher string, do Func) (remove func(), err error) {
	return r.Add(event, Callback{Matcher: matcher, Do: do})
}

// Add registers c for all events of that name that match it. Each Add is a hook of its own:
// a function that is added twice is called twice. The error says what is wrong with c, or
// that there is no such event.
//
// remove unregisters it. It may be called at any time, also from within the callback, and
// more than once. No call begins after it has returned; a call that has begun continues,
// and its answer counts.
func (r *Registry) Add(event Event, c Callback) (remove func(), err error) {
	h, err := register(event, c)
	if err != nil {
		return nil, fmt.Errorf("callback on %s: %w", event, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made++
	h.Key = fmt.Sprintf("callback\x00%d", r.made) // unique, because no two callbacks are equal
	h.registry = r
	if r.callbacks == nil {
		r.callbacks = map[Event][]*Registered{}
	}
	r.callbacks[event] = append(slices.Clone(r.callbacks[event]), h)
	return func() { r.remove(event, h) }, nil
}

// remove unregisters one callback.
func (r *Registry) remove(event Event, h *Registered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.removed = true
	rest := slices.DeleteFunc(slices.Clone(r.callbacks[event]), func(other *Registered) bool { return other == h })
	r.callbacks[event] = rest
}

// Of lists the callbacks of an event, in the order in which they were added. A
// nil Registry has none.
func (r *Registry) Of(event Event) []*Registered {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.callbacks[event]
}

// Wait waits until no callback runs: a callback that ignores its context may outlive its
// event. If ctx ends first, the error names the callbacks and wraps ctx's error.
func (r *Registry) Wait(ctx context.Context) error {
	if r == nil {
		return nil
	}
	for {
		r.mu.Lock()
		var one *call
		var names []string
		for c := range r.running {
			one, names = c, append(names, c.name)
		}
		r.mu.Unlock()
		if one == nil {
			return nil
		}
		select {
		case <-one.done:
		case <-ctx.Done():
			slices.Sort(names)
			return fmt.Errorf("callbacks that ignore their context still run: %q: %w", names, ctx.Err())
		}
	}
}

// Registered is a Callback of a Registry, or a function hook of a Session, checked and ready
// to be called by a Runner.
type Registered struct {
	Handler Handler // the settings in the form of a configured hook; Type is callback or function
	Matcher *rules.Matcher
	Rule    *rules.Rule      // its `if`; nil if it has none
	Source  string           // callbacks or functions
	Label   string           // its name in results and the journal
	Key     string           // unique
	When    func(Input) bool // as in Callback

	do       Func
	registry *Registry
	removed  bool // guarded by the registry's mutex
}

// register checks a callback.
func register(event Event, c Callback) (*Registered, error) {
	info := InfoOf(event)
	fail := func(text string) error { return fmt.Errorf("%w: %s", ErrCallback, text) }
	if problems := CheckEvent(event); len(problems) > 0 {
		return nil, fail(problems[0].Text)
	}
	if c.Do == nil {
		return nil, fail("it has no function")
	}
	h := Handler{Type: "callback", If: c.If, Timeout: c.Timeout.Seconds(), Once: c.Once,
		OnFailure: c.OnFailure, Gate: c.Gate}
	if problems := h.Problems(info, Problem{Event: event}); len(problems) > 0 {
		return nil, fail(problems[0].Field + ": " + problems[0].Text)
	}
	m, err := info.NewMatcher(c.Matcher, nil)
	if err != nil {
		return nil, fail(err.Error())
	}
	a := &Registered{Handler: h, Matcher: m, Source: "callbacks",
		Label: "callback " + cmp.Or(c.Name, functionName(c.Do)), When: c.When, do: c.Do}
	if c.If != "" {
		rule, err := rules.Parse(c.If)
		if err != nil {
			return nil, fail(err.Error())
		}
		a.Rule = &rule
	}
	return a, nil
}

// functionName returns the name of a function in Go, without the path of its package:
// policy.NoPush, or main.main.func1 for a function literal.
func functionName(do Func) string {
	f := runtime.FuncForPC(reflect.ValueOf(do).Pointer())
	if f == nil {
		return "without a name"
	}
	return path.Base(f.Name())
}

// As reads the payload of in as P, one of the payload structs of this package
// (PreToolUseInput, StopInput, …). It fails if in is another event's.
func As[P Payload](in Input) (P, error) {
	if p, ok := in.Payload.(P); ok {
		return p, nil
	}
	var p P
	if in.Payload.Event() != p.Event() {
		return p, fmt.Errorf("the event is %s, not %s", in.Payload.Event(), p.Event())
	}
	// An event that was fired by hand has its fields as JSON.
	data, err := texts.Marshal(in.Payload)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return p, fmt.Errorf("input of %s: %w", p.Event(), err)
	}
	return p, nil
}
