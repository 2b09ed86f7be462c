package configs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// pluginHook is a hooks file whose Stop hook runs a command.
func pluginHook(command string) string {
	return fmt.Sprintf(`{"description": "d", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": %q}]}]}}`, command)
}

// layersTeam is a team with a source of hooks of each kind.
func layersTeam(t *testing.T) (*Team, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"team.yaml": `covey: 1
models: {demo: {provider: script, script: s.yaml}}
lead: {model: demo, prompt_file: agents/lead.md}
teammates: {dev: {model: demo, prompt_file: agents/lead.md}, ops: {model: demo}}
hooks: {Stop: [{hooks: [{type: command, command: spec, linux: spec, osx: spec, windows: spec, cwd: web, env: {A: b}, mode: observe}]}]}
gates: {stop: ["true"]}
settings: [a.json, .claude/skills/x/SKILL.md, config.toml]
plugins: [plugins/x]
fail_closed: true
`,
		"s.yaml": "steps: []\n", "a.json": `{"pluginConfigs": {"x@market": {"options": {"url": "set", "n": 3}}}, "permissions": {"deny": ["Edit(x"]},
			` + pluginHook("settings")[1:],
		".claude/skills/x/SKILL.md":            "---\nname: x\nhooks:\n  Stop:\n    - hooks: [{type: command, command: skill, timeout: 1.5, once: true}]\n---\n# X\n",
		"config.toml":                          "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"toml\"\n",
		"plugins/x/.claude-plugin/plugin.json": `{"name": "x", "userConfig": {"url": {"default": "d"}, "k": {"default": "d"}}}`,
		"plugins/x/hooks/hooks.json":           pluginHook("plugin"),
		"agents/lead.md":                       "---\ndescription: leads\nhooks:\n  Stop: [{hooks: [{type: command, command: head}]}]\n---\nLead.\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	team, err := Load(filepath.Join(dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return team, dir
}

// TestLayers: sources merge in their order, each with what belongs to it.
func TestLayers(t *testing.T) {
	team, dir := layersTeam(t)
	l := team.Layers(nil)
	want := []string{"spec", "true", "settings", "skill", "toml", "plugin", "head", "head"}
	if got := commands(l.Sources, hooks.Stop); !slices.Equal(got, want) {
		t.Errorf("commands %v, want %v", got, want)
	}
	var members []string
	for _, s := range l.Sources {
		if s.Member != "" {
			members = append(members, s.Member)
		}
	}
	if !slices.Equal(members, []string{"lead", "dev"}) || !team.FailClosed {
		t.Errorf("heads for %v, fail_closed %v", members, team.FailClosed)
	}
	plugin := l.Sources[5]
	if plugin.Name != "x" || plugin.Root != filepath.Join(dir, "plugins/x") ||
		!reflect.DeepEqual(plugin.Options, map[string]string{"url": "set", "n": "3", "k": "d"}) {
		t.Errorf("plugin %+v", plugin)
	}
	own := l.Sources[0].Settings[hooks.Stop][0].Hooks[0]
	if own.Cwd != "web" || own.Env["A"] != "b" || own.Mode != "observe" {
		t.Errorf("the spec's hook is %+v", own)
	}
	if h := l.Sources[3].Settings[hooks.Stop][0].Hooks[0]; h.Timeout != 1.5 || !h.Once {
		t.Errorf("the skill's hook is %+v", h)
	}
	if !slices.Equal(l.Permissions.Deny, []string{"Edit"}) || len(l.Warnings) != 1 {
		t.Errorf("deny %q, warnings %v", l.Permissions.Deny, l.Warnings)
	}
}

// TestHookFiles: the files that are read are those that are listed, and with what
// they held before they give what they gave.
func TestHookFiles(t *testing.T) {
	team, dir := layersTeam(t)
	held := map[string][]byte{}
	before := team.Layers(func(path string) ([]byte, error) {
		data, err := settings.Read(path)
		held[path] = data
		return data, err
	})
	listed := team.HookFiles()
	for path := range held {
		if !slices.Contains(listed, path) {
			t.Errorf("%s is read and not listed", path)
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	if len(listed) < len(held) {
		t.Errorf("listed %q", listed)
	}
	after := team.Layers(func(path string) ([]byte, error) {
		if len(held[path]) == 0 {
			return nil, fs.ErrNotExist
		}
		return held[path], nil
	})
	if !reflect.DeepEqual(before, after) {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	if gone := team.Layers(nil); len(gone.Warnings) == 0 || len(gone.Sources) != 2 {
		t.Errorf("without the files of %s: %+v", dir, gone)
	}
}

// TestBrings: what a workspace brings is known by links, too, and from a hook's
// own folder.
func TestBrings(t *testing.T) {
	team, dir := layersTeam(t)
	away := t.TempDir()
	link := filepath.Join(away, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugins/check.sh"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		filepath.Join(dir, "a.json"): true, filepath.Join(link, "a.json"): true, filepath.Join(away, "x"): false, "/etc/passwd": false,
	} {
		if team.Place().Brings(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
	if got := team.Place().Words([]string{filepath.Join(link, "plugins/check.sh")}, "").Files; len(got) != 1 {
		t.Errorf("by a link: %q", got)
	}
	if got := team.Place().Words([]string{"./check.sh"}, "plugins").Files; !slices.Equal(got, []string{filepath.Join(dir, "plugins/check.sh")}) {
		t.Errorf("from plugins: %q", got)
	}
}

// TestHookFilesOfManyMembers: the files, which an idle team looks at every two seconds, are
// listed without copies of its members.
func TestHookFilesOfManyMembers(t *testing.T) {
	garbage := func(members int) uint64 {
		team := &Team{Workspace: t.TempDir(), Teammates: make([]Member, members)}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			team.HookFiles()
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := garbage(1), garbage(1_000); many > 2*few {
		t.Errorf("%d bytes with 1 member, %d with 1,000", few, many)
	}
}
