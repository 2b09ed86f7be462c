package runner

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	settingspkg "github.com/coveyteam/covey/hooks/settings"
)

// TestParseSettings: what is right in a file counts, whatever stands beside it,
// and each thing left out is warned of with its place.
func TestParseSettings(t *testing.T) {
	file, warnings := settingspkg.Parse("s.json", []byte(`{
		"model": "opus", "env": {"A": "b"},
		"hooks": {
			"Stop": [
				{"hooks": [{"type": "command", "command": "ok", "timeout": 1.5, "once": true}]},
				{"hooks": [{"type": "command"}, {"type": "comand", "command": "x"}, {"command": "y"}, 7,
					{"type": "command", "command": "z", "timeout": "5"}, {"type": "command", "command": "w", "timout": 5}]},
				"text", {"matcher": 5, "hooks": [{"type": "command", "command": "never"}]}
			],
			"PreToolUse": [{"matcher": "[", "hooks": [{"type": "command", "command": "a"}]},
				{"matcher": "Bash", "hooks": [{"type": "command", "command": "b", "if": "Bash(git *)"},
					{"type": "command", "command": "c", "if": "bogus(("}, {"type": "http", "url": "http://x"}]}],
			"TaskComplete": [{"hooks": [{"type": "command", "command": "n"}]}],
			"SessionEnd": {"hooks": []}
		},
		"permissions": {"allow": ["Bash(go test *)", 5, "("], "deny": "Bash", "ask": ["Write"], "defaultMode": "yolo",
			"additionalDirectories": ["/x"]},
		"disableAllHooks": true
	}`))
	yes := true
	want := settingspkg.File{Restrictions: settingspkg.Restrictions{DisableAllHooks: &yes},
		Hooks: hooks.Settings{
			hooks.Stop: {{Hooks: []hooks.Handler{{Type: "command", Command: "ok", Timeout: 1.5, Once: true}}},
				{Hooks: []hooks.Handler{{Type: "command", Command: "w"}}}},
			hooks.PreToolUse: {{Matcher: "Bash", Hooks: []hooks.Handler{{Type: "command", Command: "b",
				If: "Bash(git *)"},
				{Type: "http", URL: "http://x"}}}},
		},
		Permissions: settingspkg.Permissions{Allow: []string{"Bash(go test *)"}, Ask: []string{"Write"}, Deny: []string{"Bash"}}}
	if !reflect.DeepEqual(file, want) {
		t.Errorf("got  %+v\nwant %+v", file, want)
	}
	checkTexts(t, warnings, []string{
		`s.json:6: hooks.Stop[1].hooks[0].command: the hook has no command`,
		`s.json:6: hooks.Stop[1].hooks[1].type: there is no handler type "comand"`,
		`s.json:6: hooks.Stop[1].hooks[2].type: the hook has no type`,
		`s.json:6: hooks.Stop[1].hooks[3]: want an object with a type, got 7`,
		`s.json:7: hooks.Stop[1].hooks[4].timeout: want a number, got "5"`,
		`s.json:7: hooks.Stop[1].hooks[4]: a field has a value of the wrong type: the hook is left out`,
		`s.json:7: hooks.Stop[1].hooks[5].timout: unknown field`,
		`s.json:8: hooks.Stop[2]: want an object with hooks, got "text"`,
		`s.json:8: hooks.Stop[3].matcher: want a string, got 5`,
		`s.json:10: hooks.PreToolUse[0].matcher: matcher "[" is not a JavaScript expression`,
		`s.json:12: hooks.PreToolUse[1].hooks[1].if: not a permission rule`,
		`s.json:13: hooks.TaskComplete: there is no event "TaskComplete": did you mean TaskCompleted?`,
		`s.json:14: hooks.SessionEnd: want a list, got {"hooks": []}`,
		`s.json:16: permissions.allow[1]: want a string, got 5`,
		`s.json:16: permissions.allow[2]: not a permission rule`,
		`s.json:16: permissions.deny: want a list of rules, got one rule: it is used`,
		`s.json:16: permissions.defaultMode: there is no permission mode "yolo"`,
	})
}

// checkTexts compares the beginnings of texts, one by one.
func checkTexts[T any](t *testing.T, got []T, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(want):
			t.Errorf("one too many: %v", got[i])
		case i >= len(got):
			t.Errorf("missing: %s", want[i])
		default:
			if text := textOf(got[i]); !strings.HasPrefix(text, want[i]) {
				t.Errorf("got  %s\nwant %s", text, want[i])
			}
		}
	}
}

