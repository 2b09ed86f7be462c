package settings

import (
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// TestRefused: a file with something that covey cannot translate is refused, with the
// position; other files are not.
func TestRefused(t *testing.T) {
	hook := `{"type": "command", "bash": "guard"}`
	for _, c := range []struct{ file, text, want string }{
		{"f.json", `{"preToolUse": [` + hook + `]}`, ""},
		{"f.json", `{"preToolUse": [{"type": "command", "bash": "guard", "matcher": "bash|edit"}]}`, ""},
		{"f.json", `{"preToolUse": [{"matcher": "Bash", "hooks": [` + hook + `]}]}`, ""},
		{"f.json", `{"preToolUse": [{"matcher": "github-push|mcp__a__b", "hooks": [` + hook + `]}]}`, ""},
		{"f.json", `{"preToolUse": [{"matcher": "(?!bash).*", "hooks": [` + hook + `]}]}`, ""},
		{"f.json", `{"preToolUse": [{"matcher": "bash|report_intent", "hooks": [` + hook + `]}]}`,
			"f.json:1: hooks.preToolUse[0].matcher: the matcher names report_intent, and covey has no tool that Copilot calls so"},
		{"f.json", `{"preToolUse": [{"matcher": "report.*", "hooks": [` + hook + `]}]}`, `matches no tool of Copilot`},
		{"f.json", `{"preToolUse": [{"matcher": "ba", "hooks": [` + hook + `]}]}`, `names ba,`},
		{"f.json", `{"preToolUse": [{"matcher": "b.", "hooks": [` + hook + `]}]}`, `"b." matches no tool`}, // whole names
		{"f.json", `{"preToolUse": [{"type": "http", "url": "http://localhost:1"}]}`, "hooks.preToolUse[0]: covey translates only commands"},
		{"f.json", `{"sessionStart": [{"type": "prompt", "prompt": "hi"}]}`, "covey translates only commands"},
		{"f.json", `{"modelCalled": [` + hook + `]}`, "hooks.modelCalled: covey has no event for modelCalled of Copilot"},
		{"f.json", `{"errorOccurred": [` + hook + `]}`, ""},
		{"f.json", `{"PreToolUse": [{"matcher": "editFiles|nothing", "hooks": [` + hook + `]}]}`, "names nothing,"},
		{"f.json", `{"PreToolUse": [{"matcher": "nothing", "hooks": [{"type": "command", "command": "x"}]}]}`, ""},
		{".codex/hooks.json", `{"PreToolUse": [{"matcher": "update_plan", "hooks": [{"type": "command", "command": "x"}]}]}`, ""},
	} {
		_, warnings := Parse(c.file, []byte(`{"version": 1, "hooks": `+c.text+`}`))
		refused := Refused(warnings)
		switch {
		case c.want == "" && len(warnings) > 0, c.want != "" && len(refused) != 1:
			t.Errorf("%s: %v", c.text, warnings)
		case c.want != "" && !strings.Contains(refused[0].Error(), c.want):
			t.Errorf("%s: %v, want %s", c.text, refused[0], c.want)
		}
	}
}

// TestDialectMatchers: a group's matcher uses its program's name of the tool.
func TestDialectMatchers(t *testing.T) {
	for _, c := range []struct {
		program hooks.Program
		matcher string
		yes, no []string
	}{
		{"", "apply_patch", []string{"Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch"}, []string{"Bash", "Read"}},
		{"", "^apply_patch$", []string{"Edit", "Write"}, []string{"Bash"}},
		{"", "^(?!Edit$).*", []string{"Bash", "Write"}, []string{"Edit"}},
		{"", "Edit", []string{"Edit"}, []string{"Write"}},
		{"", "Task", []string{"Agent"}, []string{"Bash"}},
		{hooks.Codex, "Edit", []string{"Edit", "Write"}, []string{"Bash"}},
		{hooks.Copilot, "bash|edit", []string{"Bash", "Edit", "MultiEdit"}, []string{"Write", "Read"}},
		{hooks.Copilot, "Bash", []string{"Bash"}, []string{"Edit"}},
		{hooks.Copilot, "(?!bash).*", []string{"Edit", "mcp__a__b"}, []string{"Bash"}},
		{hooks.Copilot, "git-.*", []string{"mcp__git__push"}, []string{"Bash"}},
		{hooks.Copilot, "e.*t", []string{"Edit"}, []string{"Write", "Agent"}},
		{hooks.VSCode, "editFiles|runCommands", []string{"Edit", "Write", "Bash"}, []string{"Read"}},
		{hooks.VSCode, "^create", []string{"Write"}, []string{"Edit"}},
	} {
		group := hooks.Group{Matcher: c.matcher, Hooks: []hooks.Handler{{Dialect: hooks.Dialect{Program: c.program}}}}
		listens := func(tool string) bool { return Listens(group, hooks.PreToolUse, tool) }
		if i := slices.IndexFunc(c.yes, func(tool string) bool { return !listens(tool) }); i >= 0 {
			t.Errorf("%s %q does not listen to %s", c.program, c.matcher, c.yes[i])
		}
		if i := slices.IndexFunc(c.no, listens); i >= 0 {
			t.Errorf("%s %q listens to %s", c.program, c.matcher, c.no[i])
		}
	}
}

// TestDialectAnswers: of two decisions in one answer the stricter counts, and output that
// is not an answer is unchanged.
func TestDialectAnswers(t *testing.T) {
	for _, c := range []struct {
		program            hooks.Program
		event              hooks.Event
		given, stdout, out string
	}{
		{hooks.Copilot, hooks.PreToolUse, `{}`, `{"permissionDecision":"allow","hookSpecificOutput":{"hookEventName":"preToolUse","permissionDecision":"deny"}}`,
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}`},
		{hooks.Copilot, hooks.PreToolUse, `{}`, `{"permissionDecision":"deny","hookSpecificOutput":{"permissionDecision":"allow"}}`,
			`{"hookSpecificOutput":{"permissionDecision":"deny","hookEventName":"PreToolUse"}}`},
		{hooks.Copilot, hooks.PreToolUse, `{}`, `{"permissionDecision":"no"}`, `{"hookSpecificOutput":{"permissionDecision":"no","hookEventName":"PreToolUse"}}`},
		{hooks.Copilot, hooks.PreToolUse, `{}`, `{"permissionDecision":"deny"`, `{"permissionDecision":"deny"`},
		{hooks.Copilot, hooks.PreToolUse, `{}`, "", ""},
		{hooks.Copilot, hooks.SessionStart, `{}`, "hello", ""},
		{hooks.VSCode, hooks.SessionStart, `{}`, "hello", "hello"},
		{hooks.VSCode, hooks.Stop, `{}`, `{"hookSpecificOutput":{"hookEventName":"Stop","decision":"allow"}}`, `{"hookSpecificOutput":{"hookEventName":"Stop"}}`},
		{hooks.VSCode, hooks.PreToolUse, `{}`, `{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}`, `{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}`},
		{hooks.Copilot, hooks.PermissionRequest, `{}`, `{"behavior":"deny","message":"m","interrupt":true}`,
			`{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"m","interrupt":true},"hookEventName":"PermissionRequest"}}`},
		{hooks.Copilot, hooks.PreToolUse, `{"tool_name":"Write","tool_input":{"file_path":"a"}}`, `{"modifiedArgs":"{\"path\":\"b\"}"}`,
			`{"hookSpecificOutput":{"updatedInput":{"file_path":"b"},"hookEventName":"PreToolUse"}}`},
		{hooks.Copilot, hooks.PreToolUse, `{"tool_name":"Write","tool_input":{"file_path":"a"}}`, `{"modifiedArgs":7}`,
			`{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"the input that the hook wants cannot be had: ` +
				`it is no JSON object: 7","hookEventName":"PreToolUse"}}`},
	} {
		if got, _ := Answer(hooks.Dialect{Program: c.program}, c.event, []byte(c.given), c.stdout, 0); got != c.out {
			t.Errorf("%s %s %s:\n%s, want\n%s", c.program, c.event, c.stdout, got, c.out)
		}
	}
}
