package permission

import (
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate/agent"
)

// ShellBreaks returns the deny or ask rule that forbids one of the commands by which a program
// may have made a call. as is the call itself.
func (p Policy) ShellBreaks(call agent.ToolCall, as rules.Call) (rule string, broke bool) {
	for _, line := range call.Shell {
		input, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			continue // a string always encodes
		}
		as.Tool, as.Input = "Bash", input
		if r, broke := ForbiddenBy(slices.Concat(p.Deny, p.Ask), as); broke {
			return r.String(), true
		}
	}
	return "", false
}

// Undecidable returns a deny or ask rule that may apply to a call of which the program reported
// too little: a shell call without its command, a file tool without its path, or an unnamed
// tool. It returns "" if the rules can decide.
func (p Policy) Undecidable(call agent.ToolCall) string {
	for _, r := range slices.Concat(p.Deny, p.Ask) {
		unknown := false
		switch call.Name {
		case "Tool": // the name that package acp gives to a tool without a name
			unknown = true
		case "Bash":
			unknown = (r.Tool == "Bash" || r.Tool == "Read" && r.Spec != "") && Command(call) == ""
		case "Read", "Edit", "Write", "MultiEdit", "NotebookEdit":
			unknown = (r.Tool == call.Name || r.Tool == "Edit" && call.Name != "Read") && !namesFile(call.Input)
		}
		if unknown {
			return r.String()
		}
	}
	return ""
}

// ProgramTool returns the spec of an agent program's own tool as far as its name implies it.
func ProgramTool(call agent.ToolCall) *Tool {
	spec := agent.Spec{Name: call.Name}
	switch call.Name {
	case "Grep", "Glob", "LS":
		spec.ReadOnly = true
	case "Read", "NotebookRead":
		spec.ReadOnly = namesFile(call.Input)
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		spec.Edits = namesFile(call.Input)
	}
	return &Tool{Spec: spec}
}

// namesFile reports whether an input names its file. Without that it is unknown whether the call
// stays inside the workspace.
func namesFile(input json.RawMessage) bool {
	var in struct {
		FilePath string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	return json.Unmarshal(input, &in) == nil && in.FilePath+in.Notebook != ""
}

// Command returns the command of a shell call as a text to follow the tool's name.
func Command(call agent.ToolCall) string {
	var in struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(call.Input, &in) != nil || in.Command == "" {
		return ""
	}
	return " with command " + in.Command
}

// RuleFor returns the rule that allows a call and calls like it: those of the same command, or
// of the same host.
func RuleFor(call agent.ToolCall) hooks.PermissionRule {
	rule := hooks.PermissionRule{ToolName: call.Name}
	var in struct {
		Command string `json:"command"`
		URL     string `json:"url"`
	}
	if json.Unmarshal(call.Input, &in) != nil {
		return rule
	}
	rule.RuleContent = in.Command
	if to, err := url.Parse(in.URL); call.Name == "WebFetch" && err == nil && to.Hostname() != "" {
		rule.RuleContent = "domain:" + to.Hostname()
	}
	return rule
}

// Permitted holds the calls that an agent program may make itself, by id, with the time of
// permission.
type Permitted map[string]time.Time

// Add records that a call is permitted from now on.
func (p *Permitted) Add(id string) {
	if *p == nil {
		*p = Permitted{}
	}
	(*p)[id] = time.Now()
}

// Has reports whether a call was permitted.
func (p Permitted) Has(id string) bool { return !p[id].IsZero() }

// Since returns how many milliseconds ago a call was permitted, or 0 if it was not.
func (p Permitted) Since(id string) int64 {
	if !p.Has(id) {
		return 0
	}
	return time.Since(p[id]).Milliseconds()
}
