package settings_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
)

// pluginHook returns a hooks file whose Stop hook runs a command.
func pluginHook(command string) string {
	return fmt.Sprintf(`{"description": "d", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": %q}]}]}}`, command)
}

// memory reads the files of a map as the files of a plugin's folder.
func memory(files map[string]string) settings.ReadFile {
	return func(path string) ([]byte, error) {
		text, ok := files[strings.TrimPrefix(path, "/p/My Plugin/")]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return []byte(text), nil
	}
}

// readMemory reads a plugin with these files, and joins its Stop commands.
func readMemory(files map[string]string) (p settings.Plugin, stops, warnings string) {
	p, errs := settings.ReadPlugin("/p/My Plugin", memory(files))
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

// TestReadPlugin: hooks come from the hooks file, from files that the manifest names and
// from the manifest itself; a mistake in one does not affect the others.
func TestReadPlugin(t *testing.T) {
	const manifestFile = ".claude-plugin/plugin.json"
	for name, c := range map[string]struct {
		files   map[string]string
		plugin  string // its name
		stops   string
		warning string // empty: none
	}{
		"only hooks": {map[string]string{"hooks/hooks.json": pluginHook("a")}, "my-plugin", "a", ""},
		"named": {map[string]string{manifestFile: `{"name": "Other one", "version": "1.2", "hooks": "./more.json"}`,
			"more.json": pluginHook("b"), "hooks/hooks.json": pluginHook("a")}, "other-one", "a,b", ""},
		"twice the same": {map[string]string{manifestFile: `{"hooks": ["./hooks/hooks.json", "x.json", "x.json"]}`,
			"x.json": pluginHook("b"), "hooks/hooks.json": pluginHook("a")}, "my-plugin", "a,b", ""},
		"inline":        {map[string]string{manifestFile: `{"hooks": ` + pluginHook("a") + `}`}, "my-plugin", "a", ""},
		"inline, bare":  {map[string]string{manifestFile: `{"hooks": {"Stop": [{"type": "command", "command": "a"}]}}`}, "my-plugin", "a", ""},
		"codex":         {map[string]string{".codex-plugin/plugin.json": `{"name": "c", "hooks": ` + pluginHook("a") + `}`}, "c", "a", ""},
		"outside":       {map[string]string{manifestFile: `{"hooks": "../x.json"}`, "hooks/hooks.json": pluginHook("a")}, "my-plugin", "a", "does not lie in the plugin"},
		"absolute":      {map[string]string{manifestFile: `{"hooks": "/etc/x.json"}`, "hooks/hooks.json": pluginHook("a")}, "my-plugin", "a", "does not lie in the plugin"},
		"gone":          {map[string]string{manifestFile: `{"hooks": "x.json"}`, "hooks/hooks.json": pluginHook("a")}, "my-plugin", "a", "there is no file x.json"},
		"no object":     {map[string]string{manifestFile: `[]`, "hooks/hooks.json": pluginHook("a")}, "my-plugin", "a", "not one JSON object"},
		"wrong types":   {map[string]string{manifestFile: `{"name": 7, "version": "1"}`, "hooks/hooks.json": pluginHook("a")}, "my-plugin", "a", "name is of the wrong type"},
		"evil name":     {map[string]string{manifestFile: `{"name": "../../x"}`, "hooks/hooks.json": pluginHook("a")}, "x", "a", ""},
		"broken hooks":  {map[string]string{manifestFile: `{"hooks": "x.json"}`, "x.json": pluginHook("b"), "hooks/hooks.json": "{"}, "my-plugin", "b", "not one JSON object"},
		"broken entry":  {map[string]string{"hooks/hooks.json": `{"hooks": {"Stop": [7, {"type": "command", "command": "a"}], "Stopp": []}}`}, "my-plugin", "a", "did you mean Stop"},
		"limits":        {map[string]string{"hooks/hooks.json": `{"disableAllHooks": true, ` + pluginHook("a")[1:]}, "my-plugin", "a", "no permissions and no limits"},
		"permissions":   {map[string]string{"hooks/hooks.json": `{"permissions": {"allow": ["Bash"]}, ` + pluginHook("a")[1:]}, "my-plugin", "a", "no permissions and no limits"},
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

// TestPluginOptions: the default of an option in the manifest applies unless a settings
// file sets the option.
func TestPluginOptions(t *testing.T) {
	p, _, warnings := readMemory(map[string]string{"hooks/hooks.json": pluginHook("a"), ".claude-plugin/plugin.json": `{"userConfig": {
		"url": {"type": "string", "default": "http://x"}, "depth": {"default": 3}, "token": {"sensitive": true}, "none": {"default": null}}}`})
	if want := map[string]string{"url": "http://x", "depth": "3"}; !reflect.DeepEqual(p.Options, want) || warnings != "" {
		t.Errorf("options %v, %s", p.Options, warnings)
	}
}

// TestPluginServers: servers come from .mcp.json and the manifest, as a program or a URL,
// and the variable for the plugin's folder is replaced.
func TestPluginServers(t *testing.T) {
	p, _, warnings := readMemory(map[string]string{
		".mcp.json": `{"mcpServers": {"files": {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "args": ["-x", "${CLAUDE_PLUGIN_ROOT}/d"],
			"env": {"R": "${CLAUDE_PLUGIN_ROOT}"}, "cwd": "sub"}, "bad": {"args": []}, "text": 7}}`,
		".claude-plugin/plugin.json": `{"name": "p", "mcpServers": ["more.json", {"web": {"url": "http://x", "headers": {"A": "b"}}}, "../no.json", "gone.json"]}`,
		"more.json":                  `{"files": {"command": "other"}}`,
	})
	want := []settings.Server{
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
	p, _, _ = readMemory(map[string]string{".mcp.json": `{"files": {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "cwd": "sub",
		"env": {"R": "${CLAUDE_PLUGIN_ROOT}"}}}`})
	s := p.Servers[0]
	if s.Command[0] != "/p/My Plugin/serve" || s.Cwd != "/p/My Plugin/sub" || s.Env["R"] != "/p/My Plugin" {
		t.Errorf("%+v", s)
	}
}

// FuzzReadPlugin: no plugin breaks the reader, makes it read outside of the folder, or
// adds hooks that cannot run.
func FuzzReadPlugin(f *testing.F) {
	f.Add(`{"name": "x", "hooks": "./h.json"}`, pluginHook("a"), `{"mcpServers": {"a": {"command": "c"}}}`)
	f.Add(`{"hooks": ["../../etc/passwd", {"Stop": []}], "mcpServers": "../x"}`, `{"hooks": 7}`, `[]`)
	f.Add(`{"userConfig": {"a": {"default": [1]}}, "hooks": [[[]]]}`, `{`, `{"a": {"url": 7}}`)
	f.Fuzz(func(t *testing.T, manifest, file, servers string) {
		files := map[string]string{".claude-plugin/plugin.json": manifest, "hooks/hooks.json": file, ".mcp.json": servers, "h.json": file}
		read := memory(files)
		p, warnings := settings.ReadPlugin("/p/My Plugin", func(path string) ([]byte, error) {
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

// TestHeadsThatAreNone: a head that is not YAML gives a warning if it may contain hooks; a
// head without hooks is valid.
func TestHeadsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"no head": "", "---\nname: x\n---\n": "", "---\nhooks: [\n---\n": "its head is not YAML",
		"---\nname: hooks\n---\n": "", "---\nhooks: 7\n---\n": "want an object of events", "---\nhooks: {Stopp: []}\n---\n": "did you mean Stop",
	} {
		file, warnings := settings.ReadFront("x.md", func(string) ([]byte, error) { return []byte(text), nil })
		if len(file.Hooks) != 0 || (want == "") != (len(warnings) == 0) || want != "" && !strings.Contains(warnings[0].Error(), want) {
			t.Errorf("%q: %+v, %v", text, file, warnings)
		}
	}
	if fault := settings.Fault("x.md", []byte("---\nhooks: [\n---\n")); fault == "" {
		t.Error("a broken head is no fault")
	}
	if fault := settings.Fault("x.json", []byte(`{"hooks": {"Stop": 7}}`)); fault != "" {
		t.Errorf("a broken entry is a fault: %s", fault)
	}
}
