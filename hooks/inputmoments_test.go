package hooks

import (
	"encoding/json"
	"testing"
)

// moments are the events that come of things that happen around a turn, as
// recorded hosts write them, and what their matchers are held against.
func moments() []struct {
	in      Payload
	subject string
	want    string
} {
	call := json.RawMessage(`{"command":"touch x"}`)
	return []struct {
		in      Payload
		subject string
		want    string
	}{
		{SetupInput{Trigger: "init"}, "init", `"hook_event_name":"Setup","trigger":"init"}`},
		{
			UserPromptExpansionInput{
				ExpansionType: "slash_command", CommandName: "mycmd", CommandArgs: "foo",
				CommandSource: "projectSettings", Prompt: "/mycmd foo",
			}, "mycmd",
			`"permission_mode":"default","hook_event_name":"UserPromptExpansion","expansion_type":"slash_command",` +
				`"command_name":"mycmd","command_args":"foo","command_source":"projectSettings","prompt":"/mycmd foo"}`,
		},
		{
			PermissionRequestInput{ToolName: "Bash", ToolInput: call, Suggestions: []PermissionUpdate{
				{Type: "addDirectories", Directories: []string{"/w"}, Destination: "session"},
				{Type: "setMode", Mode: "acceptEdits", Destination: "session"},
				{
					Type: "addRules", Rules: []PermissionRule{{ToolName: "Bash", RuleContent: "touch x"}},
					Behavior: "allow", Destination: "localSettings",
				},
			}}, "Bash",
			`"permission_mode":"default","hook_event_name":"PermissionRequest","tool_name":"Bash",` +
				`"tool_input":{"command":"touch x"},"permission_suggestions":[` +
				`{"type":"addDirectories","directories":["/w"],"destination":"session"},` +
				`{"type":"setMode","mode":"acceptEdits","destination":"session"},` +
				`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch x"}],"behavior":"allow",` +
				`"destination":"localSettings"}]}`,
		},
		{
			PermissionRequestInput{ToolName: "Bash", ToolInput: call}, "Bash",
			`"permission_mode":"default","hook_event_name":"PermissionRequest","tool_name":"Bash",` +
				`"tool_input":{"command":"touch x"}}`,
		},
		{
			PermissionDeniedInput{ToolName: "Bash", ToolInput: call, ToolUseID: "t1", Reason: "no"}, "Bash",
			`"permission_mode":"default","hook_event_name":"PermissionDenied","tool_name":"Bash",` +
				`"tool_input":{"command":"touch x"},"tool_use_id":"t1","reason":"no"}`,
		},
		{
			PostToolBatchInput{ToolCalls: []BatchCall{{
				ToolName: "Bash", ToolInput: call, ToolUseID: "t1", ToolResponse: json.RawMessage(`"ran"`),
			}}}, "",
			`"permission_mode":"default","hook_event_name":"PostToolBatch","tool_calls":[{"tool_name":"Bash",` +
				`"tool_input":{"command":"touch x"},"tool_use_id":"t1","tool_response":"ran"}]}`,
		},
		{
			InstructionsLoadedInput{
				FilePath: "/w/extra.md", MemoryType: "Project", LoadReason: "include", ParentFilePath: "/w/CLAUDE.md",
			}, "include",
			`"hook_event_name":"InstructionsLoaded","file_path":"/w/extra.md","memory_type":"Project",` +
				`"load_reason":"include","parent_file_path":"/w/CLAUDE.md"}`,
		},
		{
			CwdChangedInput{OldCwd: "/w", NewCwd: "/w/sub"}, "",
			`"hook_event_name":"CwdChanged","old_cwd":"/w","new_cwd":"/w/sub"}`,
		},
		{
			DirectoryAddedInput{Directory: "/lib", Source: "slash_command"}, "slash_command",
			`"hook_event_name":"DirectoryAdded","directory":"/lib","source":"slash_command"}`,
		},
		{
			MessageDisplayInput{TurnID: "n", MessageID: "m", Final: true, Delta: "hi"}, "",
			`"hook_event_name":"MessageDisplay","turn_id":"n","message_id":"m","index":0,"final":true,"delta":"hi"}`,
		},
		{
			FileChangedInput{FilePath: "/w/a/.envrc", Change: "change"}, ".envrc",
			`"hook_event_name":"FileChanged","file_path":"/w/a/.envrc","event":"change"}`,
		},
	}
}

// Field for field and in their order: scripts have been written against these.
func TestMomentsOnTheWire(t *testing.T) {
	for _, m := range moments() {
		in := Input{Common: Common{
			SessionID: "s", TranscriptPath: "/t", Cwd: "/w", PromptID: "p", PermissionMode: "default",
		}, Payload: m.in}
		wire, err := in.Wire()
		want := `{"session_id":"s","transcript_path":"/t","cwd":"/w","prompt_id":"p",` + m.want + "\n"
		if err != nil || string(wire) != want {
			t.Errorf("%s (%v):\n got %swant %s", m.in.Event(), err, wire, want)
		}
		if got := in.Subject(); got != m.subject {
			t.Errorf("%s: the subject is %q, want %q", m.in.Event(), got, m.subject)
		}
		// Read back as from a file it means the same.
		again, err := ParseInput(m.in.Event(), wire, Common{})
		if err != nil || again.Subject() != m.subject {
			t.Errorf("%s read back: subject %q, %v", m.in.Event(), again.Subject(), err)
		}
	}
}

// A rule in two parts is the rule of a settings file.
func TestPermissionRuleText(t *testing.T) {
	for want, rule := range map[string]PermissionRule{
		"Read": {ToolName: "Read"}, "Bash(git *)": {ToolName: "Bash", RuleContent: "git *"},
	} {
		if got := rule.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