// textOf is the text of an error or a Problem.
func textOf(v any) string {
	switch v := v.(type) {
	case error:
		return v.Error()
	case hooks.Problem:
		return v.String()
	}
	return ""
}

func TestParseSettingsNotAnObject(t *testing.T) {
	for _, data := range []string{"", "[]", "null", "{", `{"hooks":[]}`, `{"hooks":{"Stop":null}}`,
		`{"permissions":1}`, `{"disableAllHooks":"yes"}`, "\xff"} {
		file, warnings := settingspkg.Parse("bad.json", []byte(data))
		if len(file.Hooks) != 0 || len(warnings) != 1 || !strings.HasPrefix(warnings[0].Error(),
			"bad.json:1:") {
			t.Errorf("%q: %+v, %v", data, file, warnings)
		}
	}
	if file, warnings := settingspkg.Parse("empty.json", []byte("{}")); len(warnings) != 0 || file.Hooks == nil {
		t.Errorf("an empty file is fine: %+v, %v", file, warnings)
	}
}

// TestSettingsRoundTrip: Settings as Go's own decoder reads them are what
// ParseSettings makes of the same text.
func TestSettingsRoundTrip(t *testing.T) {
	text := `{"Stop":[{"matcher":"x","hooks":[{"type":"command","command":"c","args":[],"shell":"bash","async":true,
		"asyncRewake":true,"timeout":3,"statusMessage":"m","onFailure":"block"}]}]}`
	var settings hooks.Settings
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		t.Fatal(err)
	}
	file, warnings := settingspkg.Parse("x", []byte(`{"hooks":`+text+`}`))
	if len(warnings) != 0 || !reflect.DeepEqual(file.Hooks, settings) {
		t.Errorf("got %+v, %v\nwant %+v", file.Hooks, warnings, settings)
	}
	if file.Hooks[hooks.Stop][0].Hooks[0].Args == nil {
		t.Error("an empty list of args is the exec form and must not become none")
	}
}

func TestValidate(t *testing.T) {
	problems := settingspkg.Validate(hooks.Settings{
		"Stopp": {{Hooks: []hooks.Handler{{Type: "command", Command: "c"}}}},
		"zzzzz": nil,
		hooks.Stop: {
			{Hooks: []hooks.Handler{{Type: "command", Command: "c", Timeout: -1}, {Type: "command", Command: "c",
				Shell: "fish"},
				{Type: "command", Command: "c", OnFailure: "panic"}, {Type: "command", Command: "a\x00b"},
				{Type: "command", Command: "c", If: "Bash(x)"}, {Type: "prompt"},
				{Type: "mcp_tool", Server: "s", OnFailure: "stop"}}},
			{},
		},
		hooks.SessionEnd: {{Matcher: "(", Hooks: []hooks.Handler{{Type: "prompt", Prompt: "p"}, {Type: "command",
			Command: "ok"}}}},
		hooks.PreToolUse: {{Matcher: "Bash", Hooks: []hooks.Handler{{Type: "command", Command: "ok", If: "Bash(git *)"},
			{Type: "command", Command: "c", If: "*"}, {Type: "command", Command: "c",
				Timeout: math.Inf(1)}}}},
		hooks.TaskCompleted: {{Hooks: []hooks.Handler{{Gate: true, Policy: "no-open-tasks"}, {Type: "command",
			Gate: true, Command: "go test ./..."}}}},
	})
	checkTexts(t, problems, []string{
		`SessionEnd[0].matcher: matcher "(" is not a JavaScript expression`,
		`SessionEnd[0].hooks[0].type: SessionEnd runs no prompt hooks`,
		`PreToolUse[0].hooks[1].if: not a permission rule: * cannot stand for all tools`,
		`PreToolUse[0].hooks[2].timeout: +Inf is not a timeout`,
		`Stop[0].hooks[0].timeout: -1 is not a timeout`,
		`Stop[0].hooks[1].shell: there is no shell "fish"`,
		`Stop[0].hooks[2].onFailure: "panic": write continue or block`,
		`Stop[0].hooks[3].command: a command cannot contain the character NUL`,
		"Stop[0].hooks[4].if: only tool events evaluate `if`",
		`Stop[0].hooks[5].prompt: the hook has no prompt`,
		`Stop[0].hooks[6].onFailure: "stop": write continue or block`,
		`Stop[0].hooks[6].tool: the hook has no tool`,
		`Stop[1].hooks: the group has no hooks`,
		`Stopp: there is no event "Stopp": did you mean Stop?`,
		`zzzzz: there is no event "zzzzz"`,
	})
	if fine := settingspkg.Validate(on(hooks.Stop, "c")); fine != nil {
		t.Errorf("nothing is wrong: %v", fine)
	}
}

