package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/web"
)

// armed is a handler that is ready to run.
type armed struct {
	hooks.Handler
	source  *settings.Source
	matcher *rules.Matcher
	rule    *rules.Rule // parsed `if`; nil if there is none
	never   bool        // the `if` can never hold
	label   string
	key     string // hooks with equal keys count as one hook
	// callback is the function to call instead of a command; nil for other hooks.
	callback *hooks.Registered
	endpoint *web.Endpoint // nil unless the hook is an http hook
	closed   bool          // refuses if it gives no verdict (Options.FailClosed)
	final    bool          // the command is final; Options.Locate is not asked
	barred   string        // why it must not run although it is binding; empty if it may
}

// kind returns the type that results show.
func (h *armed) kind() string {
	if h.Policy != "" {
		return "policy"
	}
	return h.Type
}

// inProcess reports whether the hook needs no slot: it starts no process, and it may run
// something that has hooks itself, such as a tool that acts on the team.
func (h *armed) inProcess() bool {
	return h.callback != nil || h.asksModel() || h.Type == "mcp_tool"
}

// arm adds the hooks of one source.
//
// A mistake in a group or a hook is kept as a flaw of its event, and every Outcome of that
// event warns of it. A hook that managed settings do not allow is dropped, unless it is
// binding: then it stays, and refuses (refuseBarred).
func (r *Runner) arm(source *settings.Source) {
	for event, groups := range source.Settings {
		known := hooks.InfoOf(event)
		for _, group := range groups {
			m, err := settings.Matcher(&group, known)
			if err != nil {
				r.flaws[event] = append(r.flaws[event], fmt.Sprintf("%s: %v: its hooks never run",
					source.Name, err))
				continue
			}
			for _, h := range group.Hooks {
				barred := r.limits.Bars(source.Managed, h)
				if barred != "" && !h.Binding() {
					continue
				}
				a := r.armOne(known, source, m, h)
				a.barred = barred
				r.armed[event] = append(r.armed[event], a)
			}
		}
	}
}

// armOne prepares one handler and records what is wrong with its `if`.
func (r *Runner) armOne(known *hooks.EventInfo, source *settings.Source, m *rules.Matcher, h hooks.Handler) *armed {
	a := &armed{Handler: h, source: source, matcher: m, label: labelOf(&h)}
	// Everything that tells two hooks apart is in the key, so that a hook never takes the
	// place of one that does something else.
	a.key = strings.Join([]string{source.Root, shellKey(h.Shell), h.Type, a.label,
		strings.Join(h.Args, "\x01"), h.If,
		fmt.Sprint(h.Args != nil, h.Gate), placeKey(&h), string(h.Dialect.Program), h.Dialect.Event}, "\x00")
	a.closed = r.opts.FailClosed
	switch h.Type {
	case "http":
		request := web.Request{URL: h.URL, Headers: h.Headers, AllowedEnvVars: h.AllowedEnvVars}
		a.endpoint = request.Prepare(r.limits.Of(source.Managed),
			func(name string) string { return proc.Getenv(r.opts.Env, name) })
	case "prompt", "agent":
		a.key += "\x00" + h.Model
	case "mcp_tool":
		a.key += "\x00" + inputKey(h.Input)
		if h.OnFailure != "" && h.OnFailure != "continue" {
			a.OnFailure = "block" // HOOKS.md: for this type every other value means block
		}
	}
	if h.If == "" {
		return a
	}
	flaw := ""
	rule, err := rules.Parse(h.If)
	switch {
	case !known.AboutTool():
		flaw = fmt.Sprintf("`if` is only evaluated on tool events: a hook with an `if` never runs on %s",
			known.Event)
		a.never = true
	case err != nil: // as recorded (HOOKS.md section 12, point 9); every outcome warns of it
		a.never, flaw = true, fmt.Sprintf("if: %v: the hook never runs", err)
	default:
		a.rule = &rule
	}
	if flaw != "" {
		r.flaws[known.Event] = append(r.flaws[known.Event], fmt.Sprintf("%s: %s", source.Name, flaw))
	}
	return a
}

// labelOf returns what the user configured: the command, URL, prompt or tool.
func labelOf(h *hooks.Handler) string {
	switch {
	case h.Policy != "":
		return h.Policy
	case h.Type == "http":
		return h.URL
	case h.Type == "prompt" || h.Type == "agent":
		return h.Prompt
	case h.Type == "mcp_tool":
		return h.Server + "/" + h.Tool
	}
	return h.Command
}

// shellKey returns the shell's part of a hook's key. bash equals no shell at all: of hooks
// that differ in nothing else one runs, with the shell of the first.
func shellKey(shell string) string {
	if shell == "bash" {
		return ""
	}
	return shell
}

// choose returns the listening hooks that match in, in order. Of equal hooks only the last
// stays. Hooks with `once` that have already run are left out, and so are hooks that ask
// models if ctx belongs to such a hook itself.
func (r *Runner) choose(ctx context.Context, listening []*armed, in hooks.Input) (chosen []*armed, warnings []string) {
	last := map[string]int{}
	w := r.wantOf(&in)
	for _, h := range listening {
		f := r.fit(h, &w)
		if !f.runs || h.asksModel() && ctx.Value(verifyingKey{}) != nil {
			continue
		}
		if f.doubt != "" {
			warnings = append(warnings, h.source.Name+": "+f.doubt)
		}
		if h.callback != nil && h.callback.When != nil && !h.callback.When(in) {
			continue
		}
		if i, twice := last[h.key]; twice {
			// The later hook runs, but with the shell of the first (see shellKey). h is
			// shared by all events, so it is copied.
			if before := chosen[i]; before.Shell != h.Shell {
				other := *h
				other.Shell = before.Shell
				h = &other
			}
			chosen[i] = nil
		}
		last[h.key] = len(chosen)
		chosen = append(chosen, h)
	}
	return slices.DeleteFunc(chosen, func(h *armed) bool { return h == nil || r.spent(h, in.SessionID) }),
		warnings
}

// spent reports whether h runs only once and has run, and marks it as run. It is marked
// before it runs, because another event may choose it meanwhile; see unspend.
func (r *Runner) spent(h *armed, session string) bool {
	return h.Once && !r.once.first(session+"\x00"+h.key)
}

// unspend takes the mark of spent away from a hook that could not start.
func (r *Runner) unspend(h *armed, session string) {
	if h.Once {
		r.once.forget(session + "\x00" + h.key)
	}
}
