package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks"
)

// TestOtherFiles: the whole of a file of Gemini CLI or Cursor is read, under their names of
// events, or the file is refused: no hook is left out.
func TestOtherFiles(t *testing.T) {
	for _, c := range []struct{ file, hooks, want string }{
		// want: event, matcher, tools that it listens to, timeout and onFailure; or the refusal
		{".gemini/settings.json", `{"BeforeTool": [{"matcher": "run_shell|write_.*", "sequential": true,
			"hooks": [{"type": "command", "name": "n", "command": "x", "timeout": 5000}]}]}`,
			"PreToolUse Bash,Write 5 "},
		{"hooks/hooks.json", `{"AfterTool": [{"matcher": "mcp_git_.*", "hooks": [{"type": "command", "command": "x"}]}]}`,
			"PostToolUse mcp__git__push 60 ; PostToolUseFailure mcp__git__push 60 "},
		{"a.json", `{"AfterAgent": [{"hooks": [{"type": "command", "command": "x"}]}]}`, "Stop * 60 "},
		{".gemini/settings.json", `{"SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "x", "timeout": 90000}]}]}`,
			"SessionStart startup 90 "},
		{"a.json", `{"BeforeModel": [{"hooks": [{"type": "command", "command": "x"}]}]}`,
			"a.json:1: hooks.BeforeModel: covey has no event for BeforeModel of Gemini CLI"},
		{".gemini/settings.json", `{"BeforeTool": [{"matcher": "save_memory", "hooks": [{"type": "command", "command": "x"}]}]}`,
			`the matcher "save_memory" matches no tool of Gemini CLI`},
		{".gemini/settings.json", `{"BeforeTool": [{"matcher": "(", "hooks": [{"type": "command", "command": "x"}]}]}`, "not a JavaScript expression"},
		{".gemini/settings.json", `{"BeforeTool": [{"hooks": [{"type": "command", "command": "x", "timeout": "5"}]}]}`, "want a number"},
		{".gemini/settings.json", `{"BeforeTool": [{"matcher": "x"}]}`, "the group has no hooks"},
		{".gemini/settings.json", `{"BeforeTool": "x"}`, "want a list"},
		{".gemini/settings.json", `[]`, "want an object of events"},
		{".cursor/hooks.json", `{"preToolUse": [{"command": "x", "matcher": "Shell|TabWrite", "timeout": 3, "failClosed": true}]}`,
			"PreToolUse Bash 3 block"},
		{"a.json", `{"preToolUse": [{"command": "x", "matcher": "Write"}], "stop": [{"command": "y", "loop_limit": 3}]}`,
			"PreToolUse Edit,Write 0 ; Stop * 0 "},
		{"a.json", `{"beforeShellExecution": [{"command": "x"}], "beforeReadFile": [{"command": "x"}], "afterFileEdit": [{"command": "x"}]}`,
			"PreToolUse Bash 0 ; PreToolUse Read 0 ; PostToolUse Edit,Write 0 "},
		{"a.json", `{"preToolUse": [{"command": "x", "matcher": "MCP:push"}]}`, "PreToolUse mcp__git__push 0 "},
		{"a.json", `{"beforeShellExecution": [{"command": "x", "matcher": "curl"}]}`, "covey cannot apply a matcher of beforeShellExecution"},
		{"a.json", `{"beforeMCPExecution": [{"command": "x"}]}`, "hooks.beforeMCPExecution: covey has no event for beforeMCPExecution of Cursor"},
		{".cursor/hooks.json", `{"newEvent": [{"command": "x"}]}`, "covey has no event for newEvent of Cursor"},
		{".cursor/hooks.json", `{"preToolUse": [{"type": "prompt", "prompt": "x"}]}`, "covey translates only commands of Cursor"},
		{".cursor/hooks.json", `{"preToolUse": [{"matcher": "Shell"}]}`, "the group has no hooks"},
		{".cursor/hooks.json", `{"preToolUse": ["x"]}`, "want an object with hooks"},
		// A hook without a type is a command in files of other programs; Claude Code runs none.
		{".github/hooks/a.json", `{"PreToolUse": [{"command": "x"}]}`, "PreToolUse * 30 "},
		{".codex/hooks.json", `{"PreToolUse": [{"hooks": [{"command": "x"}]}]}`, "PreToolUse * 0 "},
		{".codex/hooks.json", `{"PreToolUse": [{"hooks": [{"command": 5}]}]}`, "want a string"},
	} {
		file, warnings := Parse(c.file, []byte(`{"version": 1, "hooks": `+c.hooks+`}`))
		var found []string
		for _, event := range eventsOf(file.Hooks) {
			for _, g := range file.Hooks[event] {
				listens := []string{"*"}
				if known := hooks.InfoOf(event); g.Matcher != "" && known.AboutTool() {
					listens = slices.DeleteFunc([]string{"Bash", "Read", "Edit", "Write", "mcp__git__push"},
						func(tool string) bool { return !Listens(g, event, tool) })
				} else if g.Matcher != "" {
					listens = []string{g.Matcher}
				}
				for _, h := range g.Hooks {
					found = append(found, strings.Join([]string{string(event), strings.Join(listens, ","),
						strings.TrimSuffix(time.Duration(h.Timeout*float64(time.Second)).Truncate(time.Second).String(), "s"), h.OnFailure}, " "))
				}
			}
		}
		got := strings.NewReplacer("1m30", "90", "1m0", "60").Replace(strings.Join(found, "; "))
		if refused := Refused(warnings); len(refused) > 0 {
			for _, w := range warnings {
				got += w.Error() + "\n"
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%s %s: %s, want %s", c.file, c.hooks, got, c.want)
			}
		} else if got != c.want || len(warnings) > 0 {
			t.Errorf("%s %s: %q, want %q; %v", c.file, c.hooks, got, c.want, warnings)
		}
	}
}

