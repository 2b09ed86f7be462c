package configs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
)

// pluginHook is a hooks file whose Stop hook runs a command.
func pluginHook(command string) string {
	return fmt.Sprintf(`{"description": "d", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": %q}]}]}}`, command)
}

// memory reads files of a map as if they lay in a plugin's folder.
func memory(files map[string]string) ReadFile {
	return func(path string) ([]byte, error) {
		text, ok := files[strings.TrimPrefix(path, "/p/My Plugin/")]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return []byte(text), nil
	}
}

// readMemory reads a plugin of these files; its Stop commands stand in one text.
func readMemory(files map[string]string) (p Plugin, stops, warnings string) {
	p, errs := ReadPlugin("/p/My Plugin", memory(files))
	var all []string
	for _, g := range p.Hooks[hooks.Stop] {
		for _, h := range g.Hooks {
			all = append(all, h.Command)
		}
	}
	for _, err := range errs {
		warnings += err.Error() + "\n"
	}
	return p, strings.Join(all, ","), warnings
}

// TestReadPlugin: hooks come from the folder's hooks file and from what the
// manifest names or holds, and a mistake in one place leaves the others.
func TestReadPlugin(t *testing.T) {
	const manifestFile = ".claude-plugin/plugin.json"
	for name, c := range map[string]struct {
		files   map[string]string
		plugin  string // its name
		stops   string
		warning string // empty: none
	}{
		"only hooks": {map[string]string{pluginHooks: pluginHook("a")}, "my-plugin", "a", ""},
		"named": {map[string]string{manifestFile: `{"name": "Other one", "version": "1.2", "hooks": "./more.json"}`,
			"more.json": pluginHook("b"), pluginHooks: pluginHook("a")}, "other-one", "a,b", ""},
		"twice the same": {map[string]string{manifestFile: `{"hooks": ["./hooks/hooks.json", "x.json", "x.json"]}`,
			"x.json": pluginHook("b"), pluginHooks: pluginHook("a")}, "my-plugin", "a,b", ""},
		"inline":        {map[string]string{manifestFile: `{"hooks": ` + pluginHook("a") + `}`}, "my-plugin", "a", ""},
		"inline, bare":  {map[string]string{manifestFile: `{"hooks": {"Stop": [{"type": "command", "command": "a"}]}}`}, "my-plugin", "a", ""},
		"codex":         {map[string]string{".codex-plugin/plugin.json": `{"name": "c", "hooks": ` + pluginHook("a") + `}`}, "c", "a", ""},
		"outside":       {map[string]string{manifestFile: `{"hooks": "../x.json"}`, pluginHooks: pluginHook("a")}, "my-plugin", "a", "does not lie in the plugin"},
		"absolute":      {map[string]string{manifestFile: `{"hooks": "/etc/x.json"}`, pluginHooks: pluginHook("a")}, "my-plugin", "a", "does not lie in the plugin"},
		"gone":          {map[string]string{manifestFile: `{"hooks": "x.json"}`, pluginHooks: pluginHook("a")}, "my-plugin", "a", "x.json cannot be read"},
		"no object":     {map[string]string{manifestFile: `[]`, pluginHooks: pluginHook("a")}, "my-plugin", "a", "not one JSON object"},
		"wrong types":   {map[string]string{manifestFile: `{"name": 7, "version": "1"}`, pluginHooks: pluginHook("a")}, "my-plugin", "a", "name is of the wrong type"},
		"evil name":     {map[string]string{manifestFile: `{"name": "../../x"}`, pluginHooks: pluginHook("a")}, "x", "a", ""},
		"broken hooks":  {map[string]string{manifestFile: `{"hooks": "x.json"}`, "x.json": pluginHook("b"), pluginHooks: "{"}, "my-plugin", "b", "not one JSON object"},
		"broken entry":  {map[string]string{pluginHooks: `{"hooks": {"Stop": [7, {"type": "command", "command": "a"}], "Stopp": []}}`}, "my-plugin", "a", "did you mean Stop"},
		"limits":        {map[string]string{pluginHooks: `{"disableAllHooks": true, ` + pluginHook("a")[1:]}, "my-plugin", "a", "no permissions and no limits"},
		"permissions":   {map[string]string{pluginHooks: `{"permissions": {"allow": ["Bash"]}, ` + pluginHook("a")[1:]}, "my-plugin", "a", "no permissions and no limits"},
		"nothing":       {map[string]string{}, "my-plugin", "", "brings no hooks"},
		"wrong content": {map[string]string{manifestFile: `{"hooks": [7]}`}, "my-plugin", "", "hooks"},
	} {
		p, stops, warnings := readMemory(c.files)
		if p.Name != c.plugin || stops != c.stops || p.Source().Restrictions.Any() ||
			(warnings == "") != (c.warning == "") || !strings.Contains(warnings, c.warning) {
			t.Errorf("%s: plugin %s stops with %q, warnings %q; want %+v", name, p.Name, stops, warnings, c)
		}
	}
}

// TestPluginOptions: what a manifest sets for an option counts until a settings
// file says otherwise.
func TestPluginOptions(t *testing.T) {
	p, _, warnings := readMemory(map[string]string{pluginHooks: pluginHook("a"), ".claude-plugin/plugin.json": `{"userConfig": {
		"url": {"type": "string", "default": "http://x"}, "depth": {"default": 3}, "token": {"sensitive": true}, "none": {"default": null}}}`})
	if want := map[string]string{"url": "http://x", "depth": "3"}; !reflect.DeepEqual(p.Options, want) || warnings != "" {
		t.Errorf("options %v, %s", p.Options, warnings)
	}
}

