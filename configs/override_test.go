package configs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/testkit"
)

const overridden = `covey: 1
goal: Ship it.
models: {demo: {provider: script, script: demo.yaml}}
lead: {model: demo, description: leads, tools: [Read, Edit], limits: {max_turns: 3, max_tokens: 5}}
teammates: {ana: {model: demo}, bob: {model: demo}}
budget: {usd: 5}
tasks: [{id: a, subject: A}]
`

// loadOver loads a spec with a local override beside it.
func loadOver(t *testing.T, spec, over string) (*Team, error) {
	t.Helper()
	dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "team.yaml": spec, "team.override.yaml": over})
	return Load(filepath.Join(dir, "team.yaml"))
}

// TestOverride: mappings merge, lists and scalars replace, null takes away.
func TestOverride(t *testing.T) {
	team, err := loadOver(t, overridden, `
goal: Ship it today.
lead: {tools: [Bash], limits: {max_turns: 9}}
teammates: {bob: null, cleo: {model: demo}}
budget: null
tasks: [{id: b, subject: B}]
keep: true
`)
	if err != nil {
		t.Fatal(err)
	}
	lead, names := team.Lead, []string{}
	for _, m := range team.Members() {
		names = append(names, m.Name)
	}
	switch {
	case team.Goal != "Ship it today." || !team.Keep || team.Budget.USD != 0:
		t.Errorf("team %+v", team)
	case lead.Description != "leads" || !slices.Equal(lead.Tools, []string{"Bash"}) ||
		lead.Limits.MaxTurns != 9 || lead.Limits.MaxTokens != 5:
		t.Errorf("lead %+v", lead)
	case !slices.Equal(names, []string{"lead", "ana", "cleo"}):
		t.Errorf("members %v", names)
	case len(team.Tasks) != 1 || team.Tasks[0].ID != "b":
		t.Errorf("tasks %+v", team.Tasks)
	case filepath.Base(team.Override) != "team.override.yaml":
		t.Errorf("override %q", team.Override)
	}
}

// TestOverrideOfAPolicy: an override takes off no policy that the spec extends.
func TestOverrideOfAPolicy(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"p.yaml": teamPolicy, "demo.yaml": "steps: []\n", "team.yaml": fmt.Sprintf(policySpecText, pinned("p.yaml", teamPolicy))})
	for _, text := range []string{"extends: null\n", "extends: other.yaml\n"} {
		testkit.Put(t, dir, "team.override.yaml", text)
		_, err := Load(filepath.Join(dir, "team.yaml"))
		if err == nil || !strings.Contains(err.Error(), "team.override.yaml:1:1: extends of the spec holds (team.yaml:2), and nothing here can replace it") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestOverrideErrors: each message names the file and the line that it is about.
func TestOverrideErrors(t *testing.T) {
	tests := map[string][]string{
		"gaol: x\n":                            {`team.override.yaml:1:1: unknown key "gaol"; write goal`},
		"\n\nlead: {limits: {max_turns: x}}\n": {`team.override.yaml:3:28: max_turns must be`},
		"teammates: {ana: {agent: coder}}\n":   {`team.override.yaml:1:26: a member has an agent or a model`},
		"keep: true\nkeep: false\n":            {`team.override.yaml:2:1: "keep" is here twice, first in line 1; keep one`},
		"goal: [\n":                            {`team.override.yaml:1:7: the closing ] is missing`},
		"- a\n":                                {`team.override.yaml:1:1: the override must be a mapping`},
		"models: null\n":                       {`team.yaml:4:15: there is no model "demo"`},
		"tasks: [{id: x, subject: A}, {id: x, subject: B}]\n": {
			`team.override.yaml:1:35: the task of line 1 has the id "x" too`},
		"nope: 1\ncovey: 2\n": {`team.override.yaml:1:1: unknown key`, `team.override.yaml:2:8: this covey reads version 1`},
	}
	for over, want := range tests {
		_, err := loadOver(t, overridden, over)
		var problems Errors
		if !errors.As(err, &problems) {
			t.Errorf("%q gives %v", over, err)
			continue
		}
		for _, text := range want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%q gives\n%v\nwant %s", over, err, text)
			}
		}
	}
	// A mistake in the spec itself is still told with the spec's name, after which
	// comes the override's.
	_, err := loadOver(t, "covey: 1\nnope: 1\nlead: {model: {provider: script, script: demo.yaml}}\n", "also: 1\n")
	if err == nil || !strings.Contains(err.Error(), `team.yaml:2:1: unknown key "nope"`) ||
		strings.Index(err.Error(), "team.yaml:2") > strings.Index(err.Error(), "team.override.yaml:1") {
		t.Errorf("both wrong: %v", err)
	}
}