// TestOtherInputs: hooks of Gemini CLI and Cursor read what they would read there.
func TestOtherInputs(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, ".env")
	if err := os.WriteFile(secret, []byte("KEY=1"), 0o600); err != nil {
		t.Fatal(err)
	}
	const common = `"session_id":"s","cwd":"/w",`
	for _, c := range []struct {
		d           hooks.Dialect
		given, want string
	}{
		{hooks.Dialect{Program: hooks.Gemini, Event: "BeforeTool"},
			`"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}`,
			`"hook_event_name":"BeforeTool","tool_name":"run_shell_command","tool_input":{"command":"ls"},"timestamp":"2026-01-02T03:04:05Z"}`},
		{hooks.Dialect{Program: hooks.Gemini, Event: "AfterTool"},
			`"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{},"tool_response":{"stdout":"a","stderr":"b"}`,
			`"tool_response":{"llmContent":"a\nb","returnDisplay":"a\nb"}`},
		{hooks.Dialect{Program: hooks.Gemini, Event: "AfterTool"},
			`"hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{},"error":"Exit code 1"`,
			`"tool_response":{"llmContent":"Exit code 1","returnDisplay":"Exit code 1","error":"Exit code 1"}`},
		{hooks.Dialect{Program: hooks.Gemini, Event: "AfterAgent"},
			`"hook_event_name":"Stop","last_assistant_message":"bye"`, `"prompt_response":"bye"`},
		{hooks.Dialect{Program: hooks.Cursor, Event: "beforeShellExecution"},
			`"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}`,
			`"hook_event_name":"beforeShellExecution","tool_name":"Shell","tool_input":{"command":"ls"},"conversation_id":"s",` +
				`"generation_id":"s","workspace_roots":["/w"],"cursor_version":"covey","command":"ls"}`},
		{hooks.Dialect{Program: hooks.Cursor, Event: "beforeReadFile"},
			`"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"` + secret + `"}`,
			`"file_path":"` + secret + `","content":"KEY=1","attachments":[]`},
		{hooks.Dialect{Program: hooks.Cursor, Event: "preToolUse", Words: []string{"StrReplace"}},
			`"hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"a","old_string":"b"}`,
			`"tool_name":"StrReplace","tool_input":{"file_path":"a","old_string":"b","path":"a"}`},
		{hooks.Dialect{Program: hooks.Cursor, Event: "afterFileEdit"},
			`"hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"file_path":"a","content":"c"},"tool_response":{"x":1}`,
			`"tool_output":"{\"x\":1}","file_path":"a","edits":[{"new_string":"c","old_string":""}]`},
		{hooks.Dialect{Program: hooks.Cursor, Event: "stop"}, `"hook_event_name":"Stop","stop_hook_active":true`,
			`"status":"completed","loop_count":1`},
	} {
		got, err := Input(c.d, []byte("{"+common+c.given+"}"), func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) })
		if err != nil || !strings.Contains(string(got), c.want) {
			t.Errorf("%s: %s, %v; want %s", c.d.Event, got, err, c.want)
		}
	}
	// What a guard decides on must not be missing silently.
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, make([]byte, maxSettings+1), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Input(hooks.Dialect{Program: hooks.Cursor, Event: "beforeReadFile"},
		[]byte(`{"tool_name":"Read","tool_input":{"file_path":"`+big+`"}}`), time.Now)
	if err == nil {
		t.Error("the content of a file that is too large is left out")
	}
}

