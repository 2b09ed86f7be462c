package hooks

import "encoding/json"

// Settings is the hooks section of a settings file: for each event the groups
// that listen to it (HOOKS.md section 3).
type Settings map[Event][]Group

// Group is a matcher with the handlers that it guards.
type Group struct {
	Matcher string    `json:"matcher,omitempty" yaml:"matcher,omitempty"`
	Hooks   []Handler `json:"hooks" yaml:"hooks"`
}

// Handler is one configured hook. Fields that its Type does not know are
// ignored by it.
type Handler struct {
	Type          string   `json:"type" yaml:"type"` // command, http, mcp_tool, prompt or agent
	If            string   `json:"if,omitempty" yaml:"if,omitempty"`
	Timeout       float64  `json:"timeout,omitempty" yaml:"timeout,omitempty"` // seconds; 0: default
	StatusMessage string   `json:"statusMessage,omitempty" yaml:"statusMessage,omitempty"`
	Once          bool     `json:"once,omitempty" yaml:"once,omitempty"`
	OnFailure     string   `json:"onFailure,omitempty" yaml:"onFailure,omitempty"` // continue or block
	Command       string   `json:"command,omitempty" yaml:"command,omitempty"`
	Args          []string `json:"args,omitempty" yaml:"args,omitempty"` // present: exec form, no shell
	Shell         string   `json:"shell,omitempty" yaml:"shell,omitempty"`
	Async         bool     `json:"async,omitempty" yaml:"async,omitempty"`
	AsyncRewake   bool     `json:"asyncRewake,omitempty" yaml:"asyncRewake,omitempty"`

	URL            string            `json:"url,omitempty" yaml:"url,omitempty"`
	Headers        map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
	AllowedEnvVars []string          `json:"allowedEnvVars,omitempty" yaml:"allowedEnvVars,omitempty"`

	Prompt          string `json:"prompt,omitempty" yaml:"prompt,omitempty"`
	Model           string `json:"model,omitempty" yaml:"model,omitempty"`
	ContinueOnBlock bool   `json:"continueOnBlock,omitempty" yaml:"continueOnBlock,omitempty"`

	Server string                     `json:"server,omitempty" yaml:"server,omitempty"`
	Tool   string                     `json:"tool,omitempty" yaml:"tool,omitempty"`
	Input  map[string]json.RawMessage `json:"input,omitempty" yaml:"input,omitempty"`

	// Gate marks a hook that came from the spec's `gates:`. It is never read
	// from a file: a gate that cannot run refuses instead of failing open, and
	// any exit code but 0 refuses with the end of its output (DESIGN 4).
	Gate bool `json:"-" yaml:"-"`
	// Policy is the name of a policy that ships with covey; only gates have it.
	Policy string `json:"-" yaml:"-"`
}