// TestPluginServers: servers come from .mcp.json and the manifest, by program or
// address, and their places are filled in.
func TestPluginServers(t *testing.T) {
	p, _, warnings := readMemory(map[string]string{
		pluginServers: `{"mcpServers": {"files": {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "args": ["-x", "${CLAUDE_PLUGIN_ROOT}/d"],
			"env": {"R": "${CLAUDE_PLUGIN_ROOT}"}, "cwd": "sub"}, "bad": {"args": []}, "text": 7}}`,
		".claude-plugin/plugin.json": `{"name": "p", "mcpServers": ["more.json", {"web": {"url": "http://x", "headers": {"A": "b"}}}, "../no.json", "gone.json"]}`,
		"more.json":                  `{"files": {"command": "other"}}`,
	})
	want := []PluginServer{
		{Name: "plugin:p:files", Plugin: "p", Root: "/p/My Plugin", Command: []string{"other"}},
		{Name: "plugin:p:web", Plugin: "p", Root: "/p/My Plugin", URL: "http://x", Headers: map[string]string{"A": "b"}},
	}
	if !reflect.DeepEqual(p.Servers, want) {
		t.Errorf("servers %+v", p.Servers)
	}
	for _, text := range []string{`"bad"`, `"text"`, "no.json", "gone.json"} {
		if !strings.Contains(warnings, text) {
			t.Errorf("no warning about %s: %s", text, warnings)
		}
	}
	p, _, _ = readMemory(map[string]string{pluginServers: `{"files": {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "cwd": "sub",
		"env": {"R": "${CLAUDE_PLUGIN_ROOT}"}}}`})
	s := p.Servers[0]
	if s.Command[0] != "/p/My Plugin/serve" || s.Cwd != "/p/My Plugin/sub" || s.Env["R"] != "/p/My Plugin" {
		t.Errorf("%+v", s)
	}
}

// FuzzReadPlugin: no plugin breaks the reader, leads it out of its folder, or
// brings hooks that cannot run.
func FuzzReadPlugin(f *testing.F) {
	f.Add(`{"name": "x", "hooks": "./h.json"}`, pluginHook("a"), `{"mcpServers": {"a": {"command": "c"}}}`)
	f.Add(`{"hooks": ["../../etc/passwd", {"Stop": []}], "mcpServers": "../x"}`, `{"hooks": 7}`, `[]`)
	f.Add(`{"userConfig": {"a": {"default": [1]}}, "hooks": [[[]]]}`, `{`, `{"a": {"url": 7}}`)
	f.Fuzz(func(t *testing.T, manifest, file, servers string) {
		files := map[string]string{".claude-plugin/plugin.json": manifest, pluginHooks: file, pluginServers: servers, "h.json": file}
		read := memory(files)
		p, warnings := ReadPlugin("/p/My Plugin", func(path string) ([]byte, error) {
			if !strings.HasPrefix(filepath.Clean(path), "/p/My Plugin/") {
				t.Fatalf("asked for %s", path)
			}
			return read(path)
		})
		if p.Name == "" || strings.ContainsAny(p.Name, "/.\\") {
			t.Fatalf("it is called %q", p.Name)
		}
		if len(p.Hooks)+len(p.Servers)+len(warnings) == 0 {
			t.Fatal("nothing came of it, and nobody is told")
		}
		hookRunner, err := runner.New([]settings.Source{p.Source()}, nil)
		if err != nil || hookRunner == nil {
			t.Fatal(err)
		}
	})
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
		data, err := ReadHookFile(path)
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

// TestHeadsThatAreNone: a head that is not YAML says so if it may hold hooks, and
// one without hooks is no mistake.
func TestHeadsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"no head": "", "---\nname: x\n---\n": "", "---\nhooks: [\n---\n": "its head is not YAML",
		"---\nname: hooks\n---\n": "", "---\nhooks: 7\n---\n": "want an object of events", "---\nhooks: {Stopp: []}\n---\n": "did you mean Stop",
	} {
		file, warnings := readFront("x.md", func(string) ([]byte, error) { return []byte(text), nil })
		if len(file.Hooks) != 0 || (want == "") != (len(warnings) == 0) || want != "" && !strings.Contains(warnings[0].Error(), want) {
			t.Errorf("%q: %+v, %v", text, file, warnings)
		}
	}
	if fault := HookFileFault("x.md", []byte("---\nhooks: [\n---\n")); fault == "" {
		t.Error("a broken head is no fault")
	}
	if fault := HookFileFault("x.json", []byte(`{"hooks": {"Stop": 7}}`)); fault != "" {
		t.Errorf("a broken entry is a fault: %s", fault)
	}
}

// TestRunsOfPlugins: a plugin's folder, its commands and its servers are listed,
// and so are the heads of agent files that have hooks.
func TestRunsOfPlugins(t *testing.T) {
	team, dir := layersTeam(t)
	for _, want := range []Run{
		{Kind: RunPlugin, Path: filepath.Join(dir, "plugins/x")}, {Kind: RunHook, Event: hooks.Stop, Command: "plugin"},
		{Kind: RunHead, Path: filepath.Join(dir, "agents/lead.md")}, {Kind: RunHook, Event: hooks.Stop, Command: "head"},
		{Kind: RunSettings, Path: filepath.Join(dir, "config.toml")}, {Kind: RunHook, Event: hooks.Stop, Command: "toml"},
	} {
		if !slices.Contains(team.Runs(), want) {
			t.Errorf("%+v is not listed: %+v", want, team.Runs())
		}
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