// TestOtherAnswers: what these hooks answer counts as what it says there; an allow is no more
// than no objection.
func TestOtherAnswers(t *testing.T) {
	const deny = `{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no","hookEventName":"PreToolUse"}}`
	for _, c := range []struct {
		program      hooks.Program
		name         string
		event        hooks.Event
		answer, want string
	}{
		{hooks.Gemini, "BeforeTool", hooks.PreToolUse, `{"decision":"deny","reason":"no"}`, deny},
		{hooks.Gemini, "BeforeTool", hooks.PreToolUse, `{"decision":"allow"}`, `{}`},
		{hooks.Gemini, "BeforeTool", hooks.PreToolUse, `{"hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"b":2}}}`,
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"ls","b":2}}}`},
		{hooks.Gemini, "BeforeTool", hooks.PreToolUse, `{"hookSpecificOutput":{"tool_input":7}}`,
			`{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"the input that the hook wants cannot be had: ` +
				`it is no JSON object: 7","hookEventName":"PreToolUse"}}`},
		{hooks.Gemini, "AfterAgent", hooks.Stop, `{"decision":"deny","reason":"more"}`, `{"decision":"block","reason":"more"}`},
		{hooks.Gemini, "AfterTool", hooks.PostToolUse, `{"decision":"deny","reason":"hidden"}`, `{"decision":"block","reason":"hidden",` +
			`"hookSpecificOutput":{"updatedToolOutput":{"stdout":"hidden","stderr":""},"hookEventName":"PostToolUse"}}`},
		{hooks.Gemini, "SessionStart", hooks.SessionStart, `hello`, ``},
		{hooks.Cursor, "preToolUse", hooks.PreToolUse, `{"permission":"deny","agent_message":"no"}`, deny},
		{hooks.Cursor, "beforeShellExecution", hooks.PreToolUse, `{"permission":"deny","userMessage":"no"}`, deny},
		{hooks.Cursor, "beforeShellExecution", hooks.PreToolUse, `{"continue":true,"permission":"allow"}`, `{"continue":true}`},
		{hooks.Cursor, "preToolUse", hooks.PreToolUse, `{"permission":"ask"}`,
			`{"hookSpecificOutput":{"permissionDecision":"ask","hookEventName":"PreToolUse"}}`},
		{hooks.Cursor, "preToolUse", hooks.PreToolUse, `{"permission":"never"}`,
			`{"hookSpecificOutput":{"permissionDecision":"never","hookEventName":"PreToolUse"}}`},
		{hooks.Cursor, "stop", hooks.Stop, `{"followup_message":"more"}`, `{"decision":"block","reason":"more"}`},
		{hooks.Cursor, "stop", hooks.Stop, `{"followup_message":""}`, `{}`},
		{hooks.Cursor, "beforeSubmitPrompt", hooks.UserPromptSubmit, `{"continue":false,"user_message":"no"}`,
			`{"decision":"block","reason":"no"}`},
		{hooks.Cursor, "postToolUse", hooks.PostToolUse, `{"additional_context":"c"}`,
			`{"hookSpecificOutput":{"additionalContext":"c","hookEventName":"PostToolUse"}}`},
		{hooks.Cursor, "preToolUse", hooks.PreToolUse, `{"permission":"deny"`, `{"permission":"deny"`},
	} {
		given := `{"tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":{"stdout":"secret","stderr":""}}`
		got, code := Answer(hooks.Dialect{Program: c.program, Event: c.name}, c.event, []byte(given), c.answer, 0)
		if got != c.want || code != 0 {
			t.Errorf("%s %s:\n%s, want\n%s", c.name, c.answer, got, c.want)
		}
	}
}
