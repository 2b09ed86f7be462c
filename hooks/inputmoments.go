package hooks

import (
	"encoding/json"
	"path"
	"strings"
)

// SetupInput is the payload of Setup.
type SetupInput struct {
	Trigger string `json:"trigger"` // init or maintenance
}

// UserPromptExpansionInput is the payload of UserPromptExpansion.
type UserPromptExpansionInput struct {
	ExpansionType string `json:"expansion_type"` // slash_command or mcp_prompt
	CommandName   string `json:"command_name"`
	CommandArgs   string `json:"command_args"`
	CommandSource string `json:"command_source,omitempty"` // projectSettings, userSettings, plugin, …
	Prompt        string `json:"prompt"`                   // as typed
}

// PermissionRequestInput is the payload of PermissionRequest. It has no id of the call,
// because recorded hosts send none.
type PermissionRequestInput struct {
	ToolName    string             `json:"tool_name"`
	ToolInput   json.RawMessage    `json:"tool_input"`
	Suggestions []PermissionUpdate `json:"permission_suggestions,omitempty"`
	MCPServer   *MCPServer         `json:"mcp_server,omitempty"`
}

// PermissionUpdate is a change of a session's permissions. Type says which fields are set.
type PermissionUpdate struct {
	Type        string           `json:"type"`            // addRules, replaceRules, removeRules, setMode, addDirectories, removeDirectories
	Rules       []PermissionRule `json:"rules,omitempty"` // of addRules, replaceRules and removeRules
	Behavior    string           `json:"behavior,omitempty"`
	Mode        string           `json:"mode,omitempty"`        // of setMode
	Directories []string         `json:"directories,omitempty"` // of addDirectories and removeDirectories
	Destination string           `json:"destination"`           // session, localSettings, projectSettings or userSettings
}

// PermissionRule is one permission rule, in two parts.
type PermissionRule struct {
	ToolName    string `json:"toolName"`
	RuleContent string `json:"ruleContent,omitempty"`
}

// String returns the rule as it is written in settings files.
func (r PermissionRule) String() string {
	if r.RuleContent == "" {
		return r.ToolName
	}
	return r.ToolName + "(" + r.RuleContent + ")"
}

// PermissionDeniedInput is the payload of PermissionDenied.
type PermissionDeniedInput struct {
	ToolName  string          `json:"tool_name"`
	ToolInput json.RawMessage `json:"tool_input"`
	ToolUseID string          `json:"tool_use_id"`
	Reason    string          `json:"reason"`
	MCPServer *MCPServer      `json:"mcp_server,omitempty"`
}

// PostToolBatchInput is the payload of PostToolBatch.
type PostToolBatchInput struct {
	ToolCalls []BatchCall `json:"tool_calls"` // of one answer of the model, in order
}

// BatchCall is one call of a batch.
type BatchCall struct {
	ToolName     string          `json:"tool_name"`
	ToolInput    json.RawMessage `json:"tool_input"`
	ToolUseID    string          `json:"tool_use_id"`
	ToolResponse json.RawMessage `json:"tool_response,omitempty"` // what the model sees as its result
}

// InstructionsLoadedInput is the payload of InstructionsLoaded.
type InstructionsLoadedInput struct {
	FilePath        string   `json:"file_path"`
	MemoryType      string   `json:"memory_type"` // User, Project, Local or Managed
	LoadReason      string   `json:"load_reason"` // session_start, nested_traversal, path_glob_match, include, compact
	Globs           []string `json:"globs,omitempty"`
	TriggerFilePath string   `json:"trigger_file_path,omitempty"` // nested_traversal: the file that was read
	ParentFilePath  string   `json:"parent_file_path,omitempty"`  // include: the file that named it
}

// PreCompactInput is the payload of PreCompact.
type PreCompactInput struct {
	Trigger            string  `json:"trigger"`             // manual or auto
	CustomInstructions *string `json:"custom_instructions"` // of a person; null: none
}

// PostCompactInput is the payload of PostCompact.
type PostCompactInput struct {
	Trigger        string `json:"trigger"`
	CompactSummary string `json:"compact_summary"` // what took the conversation's place
}

