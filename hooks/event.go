package hooks

// Event names a moment at which hooks run. The names are the wire names of
// HOOKS.md section 1 and stand in settings files as they are here.
type Event string

// The events of HOOKS.md section 1.
const (
	SessionStart        Event = "SessionStart"
	Setup               Event = "Setup"
	SessionEnd          Event = "SessionEnd"
	UserPromptSubmit    Event = "UserPromptSubmit"
	UserPromptExpansion Event = "UserPromptExpansion"
	PreToolUse          Event = "PreToolUse"
	PermissionRequest   Event = "PermissionRequest"
	PermissionDenied    Event = "PermissionDenied"
	PostToolUse         Event = "PostToolUse"
	PostToolUseFailure  Event = "PostToolUseFailure"
	PostToolBatch       Event = "PostToolBatch"
	Notification        Event = "Notification"
	MessageDisplay      Event = "MessageDisplay"
	SubagentStart       Event = "SubagentStart"
	SubagentStop        Event = "SubagentStop"
	Stop                Event = "Stop"
	StopFailure         Event = "StopFailure"
	TeammateIdle        Event = "TeammateIdle"
	TaskCreated         Event = "TaskCreated"
	TaskCompleted       Event = "TaskCompleted"
	PreCompact          Event = "PreCompact"
	PostCompact         Event = "PostCompact"
	PreModelSwitch      Event = "PreModelSwitch"
	PostModelSwitch     Event = "PostModelSwitch"
	ConfigChange        Event = "ConfigChange"
	InstructionsLoaded  Event = "InstructionsLoaded"
	CwdChanged          Event = "CwdChanged"
	DirectoryAdded      Event = "DirectoryAdded"
	FileChanged         Event = "FileChanged"
	WorktreeCreate      Event = "WorktreeCreate"
	WorktreeRemove      Event = "WorktreeRemove"
	Elicitation         Event = "Elicitation"
	ElicitationResult   Event = "ElicitationResult"
)
