package configs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestMisspeltTools: a rule for a tool that is none forbids nothing. In a spec and
// in the head of a prompt file it is a mistake with its place.
func TestMisspeltTools(t *testing.T) {
	spec := "covey: 1\nlead: {model: {provider: script, script: demo.yaml}, prompt_file: p/x.md, permissions: {"
	for text, want := range map[string]struct{ rules, head string }{
		`team.yaml:2:96: there is no tool "Bsh"; write Bash`:      {`deny: ["Bsh(git push*)"]`, ""},
		`team.yaml:2:96: there is no tool "bash"; write Bash`:     {`deny: ["bash(git push*)"]`, ""},
		`team.yaml:2:96: there is no tool "Raed"; write Read`:     {`deny: ["Raed(secret/**)"]`, ""},
		`team.yaml:2:95: there is no tool "BASH"; write Bash`:     {`ask: ["BASH"]`, ""},
		`team.yaml:2:97: there is no tool "Webfetch"; write WebF`: {`allow: ["Webfetch(domain:x.org)"]`, ""},
		`team.yaml:2:103: there is no tool "Edti"; write Edit`:    {`deny: [{rule: "Edti(x)", mandatory: true}]`, ""},
		`p/x.md:3:10: there is no tool "bash"; write Bash`:        {"", "name: x\ntools: [ bash, Read ]"},
		`p/x.md:4:16: there is no tool "Bsh"; write Bash`:         {"", "name: x\npermissions:\n  deny: [Read, Bsh(x)]"},
		`p/x.md:2:8: there is no tool "Greb"; write Grep`:         {"", "tools: Read, Greb"},
		``: {`deny: ["mcp__x__y", mcp__x, "WebFetch(domain:x)", "plugin:a(b:c)", apply_patch, "Quokka(x)"]`, "tools: Read, mcp__a__b, Quokka"},
	} {
		dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "p/x.md": "---\n" + want.head + "\n---\nGo.\n"})
		_, err := Parse(filepath.Join(dir, "team.yaml"), []byte(spec+want.rules+"}}\n"))
		if text == "" && err != nil || text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
			t.Errorf("%+v: %v, want %s", want, err, text)
		}
	}
}
