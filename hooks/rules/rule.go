// Package rules reads what says which tool calls and events something is for:
// permission rules such as Bash(git push *), which serve in permission lists and
// as the `if` of hooks, the shell lines that they are held against, and the
// matchers of hooks. It makes no promise of compatibility to programs outside
// covey.
//
// Nothing here runs or decides anything: a Rule answers questions about a Call,
// and the caller decides what follows from the answer.
package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
)

// Rule is one permission rule, `Tool` or `Tool(specifier)`. It serves as the
// `if` of a hook and in permission lists; there is no other parser for them.
//
// The same rule is asked in three ways, because a doubt has to end differently:
// a hook that may be meant runs (Fires), a call that may be meant is refused
// (Forbids), and only what is certain is allowed (Permits).
type Rule struct {
	Tool string // tool name as written; may hold "*" for MCP tools
	Spec string // what stands in the brackets; empty: every call
	text string
}

// Call is a tool call that a rule is held against.
type Call struct {
	Tool  string
	Input json.RawMessage
	Cwd   string // absolute; relative path specifiers start here
	Root  string // absolute; the member's workspace
}

// String is the rule as it was written.
func (r Rule) String() string { return r.text }

// Err is returned by Parse when the text is not `Tool` or `Tool(specifier)`.
var Err = errors.New("not a permission rule")

// toolName is what a rule may name: a tool, or MCP tools by "*".
var toolName = regexp.MustCompile(`^(mcp__[\w.:*-]+|[A-Za-z_][\w.:-]*)$`)

// Parse reads one permission rule. The error is Err with what is wrong.
func Parse(s string) (Rule, error) {
	text := strings.TrimSpace(s)
	tool, spec, bracket := strings.Cut(text, "(")
	if bracket {
		if !strings.HasSuffix(spec, ")") || escaped(spec, len(spec)-1) {
			return Rule{}, fmt.Errorf("%w: %q lacks a closing bracket at its end", Err,
				notation.Preview(s, 80))
		}
		spec = spec[:len(spec)-1]
	}
	switch {
	case tool == "":
		return Rule{}, fmt.Errorf("%w: %q names no tool: write Tool or Tool(specifier)", Err,
			notation.Preview(s,
				80))
	case tool == "*":
		return Rule{}, fmt.Errorf("%w: * stands for no tool: write one rule for each tool", Err)
	case !toolName.MatchString(tool):
		return Rule{}, fmt.Errorf("%w: %q cannot be a tool: write Tool or Tool(specifier)", Err,
			notation.Preview(tool, 80))
	case strings.ContainsRune(spec, 0):
		return Rule{}, fmt.Errorf("%w: %q contains the character NUL", Err, notation.Preview(s, 80))
	}
	spec = strings.NewReplacer(`\(`, `(`, `\)`, `)`).Replace(strings.TrimSpace(spec))
	if spec == "*" || spec == ":*" {
		spec = ""
	}
	return Rule{Tool: tool, Spec: spec, text: text}, nil
}

// WholeTool is what remains of a rule with a mistake in its brackets: a rule for
// every call of its tool. ok is false if s names no tool, or has no brackets.
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

// Fires reports whether a hook with r as its `if` runs for c: also when that
// cannot be told.
func (r Rule) Fires(c Call) bool { return r.ask(c, firing) }

// MayFire reports whether a hook with r as its `if` can run for calls of a tool.
func (r Rule) MayFire(tool string) bool { return r.concerns(tool, firing) }

// Permits reports whether r, standing in an allow list, allows c all by itself
// and for certain. A command line made of several commands can also be allowed
// by several rules together: see PermittedBy.
func (r Rule) Permits(c Call) bool { return r.ask(c, permitting) }

// Forbids reports whether r, standing in a deny or ask list, catches c: also
// when that cannot be told. For the shell it looks everywhere in the command
// line where a command could stand.
func (r Rule) Forbids(c Call) bool { return r.ask(c, forbidding) }

// question is one of the three ways to ask.
type question uint8

const (
	firing question = iota
	permitting
	forbidding
)

// doubt is the answer where nothing can be told.
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

// concerns reports whether a question to r can be about a tool. An `if` for Edit
// is not about Write: recorded hosts run no hook then.
func (r Rule) concerns(tool string, q question) bool {
	return r.names(tool) && (q != firing || r.Tool != "Edit" || tool != "Write")
}

// Concerns reports whether a hook with r as its `if` can run for calls of a tool.
func (r Rule) Concerns(tool string) bool { return r.concerns(tool, firing) }

// names reports whether r is about a tool at all. A permission rule for Edit is
// about everything that edits, one for Read about everything that reads files.
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
		return server && strings.HasPrefix(tool, r.Tool+"__") || Wild(r.Tool, tool)
	}
	return false
}

// PermittedBy reports whether rules together allow c, and names the first that
// has a part in it. Of a command line that is a row of commands (by ;, newline,
// &&, || or |) each must be allowed by one of them.
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
	if err != nil || !line.certain {
		return Rule{}, false
	}
	var first Rule
	for _, command := range line.commands {
		i := slices.IndexFunc(rules, func(r Rule) bool {
			return r.names("Bash") && (r.Spec == "" || shellMatch(r.Spec, command.source))
		})
		if i < 0 {
			return Rule{}, false
		}
		if first.text == "" {
			first = rules[i]
		}
	}
	return first, len(line.commands) > 0
}