// TestOverrideFiles: an override may be empty, and may not be what is no file.
func TestOverrideFiles(t *testing.T) {
	for _, empty := range []string{"", "\n\n", "  \n", "# nothing\n"} {
		if team, err := loadOver(t, overridden, empty); err != nil || team.Goal != "Ship it." {
			t.Errorf("%q: %v", empty, err)
		}
	}
	dir := testkit.Files(t, map[string]string{"demo.yaml": "", "team.yaml": overridden, "team.override.yaml/x": ""})
	if _, err := Load(filepath.Join(dir, "team.yaml")); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder as override: %v", err)
	}
	if _, err := loadOver(t, overridden, strings.Repeat("#", yaml.MaxSize+1)); err == nil ||
		!strings.Contains(err.Error(), "team.override.yaml:1:1: the spec is larger") {
		t.Errorf("a large override: %v", err)
	}
	if got := yaml.OverridePath("/x/crew.json"); got != "/x/crew.override.json" {
		t.Errorf("the override of crew.json is %s", got)
	}
	if got := yaml.OverridePath("/x.y/team"); got != "/x.y/team.override" {
		t.Errorf("the override of a spec without an ending is %s", got)
	}
}

// secretSpecOf is a spec whose one program gets a variable from a file.
func secretSpecOf(path string) string {
	return "covey: 1\nlead: prog\nagents: {prog: {use: command, command: [prog], env: {TOKEN: {file: " + path + "}, PORT: 1}}}\n"
}

// TestSecretFiles: a value may come from a file, and is shown nowhere.
func TestSecretFiles(t *testing.T) {
	const secret = "s3cr3t-$HOME-value"
	dir := testkit.Files(t, map[string]string{"team.yaml": secretSpecOf("secrets/token"), "secrets/token": secret + "\r\n"})
	if err := os.Chmod(filepath.Join(dir, "secrets/token"), 0o600); err != nil {
		t.Fatal(err)
	}
	team, err := Load(filepath.Join(dir, "team.yaml"))
	if err != nil || len(team.Warnings) > 0 {
		t.Fatalf("%v %v", err, team.Warnings)
	}
	v := team.Agents["prog"].Env[0]
	if v.Value != secret || v.Text != "file: secrets/token" || v.File != filepath.Join(dir, "secrets/token") || v.Refers() != nil {
		t.Errorf("variable %+v", v)
	}
	data, err := json.Marshal(team.Agents)
	if err != nil {
		t.Fatal(err)
	}
	shown := string(data) + v.String()
	if strings.Contains(shown, secret) || !strings.Contains(shown, "secrets/token") {
		t.Errorf("shown: %s", shown)
	}
	if err := os.Chmod(v.File, 0o604); err != nil {
		t.Fatal(err)
	}
	if team, err = Load(team.File); err != nil || len(team.Warnings) != 1 ||
		!strings.Contains(team.Warnings[0].Message, "everybody on this machine may read or change") {
		t.Errorf("a file that everybody reads: %v, %v", err, team.Warnings)
	}
}

func TestSecretFilesThatAreNone(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"empty": "\n", "large": strings.Repeat("x", 64<<10+1), "binary": "a\x00b",
		"latin": "caf\xe9", "folder/x": ""})
	for file, want := range map[string]string{
		"none": "is not there", "empty": "is empty; write the value", "large": "larger than 64 KiB",
		"binary": "is not UTF-8 text", "latin": "is not UTF-8 text", "folder": "is a folder",
		`""`: "file is empty", "[x]": "file must be text", "{file: x}": "file must be text",
	} {
		_, err := Parse(filepath.Join(dir, "team.yaml"), []byte(secretSpecOf(file)))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "team.yaml:3:") {
			t.Errorf("%s gives %v, want %s", file, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "xxxx") {
			t.Errorf("%s: the value is shown: %v", file, err)
		}
	}
	bad := strings.Replace(secretSpecOf("x"), "{file: x}", "{fil: x, value: 3}", 1)
	if _, err := Parse(filepath.Join(dir, "team.yaml"), []byte(bad)); err == nil ||
		!strings.Contains(err.Error(), `unknown key "fil"; write file`) {
		t.Errorf("%v", err)
	}
}
