// Package rules parses what selects tool calls and events: permission rules such as
// Bash(git push *), which permission lists and the `if` of hooks use, the shell lines that
// they are applied to, and the matchers of hooks. It makes no promise of compatibility to
// programs outside covey.
//
// Nothing here runs or decides anything: a Rule answers questions about a Call, and the
// caller decides what follows from the answer.
package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
)

// Rule is one permission rule, `Tool` or `Tool(specifier)`. Permission lists and the `if` of
// hooks use it; there is no other parser for such rules.
//
// A rule answers three questions, which treat uncertainty differently: a hook that may be
// meant runs (Fires), a call that may be meant is refused (Forbids), and only a call that is
// certainly meant is allowed (Permits).
type Rule struct {
	Tool string // tool name as written; may contain "*" for MCP tools
	Spec string // the text in the brackets; empty means every call
	text string
}

// Call is a tool call that rules are applied to.
type Call struct {
	Tool  string
	Input json.RawMessage
	Cwd   string // absolute; relative path specifiers start here
	Root  string // absolute; the member's workspace
}

// String returns the rule as it was written.
func (r Rule) String() string { return r.text }

// Err is returned by Parse when the text is not `Tool` or `Tool(specifier)`.
var Err = errors.New("not a permission rule")

// toolName matches what a rule may name: a tool, or MCP tools with "*".
var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(mcp__[\w.:*-]+|[A-Za-z_][\w.:-]*)$`) })

// Parse parses one permission rule. The error wraps Err.
func Parse(s string) (Rule, error) {
	text := strings.TrimSpace(s)
	tool, spec, bracket := strings.Cut(text, "(")
	if bracket {
		if !strings.HasSuffix(spec, ")") || escaped(spec, len(spec)-1) {
			return Rule{}, fmt.Errorf("%w: %.80q lacks a closing bracket at its end", Err, s)
		}
		spec = spec[:len(spec)-1]
	}
	switch {
	case tool == "":
		return Rule{}, fmt.Errorf("%w: %.80q names no tool: write Tool or Tool(specifier)", Err, s)
	case tool == "*":
		return Rule{}, fmt.Errorf("%w: * cannot stand for all tools: write one rule for each tool", Err)
	case !toolName().MatchString(tool):
		return Rule{}, fmt.Errorf("%w: %.80q cannot be a tool: write Tool or Tool(specifier)", Err, tool)
	case strings.ContainsRune(spec, 0):
		return Rule{}, fmt.Errorf("%w: %.80q contains the character NUL", Err, s)
	}
	spec = strings.NewReplacer(`\(`, `(`, `\)`, `)`).Replace(strings.TrimSpace(spec))
	if spec == "*" || spec == ":*" {
		spec = ""
	}
	return Rule{Tool: tool, Spec: spec, text: text}, nil
}

// WholeTool returns the rule for every call of the tool that s names, for an s with a
// mistake in its brackets. ok is false if s names no tool or has no brackets.
func WholeTool(s string) (rule Rule, ok bool) {
	tool, _, bracket := strings.Cut(strings.TrimSpace(s), "(")
	rule, err := Parse(tool)
	return rule, bracket && err == nil
}

// escaped reports whether the byte at i has an odd number of backslashes before it.
func escaped(s string, i int) bool {
	n := 0
	for i > n && s[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// Fires reports whether a hook with r as its `if` runs for c. It returns true if that cannot
// be decided.
func (r Rule) Fires(c Call) bool { return r.ask(c, firing) }

// MayFire reports whether a hook with r as its `if` can run for some call of a tool.
func (r Rule) MayFire(tool string) bool { return r.concerns(tool, firing) }

// Permits reports whether r, in an allow list, certainly allows c by itself. Several rules
// together may allow a command line of several commands: see PermittedBy.
func (r Rule) Permits(c Call) bool { return r.ask(c, permitting) }

// Forbids reports whether r, in a deny or ask list, matches c. It returns true if that
// cannot be decided. For the shell it looks everywhere in the command line where a command
// could be, and a rule for Read also forbids commands that name a file and read it.
func (r Rule) Forbids(c Call) bool {
	if r.Tool == "Read" && r.Spec != "" && c.Tool == "Bash" {
		line, err := readLine(c)
		if err != nil {
			return true
		}
		_, yes := r.readIn(line, c)
		return yes
	}
	return r.ask(c, forbidding)
}

// Part returns the part of a shell call's command line for which r forbids the call. It is empty
// for other calls, and for a line that cannot be read.
func (r Rule) Part(c Call) string {
	line, err := readLine(c)
	if c.Tool != "Bash" || err != nil {
		return ""
	}
	part := ""
	switch {
	case r.Tool == "Read":
		part, _ = r.readIn(line, c)
	case r.Spec != "":
		part, _ = r.catchesIn(line)
	}
	return part
}

// question is one of the three questions to a rule.
type question uint8

const (
	firing question = iota
	permitting
	forbidding
)

// doubt is the answer to a question that cannot be decided.
func (q question) doubt() bool { return q != permitting }

// ask answers a question.
func (r Rule) ask(c Call, q question) bool {
	if !r.concerns(c.Tool, q) {
		return false
	}
	switch {
	case r.Spec == "":
		return true
	case c.Tool == "Bash":
		return r.askShell(c, q)
	case slices.Contains(pathTools(), c.Tool):
		return r.askPath(c, q)
	case strings.HasPrefix(r.Spec, "domain:"):
		return r.askDomain(c, q)
	}
	return r.askParameter(c, q)
}

// concerns reports whether a question to r can be about a tool. An `if` for Edit is not
// about Write, as recorded hosts run no hook then.
func (r Rule) concerns(tool string, q question) bool {
	return r.names(tool) && (q != firing || r.Tool != "Edit" || tool != "Write")
}

// names reports whether r is about a tool. A permission rule for Edit is about all tools
// that edit, one for Read about all that read files.
func (r Rule) names(tool string) bool {
	switch {
	case tool == r.Tool:
		return true
	case r.Tool == "Edit":
		return slices.Contains([]string{"Write", "MultiEdit", "NotebookEdit"}, tool)
	case r.Tool == "Read" && r.Spec != "":
		return slices.Contains([]string{"Glob", "Grep", "LS"}, tool)
	case r.Tool == "Task" || r.Tool == "Agent":
		return tool == "Task" || tool == "Agent"
	case strings.HasPrefix(r.Tool, "mcp__"):
		server := !strings.Contains(r.Tool[len("mcp__"):], "__")
		return server && strings.HasPrefix(tool, r.Tool+"__") || texts.Wild(r.Tool, tool)
	}
	return false
}

// Lists reports whether a tool is on a list of tools. For tools of MCP servers such a list has their
// names, mcp__SERVER, or a pattern such as mcp__SERVER__*.
func Lists(names []string, tool string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name == tool || strings.HasPrefix(name, "mcp__") && Rule{Tool: name}.names(tool)
	})
}

// PermittedBy reports whether rules together allow c, and returns the first that has a part
// in it. In a sequence of commands (by ;, newline, &&, || or |) each command must be
// allowed by one of them.
func PermittedBy(rules []Rule, c Call) (Rule, bool) {
	for _, r := range rules {
		if r.Permits(c) {
			return r, true
		}
	}
	if c.Tool != "Bash" {
		return Rule{}, false
	}
	line, err := readLine(c)
	if err != nil || !line.Certain {
		return Rule{}, false
	}
	var first Rule
	for _, command := range line.Of(shell.Written) {
		i := slices.IndexFunc(rules, func(r Rule) bool {
			return r.names("Bash") && (r.Spec == "" || shellMatch(r.Spec, command.Source))
		})
		if i < 0 {
			return Rule{}, false
		}
		if first.text == "" {
			first = rules[i]
		}
	}
	return first, len(line.Commands) > 0
}
