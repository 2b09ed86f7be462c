package hooks

import (
	"encoding/json"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/rules"
)

// toolUse is what the payloads of tool events have in common.
type toolUse struct {
	name  string
	input json.RawMessage
	id    string
}

// toolUse returns the tool call that in is about. ok is false for other events.
func (in Input) toolUse() (use toolUse, ok bool) {
	switch p := in.Payload.(type) {
	case PreToolUseInput:
		return toolUse{p.ToolName, p.ToolInput, p.ToolUseID}, true
	case PostToolUseInput:
		return toolUse{p.ToolName, p.ToolInput, p.ToolUseID}, true
	case PostToolUseFailureInput:
		return toolUse{p.ToolName, p.ToolInput, p.ToolUseID}, true
	case PermissionRequestInput:
		return toolUse{p.ToolName, p.ToolInput, ""}, true
	case PermissionDeniedInput:
		return toolUse{p.ToolName, p.ToolInput, p.ToolUseID}, true
	case RawPayload:
		if InfoOf(p.Name).AboutTool() {
			return toolUse{rawjson.Text(p.field("tool_name")), p.field("tool_input"),
				rawjson.Text(p.field("tool_use_id"))}, true
		}
	}
	return toolUse{}, false
}

// Call returns the tool call that in is about, to hold rules against. root is
// the member's workspace. Its second result is false if in is about no call.
func (in Input) Call(root string) (rules.Call, bool) {
	use, ok := in.toolUse()
	return rules.Call{Tool: use.name, Input: use.input, Cwd: in.Cwd, Root: root}, ok
}

// Subject is what matchers of the input's event are held against, such as the
// name of a tool; empty: nothing.
func (in Input) Subject() string {
	known := InfoOf(in.Payload.Event())
	switch p := in.Payload.(type) {
	case SessionStartInput:
		return p.Source
	case SessionEndInput:
		return p.Reason
	case StopFailureInput:
		return p.Error
	case NotificationInput:
		return p.NotificationType
	case SubagentStartInput, SubagentStopInput:
		return in.AgentType // it stands among the common fields
	case RawPayload:
		return in.rawSubject(p, known)
	case subjected:
		return p.subject()
	}
	use, _ := in.toolUse()
	return use.name
}

// rawSubject finds the subject of an event that has no type of its own yet.
func (in Input) rawSubject(p RawPayload, known *EventInfo) string {
	switch {
	case known.Matcher == "":
		return ""
	case known.Matcher == "agent_type":
		return in.AgentType // it stands among the common fields
	case known.Event == FileChanged:
		return baseName(rawjson.Text(p.field(known.Matcher)))
	}
	return rawjson.Text(p.field(known.Matcher))
}

// Member says whose event it is, if the payload says so.
func (in Input) Member() (team, member string) {
	switch p := in.Payload.(type) {
	case StopInput:
		return p.TeamName, p.TeammateName
	case TeammateIdleInput:
		return p.TeamName, p.TeammateName
	case TaskCreatedInput:
		return p.TeamName, p.TeammateName
	case TaskCompletedInput:
		return p.TeamName, p.TeammateName
	case RawPayload:
		return rawjson.Text(p.field("team_name")), rawjson.Text(p.field("teammate_name"))
	}
	return "", ""
}

// HookName is how texts for the model call a hook of this event: tool events
// name their tool, and SessionStart names its source.
func (in Input) HookName() string {
	event := in.Payload.Event()
	if use, ok := in.toolUse(); ok && use.name != "" {
		return string(event) + ":" + use.name
	}
	if source := in.Subject(); event == SessionStart && source != "" {
		return string(event) + ":" + source
	}
	return string(event)
}

// ToolUseID is the ID of the tool call that in is about; empty: it has none.
func (in Input) ToolUseID() string {
	use, _ := in.toolUse()
	return use.id
}
