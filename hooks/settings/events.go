package settings

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// eventWord is another program's name of an event.
type eventWord struct {
	name   string
	events []hooks.Event // several if the program does not tell them apart
	tools  string        // the matcher that the name implies; empty if it implies none
}

// eventsIn returns the table of a program's events; nil if its names are those of Event.
func eventsIn(p hooks.Program) []eventWord {
	one := func(name string, event hooks.Event) eventWord { return eventWord{name, []hooks.Event{event}, ""} }
	switch p {
	case hooks.Gemini:
		return []eventWord{one("SessionStart", hooks.SessionStart), one("SessionEnd", hooks.SessionEnd),
			one("BeforeAgent", hooks.UserPromptSubmit), one("BeforeTool", hooks.PreToolUse),
			{"AfterTool", []hooks.Event{hooks.PostToolUse, hooks.PostToolUseFailure}, ""}, one("AfterAgent", hooks.Stop),
			one("PreCompress", hooks.PreCompact), one("Notification", hooks.Notification),
			// Nothing in covey is like these. They are here because they tell the program.
			{name: "BeforeModel"}, {name: "AfterModel"}, {name: "BeforeToolSelection"}}
	case hooks.Cursor:
		return []eventWord{one("sessionStart", hooks.SessionStart), one("sessionEnd", hooks.SessionEnd),
			one("beforeSubmitPrompt", hooks.UserPromptSubmit), one("preToolUse", hooks.PreToolUse),
			{"beforeShellExecution", []hooks.Event{hooks.PreToolUse}, "^Shell$"},
			{"beforeReadFile", []hooks.Event{hooks.PreToolUse}, "^Read$"},
			one("postToolUse", hooks.PostToolUse), one("postToolUseFailure", hooks.PostToolUseFailure),
			{"afterShellExecution", []hooks.Event{hooks.PostToolUse, hooks.PostToolUseFailure}, "^Shell$"},
			{"afterFileEdit", []hooks.Event{hooks.PostToolUse}, "^Write$"},
			one("stop", hooks.Stop), one("subagentStart", hooks.SubagentStart), one("subagentStop", hooks.SubagentStop),
			one("preCompact", hooks.PreCompact),
			// covey cannot say to which server a call goes, on which such hooks decide.
			{name: "beforeMCPExecution"}, {name: "afterMCPExecution"},
			{name: "afterAgentResponse"}, {name: "afterAgentThought"}, {name: "workspaceOpen"},
			{name: "beforeTabFileRead"}, {name: "afterTabFileEdit"}}
	}
	return nil
}

// programOf returns Gemini or Cursor if a whole file is written for one of them: by its
// folder, or by a name of an event that no other program has. Otherwise each hook shows its
// program, see Of.
func programOf(name string, events []texts.Field) hooks.Program {
	for p, folder := range map[hooks.Program]string{hooks.Gemini: "/.gemini/", hooks.Cursor: "/.cursor/"} {
		if strings.Contains(slashed(name), folder) {
			return p
		}
	}
	own := func(p hooks.Program) bool {
		return slices.ContainsFunc(events, func(f texts.Field) bool {
			return slices.ContainsFunc(eventsIn(p), func(w eventWord) bool { return w.name == f.Name }) &&
				(f.Name == "stop" || !Event(f.Name).Known())
		})
	}
	switch {
	case own(hooks.Gemini):
		return hooks.Gemini
	case own(hooks.Cursor), slices.ContainsFunc(events, untyped):
		return hooks.Cursor
	}
	return ""
}

// untyped reports whether an event begins with a small letter and has a command without a
// type. Copilot, which has such events too, requires one.
func untyped(event texts.Field) bool {
	if event.Name == "" || !unicode.IsLower([]rune(event.Name)[0]) {
		return false
	}
	return slices.ContainsFunc(entriesOf(event.Value), func(entry json.RawMessage) bool {
		fields, err := texts.Fields(entry)
		return err == nil && texts.Get(fields, "command") != nil && texts.Get(fields, "type") == nil
	})
}

// eventsNamed returns covey's events for the name of one in a file of a program, and the matcher
// that the name implies. It returns none for an unknown name.
func eventsNamed(p hooks.Program, name string) (events []hooks.Event, tools string) {
	table := eventsIn(p)
	if table == nil {
		if event := Event(name); event.Known() {
			return []hooks.Event{event}, ""
		}
		return nil, ""
	}
	for _, w := range table {
		if w.name == name {
			return w.events, w.tools
		}
	}
	return nil, ""
}

// isEvent reports whether some program has an event of that name.
func isEvent(name string) bool {
	return slices.ContainsFunc([]hooks.Program{"", hooks.Gemini, hooks.Cursor}, func(p hooks.Program) bool {
		events, _ := eventsNamed(p, name)
		return len(events) > 0
	})
}

// ProjectVariable returns the environment variable that holds the workspace for hooks of a
// program; empty if it has none but Claude Code's.
func ProjectVariable(p hooks.Program) string {
	switch p {
	case hooks.Gemini:
		return "GEMINI_PROJECT_DIR"
	case hooks.Cursor:
		return "CURSOR_PROJECT_DIR"
	}
	return ""
}

// slashed returns a path that begins with a slash and has no others.
func slashed(path string) string { return "/" + strings.ReplaceAll(path, `\`, "/") }

// isWhole reports whether a whole file is written for the program, so that it has all events
// and all hooks of the file.
func isWhole(p hooks.Program) bool { return p == hooks.Gemini || p == hooks.Cursor }
