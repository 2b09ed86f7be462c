package hooks

// Event names a moment at which hooks run. The names are those of HOOKS.md section 1, as
// they appear in settings files.
type Event string

// The events of HOOKS.md section 1, by the moment at which each fires.
const (
	// SessionStart: a session begins, continues, or was cleared or compacted.
	SessionStart Event = "SessionStart"
	// Setup: the workspace is prepared or maintained before any session.
	Setup Event = "Setup"
	// SessionEnd: a session ends. All its hooks together have 1.5 seconds.
	SessionEnd Event = "SessionEnd"
	// UserPromptSubmit: a person's prompt is about to reach the model.
	UserPromptSubmit Event = "UserPromptSubmit"
	// UserPromptExpansion: a typed command is about to become a prompt.
	UserPromptExpansion Event = "UserPromptExpansion"
	// PreToolUse: a tool call is about to be made, before permissions are asked.
	PreToolUse Event = "PreToolUse"
	// PermissionRequest: a person is about to be asked about a tool call.
	PermissionRequest Event = "PermissionRequest"
	// PermissionDenied: a tool call was denied automatically.
	PermissionDenied Event = "PermissionDenied"
	// PostToolUse: a tool call has succeeded.
	PostToolUse Event = "PostToolUse"
	// PostToolUseFailure: a tool call that had started has failed.
	PostToolUseFailure Event = "PostToolUseFailure"
	// PostToolBatch: all calls of one response are done, before the next request.
	PostToolBatch Event = "PostToolBatch"
	// Notification: attached users are notified of something.
	Notification Event = "Notification"
	// MessageDisplay: lines of the model's text are about to be shown.
	MessageDisplay Event = "MessageDisplay"
	// SubagentStart: a helper inside a member begins.
	SubagentStart Event = "SubagentStart"
	// SubagentStop: a helper inside a member wants to stop.
	SubagentStop Event = "SubagentStop"
	// Stop: a member has stopped calling tools and wants its turn to end.
	Stop Event = "Stop"
	// StopFailure: an API error has ended the turn. Its hooks decide nothing.
	StopFailure Event = "StopFailure"
	// TeammateIdle: a teammate is about to become idle.
	TeammateIdle Event = "TeammateIdle"
	// TaskCreated: a task is proposed; it exists once the hooks agree.
	TaskCreated Event = "TaskCreated"
	// TaskCompleted: a task is about to be completed, or its owner is about to stop.
	TaskCompleted Event = "TaskCompleted"
	// PreCompact: the conversation is about to be compacted.
	PreCompact Event = "PreCompact"
	// PostCompact: the conversation has been compacted.
	PostCompact Event = "PostCompact"
	// PreModelSwitch: the model is about to be changed on request.
	PreModelSwitch Event = "PreModelSwitch"
	// PostModelSwitch: the model has been changed.
	PostModelSwitch Event = "PostModelSwitch"
	// ConfigChange: a settings file has changed and is about to take effect.
	ConfigChange Event = "ConfigChange"
	// InstructionsLoaded: a file of instructions was read.
	InstructionsLoaded Event = "InstructionsLoaded"
	// CwdChanged: the member's working directory has changed.
	CwdChanged Event = "CwdChanged"
	// DirectoryAdded: a folder was added to the session.
	DirectoryAdded Event = "DirectoryAdded"
	// FileChanged: a watched file has changed on disk.
	FileChanged Event = "FileChanged"
	// WorktreeCreate: a worktree is needed; a hook creates it instead of git.
	WorktreeCreate Event = "WorktreeCreate"
	// WorktreeRemove: a worktree was removed.
	WorktreeRemove Event = "WorktreeRemove"
	// Elicitation: an MCP server asks a person for input.
	Elicitation Event = "Elicitation"
	// ElicitationResult: that person has answered.
	ElicitationResult Event = "ElicitationResult"
)
