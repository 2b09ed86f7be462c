package hooks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/rules"
)

// Dialect says for which agent program a hook was written, where that is not
// Claude Code: what the hook reads and what it answers is translated. It is set
// while a file is read (HOOKS.md knows Claude Code's words alone).
type Dialect struct {
	// Program is one of the constants; empty: Claude Code, nothing is translated.
	Program Program
	// Words are the tools that the hook's matcher names. A program that has several
	// names for a tool is answered with the one that stands here.
	Words []string
}

// Program is an agent program whose hooks speak a dialect of their own.
type Program string

// The programs whose hooks covey translates.
const (
	// Copilot is GitHub Copilot's CLI, for events that begin with a small letter.
	Copilot Program = "Copilot"
	// CopilotSnake is the same program, for events that begin with a capital: the
	// fields have Claude Code's names, the tools have Copilot's.
	CopilotSnake Program = "Copilot with events in capitals"
	// Codex edits files by a tool apply_patch.
	Codex Program = "Codex"
	// VSCode is the agent of Visual Studio Code.
	VSCode Program = "VS Code"
)

// otherTimeout is the time-out, in seconds, of a hook of Copilot or VS Code that
// names none.
const otherTimeout = 30

// programOf says whose words a hook uses. name is its file, event the event as it
// is written there, and bare that no group stands around the hook.
func programOf(name, event string, bare bool, fields []rawjson.Field) Program {
	has := func(names ...string) bool {
		return slices.ContainsFunc(fields, func(f rawjson.Field) bool {
			return slices.Contains(names,
				f.Name)
		})
	}
	slashed := "/" + strings.ReplaceAll(name, `\`, "/")
	switch {
	case event != "" && unicode.IsLower([]rune(event)[0]):
		return Copilot
	case isTOML(name), strings.Contains(slashed, "/.codex/"), strings.Contains(slashed, "/.codex-plugin/"):
		return Codex
	case bare && has("bash", "powershell"):
		return CopilotSnake
	case bare:
		return VSCode
	}
	return ""
}

// otherNames gives the dialect's names of a tool.
func (d Dialect) otherNames(tool string) (names []string, only bool) {
	names = d.Program.toolNames(tool)
	return names, d.Program != Codex && len(names) > 0
}

// Tools lists the names of tools that matchers of the dialect may be about.
func (d Dialect) Tools() []string {
	names := rules.ToolNames()
	for _, w := range d.Program.tools() {
		names = append(names, w.names...)
	}
	return names
}

// matcher reads the group's matcher, in the dialect of its hooks.
func (g *Group) matcher(known *EventInfo) (*rules.Matcher, error) {
	if len(g.Hooks) == 0 || !known.AboutTool() {
		return known.newMatcher(g.Matcher, nil)
	}
	d := g.Hooks[0].Dialect
	m, err := known.newMatcher(g.Matcher, d.otherNames)
	if err != nil {
		return nil, err
	}
	if _, ok := m.Expression(); ok && d.copilot() {
		// Copilot's expressions are about whole names.
		if whole, err := known.newMatcher("^(?:"+g.Matcher+")$", d.otherNames); err == nil {
			m = whole
		}
	}
	return m, d.checkMatcher(m, g.Matcher)
}

// newMatcher reads a matcher of an event's group. Events without a subject
// ignore theirs.
func (t *EventInfo) newMatcher(text string, other rules.OtherNames) (*rules.Matcher, error) {
	switch {
	case t.Matcher == "":
		return rules.AllSubjects(), nil
	case t.Event == FileChanged || t.Event == StopFailure:
		return rules.NewMatcher(text, "|", other)
	}
	return rules.NewMatcher(text, "|,", other)
}

// checkMatcher says why a matcher on a tool event would never fire: it uses a name
// that covey cannot translate. Hooks that listen to nothing let everything pass.
func (d Dialect) checkMatcher(m *rules.Matcher, text string) error {
	if m.All() || d.Program == "" || d.Program == Codex {
		return nil
	}
	// Copilot's names of MCP tools are SERVER-TOOL; nobody can list them.
	foreign := func(name string) bool {
		return strings.HasPrefix(name, "mcp__") || d.Program != VSCode && strings.Contains(name, "-")
	}
	expression, ok := m.Expression()
	if !ok {
		for _, name := range m.List() {
			if !slices.Contains(d.Tools(), name) && !foreign(name) {
				return fmt.Errorf("the matcher names %s, and covey has no tool that %s calls so: "+
					"correct or delete the name", name, d.Program)
			}
		}
		return nil
	}
	fits := func(name string) bool { yes, _ := m.Matches(name); return yes }
	if slices.ContainsFunc(rules.ToolNames(), fits) || fits("mcp__server__tool") || foreign(expression) {
		return nil
	}
	return fmt.Errorf("the matcher %q fits no tool of %s that covey has: write the tool's whole name",
		text, d.Program)
}

// translate marks a hook as one that was written in a dialect. The error says why
// it cannot be translated.
func (h *Handler) translate(d Dialect) error {
	if d.Program != VSCode {
		d.Words = nil
	}
	h.Dialect = d
	switch {
	case d.Program == "" || d.Program == Codex:
	case h.Type != "command" && slices.Contains(HandlerTypes(), h.Type):
		return fmt.Errorf("covey translates only commands of %s, not hooks of type %s: "+
			"put the hook into the spec, or into a file as Claude Code writes it", d.Program, h.Type)
	case h.Timeout == 0:
		h.Timeout = otherTimeout
	}
	return nil
}

// withoutMatcher takes the matcher out of a hook that has no group around it, where
// its program goes by it.
func withoutMatcher(raw json.RawMessage, p Program) json.RawMessage {
	fields, err := rawjson.Fields(raw)
	if err != nil || p == VSCode {
		return raw
	}
	fields = slices.DeleteFunc(fields, func(f rawjson.Field) bool { return f.Name == "matcher" })
	return rawjson.Object(fields)
}

// namesVSCode reports whether words name a tool that VS Code alone has.
func namesVSCode(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return !slices.Contains(rules.ToolNames(), word) &&
			slices.ContainsFunc(vscodeTools(), func(w toolWord) bool {
				return slices.Contains(w.names,
					word)
			})
	})
}
