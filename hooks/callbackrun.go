package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/rawjson"
)

// callback is the function behind an armed handler of type callback.
type callback struct {
	do       Func
	registry *Registry
	removed  bool // guarded by the registry's mutex
}

// call is one call of a callback. What stands below done is complete once that
// is closed.
type call struct {
	name string
	done chan struct{}

	answer Answer
	fault  string // why there is no answer; empty: there is one
	err    error  // what the function returned
}

// start calls the function in a goroutine of its own, which belongs to the
// registry: a function that hangs must not hold up its event. It returns nil if
// the callback was removed.
func (r *Registry) start(name string, live func() bool, do func(c *call)) *call {
	c := &call{name: name, done: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !live() {
		return nil
	}
	if r.running == nil {
		r.running = map[*call]bool{}
	}
	r.running[c] = true
	go func() {
		defer r.ended(c)
		c.contain(do)
	}()
	return c
}

// contain calls do. Whatever it does in its goroutine, the team goes on.
func (c *call) contain(do func(c *call)) {
	c.fault = "the callback ended its goroutine instead of returning" // true until the lines below say otherwise
	defer func() {
		if cause := recover(); cause != nil {
			c.fault = fmt.Sprintf("the callback broke off: %v", cause)
		}
	}()
	do(c)
	c.fault = ""
	if c.err != nil {
		c.fault = "the callback failed: " + c.err.Error()
	}
}

// ended notes that a call is over.
func (r *Registry) ended(c *call) {
	r.mu.Lock()
	delete(r.running, c)
	r.mu.Unlock()
	close(c.done)
}

// finished waits for the call, and when ctx has ended for grace more: enough
// for a function that heeds its context.
func (c *call) finished(ctx context.Context, grace time.Duration) bool {
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}

// runCallback calls a callback and reads what it answers.
func (r *run) runCallback(ctx context.Context, h *armed) (found finding, stdout, note string) {
	found = finding{code: -1}
	cb := h.callback
	c := cb.registry.start(h.label, func() bool { return !cb.removed }, func(c *call) {
		c.answer, c.err = cb.do(ctx, r.in)
	})
	switch {
	case c == nil:
		found.code = 0
		return found, "", "it was removed before its turn came, and not called"
	case !c.finished(ctx, cmp.Or(r.opts.Grace, proc.DefaultGrace)):
		found.timedOut = true
		return found, "", "it does not heed its context, and still runs"
	case ctx.Err() != nil && (c.err != nil || c.fault != ""):
		found.timedOut = true
		return found, "", ""
	case c.fault != "":
		found.fault = c.fault
		return found, "", ""
	}
	found.code = 0
	return found.answered(r.known, h, c.answer)
}

// answered puts a callback's answer in the place of a command's stdout, so that
// one set of rules judges both.
func (found finding) answered(known *EventInfo, h *armed, a Answer) (_ finding, stdout, note string) {
	object, err := a.wire(known)
	if err != nil {
		found.code, found.fault = -1, "the callback's answer cannot be written: "+err.Error()
		return found, "", ""
	}
	if a.Decision == Block && known.Decision < Refuses && (known.Exit2 >= Refuses || h.Gate) {
		// Such an event is refused by exit code alone.
		found.code, found.stderr, found.tail = 2, a.Reason, cmp.Or(a.Reason, noReason)
	}
	if object == nil {
		return found, "", ""
	}
	found.answer = readAnswer(known.Event, string(object), false)
	return found, string(object), ""
}

// wire is the answer as a command would print it; nil: it says nothing.
func (a Answer) wire(known *EventInfo) ([]byte, error) {
	object := map[string]any{}
	set := func(to map[string]any, name, value string) {
		if value != "" {
			to[name] = value
		}
	}
	switch a.Decision {
	case Block:
		if known.Decision >= Refuses || known.Exit2 < Refuses {
			object["decision"] = "block"
			set(object, "reason", a.Reason)
		}
	case Halt:
		object["continue"] = false
		set(object, "stopReason", a.Reason)
	case Pass, "":
	default:
		return nil, fmt.Errorf("there is no decision %q", a.Decision)
	}
	set(object, "systemMessage", a.SystemMessage)
	specific := map[string]any{}
	for name, value := range a.Output {
		specific[name] = value
	}
	set(specific, "additionalContext", a.Context)
	if err := a.decide(known, specific); err != nil {
		return nil, fmt.Errorf("what it says of the call: %w", err)
	}
	if len(specific) > 0 {
		specific["hookEventName"] = known.Event
		object["hookSpecificOutput"] = specific
	}
	if len(object) == 0 {
		return nil, nil
	}
	return rawjson.Marshal(object)
}

// decide adds what an answer says about a tool call, where its event wants it.
func (a Answer) decide(known *EventInfo, specific map[string]any) error {
	if len(a.UpdatedInput) > 0 && !json.Valid(a.UpdatedInput) {
		return errors.New("UpdatedInput is no JSON")
	}
	if known.Event == PermissionRequest {
		if a.Permission.Decision == "" {
			return nil
		}
		decision := map[string]any{"behavior": a.Permission.Decision}
		if a.Permission.Reason != "" {
			decision["message"] = a.Permission.Reason
		}
		if len(a.UpdatedInput) > 0 {
			decision["updatedInput"] = a.UpdatedInput
		}
		specific["decision"] = decision
		return nil
	}
	if a.Permission.Decision != "" {
		specific["permissionDecision"] = a.Permission.Decision
		if a.Permission.Reason != "" {
			specific["permissionDecisionReason"] = a.Permission.Reason
		}
	}
	if len(a.UpdatedInput) > 0 {
		specific["updatedInput"] = a.UpdatedInput
	}
	return nil
}
