package hooks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"github.com/coveyteam/covey/hooks/wording"
)

// matchTimeout bounds one search: JavaScript's expressions can take exponential
// time, and what they are held against comes from an agent.
const matchTimeout = 100 * time.Millisecond

// matcher decides which subjects a group listens to (HOOKS.md section 4).
type matcher struct {
	all   bool
	exact []string
	regex *regexp2.Regexp
	// dialect says what the tools are called where the group was written.
	dialect Dialect
}

// matcher reads the group's matcher, in the dialect of its hooks.
func (g *Group) matcher(known *traits) (*matcher, error) {
	m, err := newMatcher(known, g.Matcher)
	if err != nil || len(g.Hooks) == 0 || !known.aboutTool() {
		return m, err
	}
	m.dialect = g.Hooks[0].Dialect
	if p := m.dialect.Program; m.regex != nil && (p == Copilot || p == CopilotSnake) {
		// Copilot's expressions are about whole names.
		if whole, err := newMatcher(known, "^(?:"+g.Matcher+")$"); err == nil {
			m.regex = whole.regex
		}
	}
	return m, m.dialect.checkMatcher(m, g.Matcher)
}

// newMatcher reads a matcher of an event's group. Events without a subject
// ignore theirs. The error says why an expression cannot be one.
func newMatcher(known *traits, text string) (*matcher, error) {
	trimmed := strings.TrimSpace(text)
	if known.field == "" || trimmed == "" || trimmed == "*" {
		return &matcher{all: true}, nil
	}
	separators := "|,"
	if known.event == FileChanged || known.event == StopFailure {
		separators = "|"
	}
	if isList(text, separators) {
		m := &matcher{}
		for word := range strings.FieldsFuncSeq(text,
			func(r rune) bool { return strings.ContainsRune(separators, r) }) {
			if word = strings.TrimSpace(word); word != "" {
				m.exact = append(m.exact, word)
			}
		}
		return m, nil
	}
	regex, err := regexp2.Compile(text, regexp2.ECMAScript)
	if err != nil {
		return nil, fmt.Errorf("matcher %q is no JavaScript expression: %s", text, regexFault(err))
	}
	regex.MatchTimeout = matchTimeout
	return &matcher{regex: regex}, nil
}

// regexFault is what the engine says, without repeating the expression.
func regexFault(err error) string {
	_, fault, found := strings.Cut(err.Error(), "error parsing regexp: ")
	if !found {
		return err.Error()
	}
	if i := strings.LastIndex(fault, " in `"); i > 0 {
		return fault[:i]
	}
	return fault
}

// isList reports whether text is plain names: letters, digits and what stands
// between them. Events that split on "|" alone take fewer characters.
func isList(text, separators string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return false
		case strings.ContainsRune(separators, r):
			return false
		}
		return separators == "|" || r != ' ' && r != '-'
	})
}

// matches reports whether a subject is listened to. doubt says why that could
// not be found out; then the answer is yes, so that a policy is not lost.
func (m *matcher) matches(subject string) (yes bool, doubt string) {
	switch {
	case m.all:
		return true, ""
	case m.regex == nil:
		others := append(m.dialect.Program.toolNames(subject), formerNames(subject)...)
		return slices.Contains(m.exact, subject) ||
			slices.ContainsFunc(others, func(name string) bool { return slices.Contains(m.exact, name) }), ""
	}
	names, only := m.dialect.also(subject, m.regex.String())
	if !only {
		names = append([]string{subject}, names...)
	}
	for _, name := range names {
		found, err := search(m.regex, name)
		if err != nil {
			return true, fmt.Sprintf("matcher %q could not be decided: the hook ran",
				wording.Preview(m.regex.String(), 80))
		}
		if found {
			return true, ""
		}
	}
	return false, ""
}

// search searches under the engine's time limit. A panic in the engine is a
// doubt like any other.
func search(regex *regexp2.Regexp, subject string) (found bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the expression engine broke off: %v", cause)
		}
	}()
	return regex.MatchString(subject)
}

// armed is a handler ready to run.
type armed struct {
	Handler
	source  *Source
	matcher *matcher
	rule    *Rule // its `if`; nil: none
	never   bool  // its `if` can never hold
	label   string
	key     string // equal keys are one hook
	// callback is the function to call in place of a command; nil: none.
	callback *callback
	endpoint *endpoint // of an http hook; nil: it is none
	closed   bool      // without a verdict it refuses (Options.FailClosed)
	settled  bool      // its words are what is to run; Options.Locate is not asked
	barred   string    // why it must not run though it is binding; empty: it may
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
func (r *Runner) arm(source *Source) {
	for event, groups := range source.Settings {
		known := traitsOf(event)
		for _, group := range groups {
			m, err := group.matcher(known)
			if err != nil {
				r.flaws[event] = append(r.flaws[event], fmt.Sprintf("%s: %v: its hooks never run",
					source.Name, err))
				continue
			}
			for _, h := range group.Hooks {
				barred := r.limits.Bars(source.Managed, h)
				if barred != "" && !h.binding() {
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
func (r *Runner) armOne(known *traits, source *Source, m *matcher, h Handler) *armed {
	a := &armed{Handler: h, source: source, matcher: m, label: labelOf(&h)}
	a.key = strings.Join([]string{source.Root, shellKey(h.Shell), h.Type, a.label,
		strings.Join(h.Args, "\x01"), h.If,
		fmt.Sprint(h.Args != nil, h.Gate), h.placeKey(), string(h.Dialect.Program)}, "\x00")
	a.closed = r.opts.FailClosed
	switch h.Type {
	case "http":
		a.endpoint = r.armHTTP(source, &a.Handler)
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
	rule, err := ParseRule(h.If)
	switch {
	case !known.aboutTool():
		flaw = fmt.Sprintf("`if` is only evaluated on tool events: a hook that has one never runs on %s",
			known.event)
		a.never = true
	case err != nil:
		rule, a.never = wholeTool(h.If)
		a.rule = &rule
		flaw = fmt.Sprintf("if: %v: the hook never runs", err)
		if !a.never {
			flaw = fmt.Sprintf("if: %v: the hook runs for every call of %s", err, rule.Tool)
		}
	default:
		a.rule = &rule
	}
	if flaw != "" {
		r.flaws[known.event] = append(r.flaws[known.event], fmt.Sprintf("%s: %s", source.Name, flaw))
	}
	return a
}

// wholeTool is what remains of a rule with a slip in its brackets: its tool. A slip
// of the pen must not switch a policy off (DESIGN 10.9: `if` fails open). never: it
// names no tool either.
func wholeTool(text string) (rule Rule, never bool) {
	tool, _, bracket := strings.Cut(text, "(")
	rule, err := ParseRule(strings.TrimSpace(tool))
	return rule, !bracket || err != nil
}

// labelOf is what the user configured: the command, URL, prompt or tool.
func labelOf(h *Handler) string {
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
func (r *Runner) choose(known *traits, listening []*armed, in Input) (chosen []*armed, warnings []string) {
	subject := in.subject()
	call, _ := in.Call(r.opts.rootOf(in))
	last := map[string]int{}
	member := r.memberOf(in)
	for _, h := range listening {
		if h.source.Member != "" && h.source.Member != member || !in.forHelper(h.source.Helper) {
			continue
		}
		yes, doubt := h.matcher.matches(subject)
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