// FuzzSettings: no file panics the reader, what it keeps is valid, and what it
// drops it warns of.
func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"c"}]}]},"permissions":{"allow":["Bash"]}}`))
	f.Add([]byte(`{"hooks":{"Stop":[{"matcher":"[","hooks":[{"type":"command","timeout":-1}]}]}}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, warnings := settingspkg.Parse("f", data)
		for _, problem := range settingspkg.Validate(file.Hooks) {
			if !problem.Odd && (problem.Field != "type" || !strings.Contains(problem.Text, "later version")) {
				t.Fatalf("kept: %v", problem)
			}
		}
		if !json.Valid(data) && len(warnings) == 0 {
			t.Fatal("a broken file passes without a warning")
		}
		for _, rule := range slices.Concat(file.Permissions.Allow, file.Permissions.Ask,
			file.Permissions.Deny) {
			if _, err := rules.Parse(rule); err != nil {
				t.Fatalf("kept a rule that is none: %v", err)
			}
		}
	})
}

// TestHandlerFields: each field of a handler is read, of its own type alone,
// and what a file may not set cannot be set by one.
func TestHandlerFields(t *testing.T) {
	good := map[string]string{
		"type": `"command"`, "if": `"Bash(git *)"`, "timeout": "2.5", "statusMessage": `"m"`, "once": "true",
		"onFailure": `"block"`, "mandatory": "true", "command": `"c"`, "args": `["a"]`, "shell": `"bash"`,
		"cwd": `"d"`, "env": `{"A":"b"}`, "mode": `"observe"`, "async": "true", "asyncRewake": "true", "rewakeMessage": `"m"`, "rewakeSummary": `"s"`,
		"url": `"http://x"`, "headers": `{"a":"b"}`, "allowedEnvVars": `["A"]`, "prompt": `"p"`, "model": `"m"`,
		"continueOnBlock": "true", "server": `"s"`, "tool": `"t"`, "input": `{"a":1}`,
	}
	read := func(name, value string) (hooks.Settings, []error) {
		text := `{"type":"command","command":"c","` + name + `":` + value + `}`
		file, warnings := settingspkg.Parse("f", []byte(`{"hooks":{"PreToolUse":[{"hooks":[`+text+`]}]}}`))
		if name == "type" || name == "command" { // it stands twice now
			warnings = warnings[1:]
		}
		return file.Hooks, warnings
	}
	for name, value := range good {
		settings, warnings := read(name, value)
		if len(warnings) != 0 || len(settings[hooks.PreToolUse]) != 1 {
			t.Errorf("%s: %s: %v", name, value, warnings)
			continue
		}
		back, err := json.Marshal(settings[hooks.PreToolUse][0].Hooks[0])
		if err != nil || !strings.Contains(string(back), `"`+name+`":`+value) {
			t.Errorf("%s: %s became %s, %v", name, value, back, err)
		}
		for _, bad := range []string{"null", `[[]]`} {
			if settings, warnings := read(name, bad); len(settings[hooks.PreToolUse]) != 0 || len(warnings) == 0 {
				t.Errorf("%s: %s passes: %+v, %v", name, bad, settings, warnings)
			}
		}
	}
	fields := reflect.TypeFor[hooks.Handler]().NumField()
	if len(good) != fields-6 { // Gate, MayAct, Sandbox, Policy and Approver are the spec's alone, and Dialect is the file's
		t.Errorf("%d fields are tested of %d", len(good), fields-5)
	}
	for _, name := range []string{"Gate", "gate", "MayAct", "may_act", "Sandbox", "sandbox", "Policy", "policy", "Approver", "approver", "Command"} {
		settings, warnings := read(name, "true")
		h := settings[hooks.PreToolUse][0].Hooks[0]
		if h.Gate || h.Policy != "" || h.Approver != "" || len(warnings) != 1 {
			t.Errorf("%s is set from a file: %+v, %v", name, h, warnings)
		}
	}
}
