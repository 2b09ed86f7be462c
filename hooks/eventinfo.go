package hooks

import (
	"slices"

	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/texts"
)

// EventInfo describes one event (HOOKS.md section 1).
type EventInfo struct {
	Event    Event    `json:"event"`
	Matcher  string   `json:"matcher"`  // the input field that matchers are applied to; "" if matchers are ignored
	Values   []string `json:"values"`   // possible values of that field; empty if unlimited or there is none
	Fired    []string `json:"-"`        // those of Values that a team fires by itself; empty means all
	Exit2    Effect   `json:"exit_2"`   // what exit code 2 does
	Decision Effect   `json:"decision"` // what {"decision":"block"} does
	Blocks   bool     `json:"blocks"`   // exit 2 or decision:block refuses something
	Halts    bool     `json:"continue"` // continue:false has an effect
	Context  bool     `json:"context"`  // plain stdout becomes context for the model
	Mode     bool     `json:"-"`        // permission_mode is sent
	Discards bool     `json:"-"`        // systemMessage is discarded
	// Types are the allowed handler types: A is all five, B all but prompt and agent, C
	// command and mcp_tool.
	Types    string   `json:"-"`
	Handlers []string `json:"handlers"` // the allowed types by name; callbacks work for every event
	Fires    bool     `json:"fires"`    // this version fires it; other events are only fired by hand
	Requires string   `json:"later"`    // what firing it requires; empty if Fires
	Outputs  []string `json:"outputs"`  // fields of hookSpecificOutput that have an effect
}

// Effect describes what the refusal of a hook does: who sees the reason, and whether the refusal
// counts.
type Effect uint8

// The effects. Those from Refuses on refuse something.
const (
	Ignored    Effect = iota // nothing is shown; a warning says that it had no effect
	Shown                    // a person sees the text; nothing is refused
	Refuses                  // refused, the text is for a person
	ToolError                // refused, the text becomes the tool call's error
	WithResult               // too late to refuse: the text is added to the tool's result
	ToFeedback               // refused, the text goes to the model as feedback
)

// String returns the effect as one word, as in the documentation.
func (e Effect) String() string {
	return [...]string{"nothing", "shown", "refuses", "error", "beside", "feedback"}[e]
}

// MarshalText returns the word.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Events lists all events in the order of HOOKS.md section 1.
func Events() []EventInfo {
	infos := catalog()
	for i := range infos {
		infos[i].complete()
	}
	return infos
}

// complete fills in the fields that follow from the others.
func (t *EventInfo) complete() {
	t.Values, t.Fired = valuesOf(t.Event), firedOf(t.Event)
	t.Blocks = t.Exit2 >= Refuses
	if t.Outputs == nil {
		t.Outputs = []string{}
	}
	if !t.Fires {
		t.Requires = "a later version"
	}
	t.Handlers = slices.DeleteFunc(HandlerTypes(), func(name string) bool { return !t.Takes(name) })
}

// table is the catalog by name.
var table = func() map[Event]*EventInfo {
	m := map[Event]*EventInfo{}
	for _, info := range Events() {
		m[info.Event] = &info
	}
	return m
}()

// InfoOf returns the description of e. An unknown event has no effects.
func InfoOf(e Event) *EventInfo {
	if info := table[e]; info != nil {
		return info
	}
	return &EventInfo{Event: e}
}

// AboutTool reports whether e is one of the five events that evaluate `if`.
func (t *EventInfo) AboutTool() bool { return t.Matcher == "tool_name" }

// Allows reports whether hookSpecificOutput.name has an effect for the event.
func (t *EventInfo) Allows(name string) bool { return slices.Contains(t.Outputs, name) }

// EnvFile reports whether the event's hooks get CLAUDE_ENV_FILE, a file for variables of
// the member's later commands.
func (t *EventInfo) EnvFile() bool {
	switch t.Event {
	case SessionStart, Setup, CwdChanged, FileChanged:
		return true
	}
	return false
}

// OnFault returns the effect of a hook that must refuse if it cannot judge: that of exit
// code 2, and on PermissionRequest, where exit code 2 has none, a denial.
func (t *EventInfo) OnFault() Effect {
	if t.Event == PermissionRequest {
		return ToolError
	}
	return t.Exit2
}

// EndsTurn reports whether the event belongs to the end of a turn, where a refusal sends the
// agent back to work.
func (t *EventInfo) EndsTurn() bool {
	switch t.Event {
	case Stop, SubagentStop, TaskCompleted, TeammateIdle:
		return true
	}
	return false
}

// NewMatcher parses the matcher of a group for the event. It ignores the text for events
// without a subject.
func (t *EventInfo) NewMatcher(text string, other rules.OtherNames) (*rules.Matcher, error) {
	switch {
	case t.Matcher == "":
		return rules.AllSubjects(), nil
	case t.Event == FileChanged || t.Event == StopFailure:
		return rules.NewMatcher(text, "|", other)
	}
	return rules.NewMatcher(text, "|,", other)
}

// HandlerTypes returns the types of HOOKS.md section 3 that a file may name.
func HandlerTypes() []string { return []string{"command", "http", "mcp_tool", "prompt", "agent"} }

// Takes reports whether the event runs handlers of a type.
func (t *EventInfo) Takes(handlerType string) bool {
	switch handlerType {
	case "http":
		return t.Types != "C"
	case "prompt", "agent":
		return t.Types != "B" && t.Types != "C"
	}
	return true
}

// Known reports whether e is an event that hooks can listen to.
func (e Event) Known() bool { return table[e] != nil }

// Nearest returns the event whose name is most similar to name, or "" if none is similar
// enough.
func Nearest(name string) Event {
	var names []string
	for _, t := range catalog() {
		names = append(names, string(t.Event))
	}
	return Event(texts.Nearest(name, names, len(name)/2))
}
