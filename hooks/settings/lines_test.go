package settings

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// guard is a settings file with a hook and a rule that forbid something.
const guard = `{
  "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./deny.sh"}]}]},
  "permissions": {"deny": ["Bash(rm *)"]}
}`

// TestUnreadableFile: a byte order mark is skipped; any other file that is not JSON must not
// be used, and says where that begins, because what it forbids would be lost.
func TestUnreadableFile(t *testing.T) {
	file, warnings := Parse("s.json", []byte("\ufeff"+guard))
	if len(warnings) > 0 || len(file.Hooks[hooks.PreToolUse]) != 1 || len(file.Permissions.Deny) != 1 {
		t.Errorf("a byte order mark: %+v, %v", file, warnings)
	}
	for text, place := range map[string]string{
		"// mine\n" + guard:                                       "s.json:1:1: ",
		strings.Replace(guard, "\n}", ",\n}", 1):                  "s.json:4:1: ",
		strings.Replace(guard, `["Bash(rm *)"]`, "/* */ [1]", 1):  "s.json:3:27: ",
		strings.Replace(guard, `"./deny.sh"`, `"ü", './deny'`, 1): "s.json:2:94: ",
		guard[:20]:           "s.json:2:",
		guard + "\n" + guard: "s.json:5:1: ",
		"[" + guard + "]":    "s.json:1:1: ",
		"\xff\xfe{\x00}\x00": "s.json:1:1: ",
		"":                   "s.json:1:1: ",
	} {
		file, warnings := Parse("s.json", []byte(text))
		if !file.Broken || len(warnings) != 1 || len(Refused(warnings)) != 1 || !strings.HasPrefix(warnings[0].Error(), place) {
			t.Errorf("%q: %v, want %s", text, warnings, place)
		}
	}
	for _, name := range []string{"a.toml", "a.md"} {
		_, warnings := ReadSettings(name, func(string) ([]byte, error) { return []byte("---\nhooks: {\n---\n"), nil })
		if len(Refused(warnings)) != 1 {
			t.Errorf("%s: %v", name, warnings)
		}
	}
}

// TestLostKeys: what a file says and nobody reads is a warning with its line: the first of two
// equal keys, events that do not stand under `hooks`, and an `if` of several rules.
func TestLostKeys(t *testing.T) {
	for text, want := range map[string]string{
		"{\"hooks\": {\n\"Stop\": [],\n\"PreToolUse\": [],\n\"Stop\": []}}": "s.json:4: hooks.Stop: the key stands twice",
		"{\"hooks\": {},\n\"hooks\": {}}":                                   "s.json:2: hooks: the key stands twice",
		"{\"permissions\": {\"deny\": [\"Edit\"],\n\"deny\": [\"Bash\"]}}":  "s.json:2: permissions.deny: the key stands twice",
		"{\"other\": {\"a\": 1e999, \"a\": 2}}":                             "",
		"{\"a.b\": 1, \"a\": {\"b\": 1}}":                                   "",
		"{\n\"PreToolUse\": []}":                                            `s.json:2: PreToolUse: the event does not stand under "hooks"`,
		"{\"Stop\": true}":                                                  "",
		`{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "if": "Bash(a *), Bash(b *)"}]}]}}`: "s.json:1: hooks.PreToolUse[0].hooks[0].if: an `if` is one rule",
		`{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "if": "Bash(echo (a) (b))"}]}]}}`:   "",
	} {
		_, warnings := Parse("s.json", []byte(text))
		switch {
		case want == "" && len(warnings) > 0, want != "" && len(warnings) != 1:
			t.Errorf("%s: %v", text, warnings)
		case want != "" && !strings.HasPrefix(warnings[0].Error(), want):
			t.Errorf("%s: %v, want %s", text, warnings[0], want)
		}
	}
}
