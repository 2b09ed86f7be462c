package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/dialect"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/web"
)

// armed is a handler ready to run.
type armed struct {
	hooks.Handler
	source  *settings.Source
	matcher *rules.Matcher
	rule    *rules.Rule // its `if`; nil: none
	never   bool        // its `if` can never hold
	label   string
	key     string // equal keys are one hook
	// callback is the function to call in place of a command; nil: none.
	callback *hooks.Registered
	endpoint *web.Endpoint // of an http hook; nil: it is none
	closed   bool          // without a verdict it refuses (Options.FailClosed)
	settled  bool          // its words are what is to run; Options.Locate is not asked
	barred   string        // why it must not run though it is binding; empty: it may
}

// kind is the type to show in results.
func (h *armed) kind() string {
	if h.Policy != "" {
		return "policy"
	}
	return h.Type
}

// inside reports whether the hook needs no slot: it is no process, and may itself
// run something that has hooks, such as a tool that acts on the team.
func (h *armed) inside() bool {
	return h.callback != nil || h.Type == "prompt" || h.Type == "agent" || h.Type == "mcp_tool"
}

// arm takes over one source.
func (r *Runner) arm(source *settings.Source) {
	for event, groups := range source.Settings {
		known := hooks.InfoOf(event)
		for _, group := range groups {
			m, err := dialect.Matcher(&group, known)
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

// armOne prepares one handler.
func (r *Runner) armOne(known *hooks.EventInfo, source *settings.Source, m *rules.Matcher, h hooks.Handler) *armed {
	a := &armed{Handler: h, source: source, matcher: m, label: labelOf(&h)}
	a.key = strings.Join([]string{source.Root, shellKey(h.Shell), h.Type, a.label,
		strings.Join(h.Args, "\x01"), h.If,
		fmt.Sprint(h.Args != nil, h.Gate), placeKey(&h), string(h.Dialect.Program)}, "\x00")
	a.closed = r.opts.FailClosed
	switch h.Type {
	case "http":
		a.endpoint = web.Prepare(&a.Handler, r.limits.Of(source.Managed),
			func(name string) string { return proc.Getenv(r.opts.Env, name) })
	case "prompt", "agent":
		a.key += "\x00" + h.Model
	case "mcp_tool":
		a.key += "\x00" + inputKey(h.Input)
		if h.OnFailure != "" && h.OnFailure != "continue" {
			a.OnFailure = "block" // as the protocol has it for this type, whatever the word
		}
	}
	if h.If == "" {
		return a
	}
	flaw := ""
	rule, err := rules.Parse(h.If)
	switch {
	case !known.AboutTool():
		flaw = fmt.Sprintf("`if` is only evaluated on tool events: a hook that has one never runs on %s",
			known.Event)
		a.never = true
	case err != nil:
		whole, ok := rules.WholeTool(h.If)
		a.rule, a.never = &whole, !ok
		flaw = fmt.Sprintf("if: %v: the hook never runs", err)
		if ok {
			flaw = fmt.Sprintf("if: %v: the hook runs for every call of %s", err, whole.Tool)
		}
	default:
		a.rule = &rule
	}
	if flaw != "" {
		r.flaws[known.Event] = append(r.flaws[known.Event], fmt.Sprintf("%s: %s", source.Name, flaw))
	}
	return a
}

// labelOf is what the user configured: the command, URL, prompt or tool.
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

// shellKey is what a hook's shell counts for when hooks are compared: bash is the
// same as none. Of hooks that differ in nothing else one runs, by the first one's
// shell.
func shellKey(shell string) string {
	if shell == "bash" {
		return ""
	}
	return shell
}

// choose returns those of the listening hooks that in calls for, in order, each once: of equal
// ones the last. Hooks that run once are taken off.
func (r *Runner) choose(known *hooks.EventInfo, listening []*armed, in hooks.Input) (chosen []*armed, warnings []string) {
	subject := in.Subject()
	call, _ := in.Call(r.opts.rootOf(in))
	last := map[string]int{}
	member := r.memberOf(in)
	for _, h := range listening {
		if h.source.Member != "" && h.source.Member != member || !in.ForHelper(h.source.Helper) {
			continue
		}
		yes, doubt := h.matcher.Matches(subject)
		if doubt != "" {
			warnings = append(warnings, h.source.Name+": "+doubt)
		}
		if !yes || h.never || h.rule != nil && !h.rule.Fires(call) {
			continue
		}
		if i, twice := last[h.key]; twice {
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

// spent reports whether h was to run once and has, and notes that it will have.
func (r *Runner) spent(h *armed, session string) bool {
	if !h.Once {
		return false
	}
	return !r.ran.first(session + "\x00" + h.key)
}
