package hooks

import (
	"slices"
	"time"

	"github.com/coveyteam/covey/hooks/wording"
)

// effect says what becomes of a hook that refuses: who gets to see why, and
// whether the refusal counts at all.
type effect uint8

const (
	ignored    effect = iota // nobody is told; a warning says that it had no effect
	toUser                   // a person sees the text; nothing is refused
	refuses                  // refused, the text is for a person
	toTool                   // refused, the text becomes the tool call's error
	toResult                 // too late to refuse: the text goes beside the tool's result
	toFeedback               // refused, the text goes to the model as feedback
)

// traits is what HOOKS.md section 1 says about one event.
type traits struct {
	event    Event
	field    string   // JSON name of the field that matchers are held against; "": matchers are ignored
	exit2    effect   // what exit 2 does
	decision effect   // what {"decision":"block"} does
	halts    bool     // continue:false counts
	plain    bool     // plain stdout is context for the model
	mode     bool     // permission_mode is sent
	discards bool     // systemMessage is thrown away
	handlers string   // the handler types allowed: A all five, B not prompt and agent, C command and mcp_tool
	fires    bool     // this version of covey fires it by itself
	outputs  []string // fields of hookSpecificOutput that count
}

// catalog is the table of all events in the order of HOOKS.md section 1.
func catalog() []traits {
	context := []string{"additionalContext"}
	return []traits{
		{event: SessionStart, field: "source", exit2: toUser, plain: true, handlers: "C", fires: true,
			outputs: []string{"additionalContext", "initialUserMessage", "sessionTitle", "watchPaths",
				"reloadSkills"}},
		{event: Setup, field: "trigger", exit2: toUser, fires: true, handlers: "C", outputs: context},
		{event: SessionEnd, field: "reason", exit2: toUser, discards: true, handlers: "B", fires: true},
		{event: UserPromptSubmit, exit2: refuses, decision: refuses, halts: true, plain: true, mode: true,
			handlers: "A",
			fires:    true, outputs: []string{"additionalContext", "sessionTitle", "suppressOriginalPrompt"}},
		{event: UserPromptExpansion, field: "command_name", exit2: refuses, decision: refuses, halts: true,
			plain: true,
			mode:  true, fires: true, handlers: "A",
			outputs: []string{"additionalContext", "suppressOriginalPrompt"}},
		{event: PreToolUse, field: "tool_name", exit2: toTool, decision: toTool, halts: true, mode: true,
			handlers: "A",
			fires:    true, outputs: []string{"additionalContext", "permissionDecision",
				"permissionDecisionReason", "updatedInput"}},
		{event: PermissionRequest, field: "tool_name", mode: true, fires: true, handlers: "A",
			outputs: []string{"decision"}},
		{event: PermissionDenied, field: "tool_name", mode: true, fires: true, handlers: "A",
			outputs: []string{"retry"}},
		{event: PostToolUse, field: "tool_name", exit2: toResult, decision: toResult, halts: true, mode: true,
			handlers: "A", fires: true, outputs: []string{"additionalContext", "updatedToolOutput",
				"updatedMCPToolOutput", "classifierContext"}},
		{event: PostToolUseFailure, field: "tool_name", exit2: toResult, decision: toResult, halts: true,
			mode:     true,
			handlers: "A", fires: true, outputs: context},
		{event: PostToolBatch, exit2: toResult, decision: toResult, halts: true, mode: true, fires: true,
			handlers: "A",
			outputs:  context},
		{event: Notification, field: "notification_type", discards: true, handlers: "B", fires: true},
		{event: MessageDisplay, exit2: ignored, handlers: "B", fires: true,
			outputs: []string{"displayContent"}},
		{event: SubagentStart, field: "agent_type", exit2: toUser, handlers: "B", fires: true,
			outputs: context},
		{event: SubagentStop, field: "agent_type", exit2: toFeedback, decision: toFeedback, halts: true,
			mode:     true,
			handlers: "A", fires: true, outputs: context},
		{event: Stop, exit2: toFeedback, decision: toFeedback, halts: true, mode: true, handlers: "A",
			fires:   true,
			outputs: context},
		{event: StopFailure, field: "error", discards: true, handlers: "B", fires: true},
		{event: TeammateIdle, exit2: toFeedback, decision: toFeedback, halts: true, mode: true, handlers: "A",
			fires: true},
		{event: TaskCreated, exit2: toFeedback, decision: toFeedback, handlers: "A", fires: true},
		{event: TaskCompleted, exit2: toFeedback, decision: toFeedback, halts: true, mode: true,
			handlers: "A",
			fires:    true},
		{event: PreCompact, field: "trigger", exit2: refuses, decision: refuses, discards: true,
			handlers: "B"},
		{event: PostCompact, field: "trigger", exit2: toUser, handlers: "B"},
		{event: PreModelSwitch, field: "to_model", exit2: refuses, decision: refuses, handlers: "B",
			outputs: []string{"permissionDecision", "permissionDecisionReason"}},
		{event: PostModelSwitch, field: "to_model", exit2: toUser, handlers: "B", outputs: context},
		{event: ConfigChange, field: "source", exit2: refuses, decision: refuses, handlers: "B", fires: true},
		{event: InstructionsLoaded, field: "load_reason", fires: true, handlers: "B"},
		{event: CwdChanged, exit2: toUser, fires: true, handlers: "B", outputs: []string{"watchPaths"}},
		{event: DirectoryAdded, field: "source", fires: true, handlers: "B"},
		{event: FileChanged, field: "file_path", exit2: toUser, fires: true, handlers: "B",
			outputs: []string{"watchPaths"}},
		{event: WorktreeCreate, exit2: refuses, handlers: "B", fires: true,
			outputs: []string{"worktreePath"}},
		{event: WorktreeRemove, handlers: "B", fires: true},
		{event: Elicitation, field: "mcp_server_name", exit2: refuses, handlers: "B",
			outputs: []string{"action", "content"}},
		{event: ElicitationResult, field: "mcp_server_name", exit2: refuses, handlers: "B",
			outputs: []string{"action", "content"}},
	}
}

