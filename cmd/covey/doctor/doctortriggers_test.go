package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
)

// TestUntriggered: "never" is said only where it is certain. Each line is a settings file's
// hooks and the members that they meet, and what the doctor says.
func TestUntriggered(t *testing.T) {
	t.Parallel()
	const (
		reader  = "lead: {model: demo, tools: [Read]}\n"
		editor  = "lead: {model: demo, tools: [Edit]}\n"
		all     = "lead: {model: demo}\n"
		once    = "lead: {agent: once}\n"
		program = "lead: {agent: acp}\n"
	)
	pre := func(matcher, more string) string {
		return `{"hooks": {"PreToolUse": [{"matcher": "` + matcher + `", "hooks": [{"type": "command", "command": "true"` + more + `}]}]}}`
	}
	for name, tc := range map[string]struct{ lead, settings, want string }{
		"a tool that nobody has":       {reader, pre("Bash", ""), `the matcher "Bash" never fits: lead (no such tool)`},
		"one of two tools":             {reader, pre("Bash|Read", ""), ""},
		"an expression":                {reader, pre("^(Bash|Wr.*)$", ""), `the matcher "^(Bash|Wr.*)$" never fits`},
		"an expression that is met":    {reader, pre("^Re", ""), ""},
		"all tools":                    {reader, pre("*", ""), ""},
		"a team tool":                  {reader, pre("TaskUpdate", ""), ""},
		"what goes with Bash":          {"lead: {model: demo, tools: [Bash]}\n", pre("KillShell", ""), ""},
		"a patch is an edit":           {editor, pre("apply_patch", ""), ""},
		"a patch without an edit":      {reader, pre("apply_patch", ""), `the matcher "apply_patch" never fits`},
		"a server's tool":              {all, pre("mcp__github__search", ""), `the matcher "mcp__github__search" never fits: lead (no such tool)`},
		"a tool of other programs":     {all, pre("WebSearch", ""), `the matcher "WebSearch" never fits`},
		"the same of a program":        {program, pre("WebSearch", ""), ""},
		"a server's tool of a program": {program, pre("mcp__github__search", ""), ""},
		"a plan that nobody owes":      {reader, pre("ExitPlanMode", ""), `the matcher "ExitPlanMode" never fits`},
		"before the call of a command": {once, pre("Bash", ""), "once is run once a prompt"},
		"a team tool of a command":     {once, pre("mcp__covey__team_send_message", ""), ""},
		"any call of a command":        {once, pre("", ""), ""},
		"an if for a tool":             {reader, pre("", `, "if": "Bash(git *)"`), `its if "Bash(git *)" never holds: lead (no such tool)`},
		"an if that is met":            {all, pre("Bash|Read", `, "if": "Bash(git *)"`), ""},
		"an if beside its matcher":     {all, pre("Read", `, "if": "Bash(git *)"`), `its if "Bash(git *)" never holds`},
		"an if for Edit is no Write":   {"lead: {model: demo, tools: [Write]}\n", pre("", `, "if": "Edit"`), `its if "Edit" never holds`},
		"an agent hook's own calls": {once,
			`{"hooks": {"PreToolUse": [{"matcher": "Grep", "hooks": [{"type": "command", "command": "true"}]}],
			"Stop": [{"hooks": [{"type": "agent", "prompt": "Is it tested?"}]}]}}`, ""},
		"a permission of a command": {once,
			`{"hooks": {"PermissionRequest": [{"hooks": [{"type": "command", "command": "true"}]}]}}`, "nothing fires it in this team"},
		"a source without a moment": {all,
			`{"hooks": {"SessionStart": [{"matcher": "fork", "hooks": [{"type": "command", "command": "true"}]}]}}`,
			`the matcher "fork" never fits: covey fires SessionStart only with startup, resume, clear, compact`},
		"a source among others": {all,
			`{"hooks": {"SessionStart": [{"matcher": "fork|resume", "hooks": [{"type": "command", "command": "true"}]}]}}`, ""},
		"an unread matcher": {all, `{"hooks": {"Stop": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}}`,
			`Stop has nothing to match`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			spec := "covey: 1\ngoal: g\nsettings: [a.json]\nmodels: {demo: {provider: script, script: s.yaml}}\n" +
				"agents: {once: {use: command, command: [cat]}, acp: {use: acp, command: [cat]}}\n" + tc.lead
			for file, text := range map[string]string{"team.yaml": spec, "a.json": tc.settings, "s.yaml": "steps: []\n"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			team, err := configs.Load(filepath.Join(dir, "team.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			set, err := newHookSet(team, team.Layers(nil), nil, dir)
			if err != nil {
				t.Fatal(err)
			}
			found, _, err := examineHooks(t.Context(), set, false)
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, f := range found {
				if !strings.Contains(f.Text, "no model") {
					said = append(said, f.Text)
				}
			}
			got := strings.Join(said, "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("said %q, want %q", got, tc.want)
			}
		})
	}
}

// A member's own hooks are held against that member, and members with one reason stand together.
func TestUntriggeredOfMembers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"team.yaml": "covey: 1\ngoal: g\nmodels: {demo: {provider: script, script: s.yaml}}\n" +
			"lead: {model: demo}\nteammates: {ana: {model: demo, prompt_file: ana.md}, ben: {model: demo, tools: [Read]}}\n" +
			"hooks: {PreToolUse: [{matcher: Bash, hooks: [{type: command, command: \"true\"}]}]}\n",
		"ana.md": "---\nname: ana\ndescription: reads\ntools: Read\nhooks:\n  PreToolUse:\n    - matcher: Bash\n" +
			"      hooks: [{type: command, command: \"false\"}]\n---\nRead it.\n",
		"s.yaml": "steps: []\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	team, err := configs.Load(filepath.Join(dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := newHookSet(team, team.Layers(nil), nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	found, _, err := examineHooks(t.Context(), set, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || !strings.HasSuffix(found[0].Text, `the matcher "Bash" never fits: ana (no such tool)`) ||
		found[0].Verdict != isWarn || found[0].Place == "" {
		t.Errorf("found %+v", found)
	}
}
