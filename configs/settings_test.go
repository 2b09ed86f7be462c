package configs

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/testkit"
)

const settingsJSON = `{
  "model": "opus",
  "permissions": {"allow": ["Read"], "deny": ["Bash(rm *)"], "ask": ["WebFetch"], "defaultMode": "plan"},
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./stop.sh"}]}]}
}`

const settingsSpec = `covey: 1
lead: {model: {provider: script, script: demo.yaml}}
gates: {stop: [exit 1]}
hooks: {Stop: [{hooks: [{type: command, command: ./spec.sh}]}]}
settings: [one.json, two.json]
`

func settingsTeam(t *testing.T, two string) (*Team, string) {
	t.Helper()
	dir := testkit.Files(t, map[string]string{"team.yaml": settingsSpec, "demo.yaml": "steps: []\n",
		"one.json": settingsJSON, "two.json": two})
	team, err := Load(filepath.Join(dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return team, dir
}

// commands lists the commands of sources on an event.
func commands(sources []settings.Source, event hooks.Event) []string {
	var out []string
	for _, s := range sources {
		for _, g := range s.Settings[event] {
			for _, h := range g.Hooks {
				out = append(out, h.Command)
			}
		}
	}
	return out
}

func TestSources(t *testing.T) {
	team, dir := settingsTeam(t, `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./two.sh"}]}]}}`)
	sources, warnings := team.Sources()
	if len(warnings) != 0 {
		t.Errorf("warnings %v", warnings)
	}
	if got := commands(sources, hooks.Stop); !reflect.DeepEqual(got, []string{"./spec.sh", "exit 1", "./stop.sh", "./two.sh"}) {
		t.Errorf("commands %v", got)
	}
	gates := 0
	for _, s := range sources {
		if s.Root != "" || s.Name == "" {
			t.Errorf("source %+v", s)
		}
		for _, g := range s.Settings[hooks.Stop] {
			for _, h := range g.Hooks {
				if h.Gate {
					gates++
				}
			}
		}
	}
	if gates != 1 {
		t.Errorf("%d gates, want the one of the spec", gates)
	}
	if sources[2].Name != filepath.Join(dir, "one.json") {
		t.Errorf("a settings file is called %s", sources[2].Name)
	}
}

// TestSourcesReload: the files are read anew, and one that is broken or gone
// warns and takes nothing else with it.
func TestSourcesReload(t *testing.T) {
	team, dir := settingsTeam(t, "{}")
	one, two := filepath.Join(dir, "one.json"), filepath.Join(dir, "two.json")
	replace := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	replace(two, `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./new.sh"}]}]}, "disableAllHooks": true}`)
	sources, warnings := team.Sources()
	if got := commands(sources, hooks.Stop); got[len(got)-1] != "./new.sh" {
		t.Errorf("commands %v", got)
	}
	if off := sources[len(sources)-1].Restrictions.DisableAllHooks; len(warnings) != 0 || off == nil || !*off {
		t.Errorf("warnings %v, disableAllHooks %v", warnings, off)
	}
	for content, want := range map[string]string{
		"{":                            "two.json:1:1: the file cannot be used",
		"[1]":                          "two.json:1:1: the file cannot be used",
		strings.Repeat(" ", (1<<20)+1): "the file is too large",
	} {
		replace(two, content)
		sources, warnings := team.Sources()
		if len(warnings) != 1 || len(settings.Refused(warnings)) != 1 || !strings.Contains(warnings[0].Error(), want) {
			t.Errorf("%.10q: warnings %v, want %q", content, warnings, want)
		}
		if got := commands(sources, hooks.Stop); len(got) != 3 {
			t.Errorf("%.10q: commands %v", content, got)
		}
	}
	for _, path := range []string{one, two} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(two, 0o755); err != nil {
		t.Fatal(err)
	}
	sources, warnings = team.Sources()
	if len(warnings) != 2 || len(sources) != 2 || !strings.Contains(warnings[0].Error(), one+": the file cannot be used: no such file") ||
		!strings.Contains(warnings[1].Error(), "not a regular file") {
		t.Errorf("sources %v, warnings %v", sources, warnings)
	}
}

func TestSettingsPermissions(t *testing.T) {
	team, _ := settingsTeam(t, `{"permissions": {"allow": ["Glob", 3], "deny": ["Edit"]}}`)
	layers := team.Layers(nil)
	got, warnings := layers.Permissions, layers.Ineffective
	want := Permissions{Allow: []string{"Read", "Glob"}, Ask: []string{"WebFetch"}, Deny: []string{"Bash(rm *)", "Edit"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("permissions %+v, want %+v", got, want)
	}
	if len(warnings) != 0 || team.Lead.PermissionMode != Plan {
		t.Errorf("warnings %v, mode %s", warnings, team.Lead.PermissionMode)
	}
}

// TestDefaultMode: permissions.defaultMode of a settings file is the mode of members without
// one; a mode that covey takes from no file is refused unless the spec has a mode for all.
func TestDefaultMode(t *testing.T) {
	for _, c := range []struct{ mode, defaults, want string }{
		{"acceptEdits", "", "lead acceptEdits, ana dontAsk"},
		{"acceptEdits", "defaults: {permission_mode: plan}", "lead plan, ana dontAsk"},
		{"bypassPermissions", "", "permissions.defaultMode of c.json is bypassPermissions, which covey takes from no settings file"},
		{"auto", "", "permissions.defaultMode of c.json is auto"},
		{"bypassPermissions", "defaults: {permission_mode: plan}", "lead plan, ana dontAsk"},
	} {
		dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "c.json": `{"permissions": {"defaultMode": "` + c.mode + `"}}`,
			"team.yaml": "covey: 1\ngoal: g\nmodels: {m: {provider: script, script: demo.yaml}}\nlead: {model: m}\n" +
				"teammates: {ana: {model: m, permission_mode: dontAsk}}\nsettings: [c.json]\n" + c.defaults + "\n"})
		team, err := Load(filepath.Join(dir, "team.yaml"))
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = "lead " + string(team.Lead.PermissionMode) + ", ana " + string(team.Teammates[0].PermissionMode)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, want %s", c.mode, c.defaults, got, c.want)
		}
	}
}