// table is the catalog by name. It is the package's one piece of fixed data.
var table = func() map[Event]*traits {
	m := map[Event]*traits{}
	for _, t := range catalog() {
		m[t.event] = &t
	}
	return m
}()

// traitsOf returns what is known of e. An unknown event has no effect.
func traitsOf(e Event) *traits {
	if t := table[e]; t != nil {
		return t
	}
	return &traits{event: e}
}

// aboutTool reports whether e is one of the five events that evaluate `if`.
func (t *traits) aboutTool() bool { return t.field == "tool_name" }

// allows reports whether hookSpecificOutput.name counts for the event.
func (t *traits) allows(name string) bool { return slices.Contains(t.outputs, name) }

// envFile reports whether the event's hooks get CLAUDE_ENV_FILE, to leave
// variables for later commands of the member.
func (t *traits) envFile() bool {
	switch t.event {
	case SessionStart, Setup, CwdChanged, FileChanged:
		return true
	}
	return false
}

// onFault is what a hook does that is to refuse when it cannot judge: what exit
// code 2 does, and on PermissionRequest a no, where exit code 2 means nothing.
func (t *traits) onFault() effect {
	if t.event == PermissionRequest {
		return toTool
	}
	return t.exit2
}

// endsTurn reports whether the event belongs to the turn end, where a refusal
// sends the agent back to work.
func (t *traits) endsTurn() bool {
	switch t.event {
	case Stop, SubagentStop, TaskCompleted, TeammateIdle:
		return true
	}
	return false
}

// defaultTimeout is how long a handler of that type may take for the event
// when it does not say itself (HOOKS.md section 3).
func (t *traits) defaultTimeout(handlerType string) time.Duration {
	switch handlerType {
	case "prompt":
		return 30 * time.Second
	case "agent":
		return 60 * time.Second
	}
	switch t.event {
	case UserPromptSubmit, PreModelSwitch, PostModelSwitch:
		return 30 * time.Second
	case MessageDisplay:
		return 10 * time.Second
	case SessionEnd:
		return sessionEndBudget
	}
	return 600 * time.Second
}

// Known reports whether e is an event that hooks can listen to.
func (e Event) Known() bool { return table[e] != nil }

// Nearest returns the event whose name is most like name, or "" if none is
// near enough to be what was meant.
func Nearest(name string) Event {
	var names []string
	for _, t := range catalog() {
		names = append(names, string(t.event))
	}
	return Event(wording.Nearest(name, names, len(name)/2))
}