// PreModelSwitchInput is the payload of PreModelSwitch.
type PreModelSwitchInput struct{ ModelSwitch }

// PostModelSwitchInput is the payload of PostModelSwitch.
type PostModelSwitchInput struct{ ModelSwitch }

// ModelSwitch is a change of a conversation's model.
type ModelSwitch struct {
	FromModel string  `json:"from_model"`
	ToModel   string  `json:"to_model"`
	Requested *string `json:"requested_model"` // as a person wrote it; null: nobody did
	Source    string  `json:"source"`          // command, picker, sdk, auto or resume
	// ContextTokens is the size of the conversation, estimated. None of it is in a cache of
	// the new model.
	ContextTokens int64 `json:"context_tokens"`
	CacheWarm     bool  `json:"prompt_cache_warm"`
}

// CwdChangedInput is the payload of CwdChanged.
type CwdChangedInput struct {
	OldCwd string `json:"old_cwd"`
	NewCwd string `json:"new_cwd"`
}

// DirectoryAddedInput is the payload of DirectoryAdded.
type DirectoryAddedInput struct {
	Directory string `json:"directory"`
	Source    string `json:"source"` // slash_command or register_repo_root
}

// MessageDisplayInput is the payload of MessageDisplay. Hosts that show text while it is
// written send it in parts; covey sends each message once, as a whole.
type MessageDisplayInput struct {
	TurnID    string `json:"turn_id"`
	MessageID string `json:"message_id"`
	Index     int    `json:"index"` // of the part
	Final     bool   `json:"final"` // this is the last part
	Delta     string `json:"delta"` // text of the part
}

// FileChangedInput is the payload of FileChanged.
type FileChangedInput struct {
	FilePath string `json:"file_path"`
	Change   string `json:"event"` // change, add or unlink
}

// Event returns Setup.
func (SetupInput) Event() Event { return Setup }

// Event returns UserPromptExpansion.
func (UserPromptExpansionInput) Event() Event { return UserPromptExpansion }

// Event returns PermissionRequest.
func (PermissionRequestInput) Event() Event { return PermissionRequest }

// Event returns PermissionDenied.
func (PermissionDeniedInput) Event() Event { return PermissionDenied }

// Event returns PostToolBatch.
func (PostToolBatchInput) Event() Event { return PostToolBatch }

// Event returns InstructionsLoaded.
func (InstructionsLoadedInput) Event() Event { return InstructionsLoaded }

// Event returns PreModelSwitch.
func (PreModelSwitchInput) Event() Event { return PreModelSwitch }

// Event returns PostModelSwitch.
func (PostModelSwitchInput) Event() Event { return PostModelSwitch }

// Event returns PreCompact.
func (PreCompactInput) Event() Event { return PreCompact }

// Event returns PostCompact.
func (PostCompactInput) Event() Event { return PostCompact }

// Event returns CwdChanged.
func (CwdChangedInput) Event() Event { return CwdChanged }

// Event returns DirectoryAdded.
func (DirectoryAddedInput) Event() Event { return DirectoryAdded }

// Event returns MessageDisplay.
func (MessageDisplayInput) Event() Event { return MessageDisplay }

// Event returns FileChanged.
func (FileChangedInput) Event() Event { return FileChanged }

// subjecter is a payload that returns the value that its event's matchers are applied to.
type subjecter interface{ subject() string }

func (p SetupInput) subject() string               { return p.Trigger }
func (p UserPromptExpansionInput) subject() string { return p.CommandName }
func (p InstructionsLoadedInput) subject() string  { return p.LoadReason }
func (p DirectoryAddedInput) subject() string      { return p.Source }
func (p PreCompactInput) subject() string          { return p.Trigger }
func (p PostCompactInput) subject() string         { return p.Trigger }
func (p ModelSwitch) subject() string              { return p.ToModel }
func (p FileChangedInput) subject() string         { return baseName(p.FilePath) }

// baseName returns the last element of a path of any system.
func baseName(file string) string { return path.Base(strings.ReplaceAll(file, `\`, "/")) }
