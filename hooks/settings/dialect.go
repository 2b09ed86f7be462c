package settings

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/texts"
)

// otherTimeout is the default timeout, in seconds, of hooks of Copilot and VS Code.
const otherTimeout = 30

// Of returns the program for which a hook is written. name is the hook's file,
// event is the event's name in that file, and bare says that the hook has no group
// around it.
func Of(name, event string, bare bool, fields []texts.Field) hooks.Program {
	has := func(names ...string) bool {
		return slices.ContainsFunc(fields, func(f texts.Field) bool {
			return slices.Contains(names, f.Name)
		})
	}
	path := slashed(name)
	switch {
	case event != "" && unicode.IsLower([]rune(event)[0]):
		return hooks.Copilot
	case IsTOML(name), strings.Contains(path, "/.codex/"), strings.Contains(path, "/.codex-plugin/"):
		return hooks.Codex
	case bare && has("bash", "powershell"):
		return hooks.CopilotSnake
	case bare:
		return hooks.VSCode
	}
	return ""
}

// otherNames returns the dialect's names of a tool. only says that Claude Code's
// name does not match as well.
func otherNames(d hooks.Dialect, tool string) (names []string, only bool) {
	names = namesOf(d.Program, tool)
	return names, d.Program != hooks.Codex && len(names) > 0
}

// Tools returns the tool names that matchers of the dialect may use.
func Tools(d hooks.Dialect) []string {
	names := ToolNames()
	for _, w := range toolsOf(d.Program) {
		names = append(names, w.names...)
	}
	return names
}

// Matcher returns the group's matcher in the dialect of its hooks. A matcher that
// can never match is an error.
func Matcher(g *hooks.Group, known *hooks.EventInfo) (*rules.Matcher, error) {
	if len(g.Hooks) == 0 || !known.AboutTool() {
		return known.NewMatcher(g.Matcher, nil)
	}
	d := g.Hooks[0].Dialect
	other := func(tool string) ([]string, bool) { return otherNames(d, tool) }
	text := g.Matcher
	if isWhole(d.Program) && strings.Trim(text, " *") != "" {
		text = "(?:" + text + ")" // also a plain word is an expression, and found anywhere in a name
	}
	m, err := known.NewMatcher(text, other)
	if err != nil {
		return nil, err
	}
	if _, ok := m.Expression(); ok && isCopilot(d.Program) {
		// Copilot's expressions match whole names.
		if whole, err := known.NewMatcher("^(?:"+g.Matcher+")$", other); err == nil {
			m = whole
		}
	}
	return m, checkMatcher(d, m, g.Matcher)
}

// checkMatcher returns an error for a matcher on a tool event that can never match,
// because it uses a name that covey cannot translate. A hook that never runs would
// silently allow everything.
func checkMatcher(d hooks.Dialect, m *rules.Matcher, text string) error {
	if m.All() || d.Program == "" || d.Program == hooks.Codex {
		return nil
	}
	// Copilot names MCP tools SERVER-TOOL; these names are not known in advance.
	foreign := func(name string) bool {
		if isWhole(d.Program) {
			return strings.Contains(strings.ToLower(name), "mcp")
		}
		return strings.HasPrefix(name, "mcp__") || d.Program != hooks.VSCode && strings.Contains(name, "-")
	}
	expression, ok := m.Expression()
	if !ok {
		for _, name := range m.List() {
			if !slices.Contains(Tools(d), name) && !foreign(name) {
				return fmt.Errorf("the matcher names %s, and covey has no tool that %s calls so: "+
					"correct or delete the name", name, d.Program)
			}
		}
		return nil
	}
	fits := func(name string) bool { yes, _ := m.Matches(name); return yes }
	if slices.ContainsFunc(ToolNames(), fits) || fits("mcp__server__tool") || foreign(expression) ||
		slices.ContainsFunc(toolsOf(d.Program), func(w toolWord) bool { return fits(w.tool) }) {
		return nil
	}
	return fmt.Errorf("the matcher %q matches no tool of %s that covey has: write the tool's whole name",
		text, d.Program)
}

// Translate sets the dialect of a hook. Its error says why the hook cannot be
// translated.
func Translate(h *hooks.Handler, d hooks.Dialect) error {
	if d.Program != hooks.VSCode && !isWhole(d.Program) {
		d.Words = nil
	}
	h.Dialect = d
	switch {
	case d.Program == "" || d.Program == hooks.Codex:
	case h.Type != "command" && slices.Contains(hooks.HandlerTypes(), h.Type):
		return fmt.Errorf("covey translates only commands of %s, not hooks of type %s: "+
			"put the hook into the spec, or into a file as Claude Code writes it", d.Program, h.Type)
	case d.Program == hooks.Gemini && h.Timeout == 0:
		h.Timeout = 60
	case d.Program == hooks.Gemini:
		h.Timeout /= 1000 // it is in milliseconds there
	case h.Timeout == 0 && d.Program != hooks.Cursor:
		h.Timeout = otherTimeout
	}
	return nil
}

// WithoutMatcher removes the matcher from a hook without a group, because it counts
// as the group's. It keeps a matcher that VS Code ignores, which is then reported
// as unknown.
func WithoutMatcher(raw json.RawMessage, p hooks.Program) json.RawMessage {
	fields, err := texts.Fields(raw)
	if err != nil || p == hooks.VSCode {
		return raw
	}
	fields = slices.DeleteFunc(fields, func(f texts.Field) bool { return f.Name == "matcher" })
	return texts.Object(fields)
}

// NamesVSCode reports whether words contain the name of a tool that only VS Code
// has.
func NamesVSCode(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return !slices.Contains(ToolNames(), word) &&
			slices.ContainsFunc(vscodeTools(), func(w toolWord) bool {
				return slices.Contains(w.names, word)
			})
	})
}

// Event returns the event for a name in a file, which may be in another program's
// form.
func Event(name string) hooks.Event {
	switch name {
	case "userPromptSubmitted":
		return hooks.UserPromptSubmit
	case "agentStop":
		return hooks.Stop
	case "errorOccurred":
		return hooks.StopFailure
	}
	if event := hooks.Event(name); event.Known() || name == "" {
		return event
	}
	first := []rune(name)
	first[0] = unicode.ToUpper(first[0])
	if event := hooks.Event(first); event.Known() {
		return event
	}
	return hooks.Event(name)
}

// IsTOML reports whether a file is a TOML file, as Codex has them.
func IsTOML(name string) bool { return strings.EqualFold(filepath.Ext(name), ".toml") }

// Listens reports whether the group's matcher matches a subject of an event, such
// as a tool's name for PreToolUse. It returns true for a matcher that is invalid or
// cannot be evaluated, so that a policy is not lost.
func Listens(g hooks.Group, event hooks.Event, subject string) bool {
	m, err := Matcher(&g, hooks.InfoOf(event))
	if err != nil {
		return true
	}
	yes, _ := m.Matches(subject)
	return yes
}
