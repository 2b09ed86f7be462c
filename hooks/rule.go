package hooks

import "encoding/json"

// Rule is one permission rule, `Tool` or `Tool(specifier)`. It serves as the
// `if` of a hook and in permission lists; there is no other parser for them.
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
