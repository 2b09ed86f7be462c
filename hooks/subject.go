package hooks

import (
	"encoding/json"
	"strings"

	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/texts"
)

// toolUse holds the common fields of tool events' payloads.
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
			return toolUse{texts.Text(p.field("tool_name")), p.field("tool_input"),
				texts.Text(p.field("tool_use_id"))}, true
		}
	}
	return toolUse{}, false
}

// Call returns the tool call that in is about, for matching rules. root is the member's
// workspace. The second result is false if in is not about a call.
func (in Input) Call(root string) (rules.Call, bool) {
	use, ok := in.toolUse()
	return rules.Call{Tool: use.name, Input: use.input, Cwd: in.Cwd, Root: root}, ok
}

// Subject returns what matchers of the input's event are applied to, such as the name of a
// tool, or "".
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
		return in.AgentType // a common field
	case RawPayload:
		return in.rawSubject(p, known)
	case subjecter:
		return p.subject()
	}
	use, _ := in.toolUse()
	return use.name
}

// rawSubject returns the subject of a RawPayload.
func (in Input) rawSubject(p RawPayload, known *EventInfo) string {
	switch {
	case known.Matcher == "":
		return ""
	case known.Matcher == "agent_type":
		return in.AgentType // a common field
	case known.Event == FileChanged:
		return baseName(texts.Text(p.field(known.Matcher)))
	}
	return texts.Text(p.field(known.Matcher))
}

// Member returns the member that the payload, or else agent_id, names and its team, or "".
func (in Input) Member() (team, member string) {
	switch p := in.Payload.(type) {
	case StopInput:
		team, member = p.TeamName, p.TeammateName
	case TeammateIdleInput:
		team, member = p.TeamName, p.TeammateName
	case TaskCreatedInput:
		team, member = p.TeamName, p.TeammateName
	case TaskCompletedInput:
		team, member = p.TeamName, p.TeammateName
	case RawPayload:
		team, member = texts.Text(p.field("team_name")), texts.Text(p.field("teammate_name"))
	}
	// The agent_id of a helper has no team.
	if name, of, ok := strings.Cut(in.AgentID, "@"); ok && member == "" {
		return of, name
	}
	return team, member
}

// HookName returns how texts for the model name a hook of this event: tool events add their
// tool, and SessionStart adds its source.
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

// ToolUseID returns the ID of the tool call that in is about, or "".
func (in Input) ToolUseID() string {
	use, _ := in.toolUse()
	return use.id
}
