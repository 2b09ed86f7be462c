package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// Plugin is a folder that adds hooks and MCP servers, like a plugin of Claude Code
// (HOOKS.md section 3).
type Plugin struct {
	Name    string // from its manifest, or else of the folder, as a slug
	Root    string // absolute path of the folder
	Hooks   hooks.Settings
	Options map[string]string // values of its options: the defaults in its manifest
	Servers []Server
}

// Source returns the plugin's layer of hooks. The caller sets Data.
func (p Plugin) Source() Source {
	return Source{Name: p.Name, Root: p.Root, Settings: p.Hooks, Options: p.Options}
}

// The files of a plugin, relative to its folder.
const (
	pluginHooks   = "hooks/hooks.json"
	pluginServers = ".mcp.json"
)

// manifestPlaces lists where a manifest may be: Claude Code's place and Codex's,
// whose form is the same. The first one found counts.
func manifestPlaces() []string {
	return []string{".claude-plugin/plugin.json", ".codex-plugin/plugin.json"}
}

// manifest is what covey reads of plugin.json.
type manifest struct {
	place   string // the file, relative to the plugin's folder; empty if there is none
	Name    string
	Hooks   json.RawMessage
	Servers json.RawMessage
	Config  map[string]struct {
		Default json.RawMessage `json:"default"`
	}
}

// ReadPlugin reads the plugin in a folder. It never fails: what cannot be used is left
// out with a warning.
func ReadPlugin(root string, read ReadFile) (Plugin, []error) {
	r := pluginReader{root: root, read: read}
	m := r.manifest()
	p := Plugin{Name: yaml.Slug(m.Name), Root: root, Hooks: hooks.Settings{},
		Options: map[string]string{}}
	if p.Name == "" {
		p.Name = yaml.Slug(filepath.Base(root))
	}
	for name, option := range m.Config {
		if len(option.Default) > 0 && string(option.Default) != "null" {
			p.Options[name] = texts.TextOf(option.Default)
		}
	}
	before := len(r.warnings)
	r.hooks(p.Hooks, m)
	p.Servers = r.servers(p, m)
	if len(p.Hooks)+len(p.Servers)+len(below(root, "agents", "*.md"))+len(below(root, "skills", "*", "SKILL.md")) == 0 &&
		len(r.warnings) == before {
		r.warn(root, "the plugin brings no hooks, MCP servers, agents or skills")
	}
	return p, r.warnings
}

// pluginReader reads one plugin and collects warnings.
type pluginReader struct {
	root     string
	read     ReadFile
	used     []string // absolute paths of the files that were requested
	warnings []error
}

// warn records a warning about a file.
func (r *pluginReader) warn(place, format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Errorf("%s: %s", place, fmt.Sprintf(format, args...)))
}

// refuse records why the plugin must not be used.
func (r *pluginReader) refuse(place, format string, args ...any) {
	r.warnings = append(r.warnings, &Flaw{File: place, Text: fmt.Sprintf(format, args...), Refused: true})
}

// file reads a file of the plugin. found is false if it does not exist, or if it cannot
// be read, which gives a warning.
func (r *pluginReader) file(name string) (data []byte, found bool) {
	path := filepath.Join(r.root, filepath.FromSlash(name))
	r.used = append(r.used, path)
	data, err := r.read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false
	case err != nil:
		r.refuse(path, "the file cannot be used: %s", texts.Cause(err))
		return nil, false
	}
	return withoutMark(data), true
}

// manifest reads the plugin's manifest field by field, so that a wrong field does not
// invalidate the others.
func (r *pluginReader) manifest() manifest {
	var m manifest
	for _, place := range manifestPlaces() {
		data, found := r.file(place)
		if !found {
			continue
		}
		m.place = place
		at := filepath.Join(r.root, place)
		fields, err := texts.Map(data)
		if err != nil {
			r.warnings = append(r.warnings, notJSON(at, data, err))
			return m
		}
		for name, target := range map[string]any{"name": &m.Name, "userConfig": &m.Config} {
			if raw, ok := fields[name]; ok && json.Unmarshal(raw, target) != nil {
				r.warn(at, "%s is of the wrong type: it is left out", name)
			}
		}
		m.Hooks, m.Servers = fields["hooks"], fields["mcpServers"]
		return m
	}
	return m
}

// hooks reads hooks/hooks.json, and the files and hooks in the manifest.
func (r *pluginReader) hooks(into hooks.Settings, m manifest) {
	if data, found := r.file(pluginHooks); found {
		r.hookFile(into, filepath.Join(r.root, pluginHooks), data, true)
	}
	seen := []string{pluginHooks}
	for _, entry := range entriesOf(m.Hooks) {
		var name string
		if json.Unmarshal(entry, &name) != nil {
			r.inline(into, m, entry)
			continue
		}
		path, ok := r.inside(m, "hooks", name)
		if !ok || slices.Contains(seen, path) {
			continue
		}
		seen = append(seen, path)
		data, found := r.file(path)
		if !found {
			r.refuse(filepath.Join(r.root, m.place), "hooks: there is no file %s: correct or delete the name", yaml.Clip(name))
			continue
		}
		r.hookFile(into, filepath.Join(r.root, path), data, true)
	}
}

// entriesOf returns the entries of a field that holds one value or a list of values.
func entriesOf(raw json.RawMessage) []json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	return []json.RawMessage{raw}
}

// inside checks that a path in the manifest is in the plugin's folder.
func (r *pluginReader) inside(m manifest, field, name string) (string, bool) {
	path := filepath.ToSlash(filepath.Clean(strings.TrimPrefix(name, "${CLAUDE_PLUGIN_ROOT}/")))
	if name == "" || !filepath.IsLocal(filepath.FromSlash(path)) {
		r.refuse(filepath.Join(r.root, m.place), "%s: %q does not lie in the plugin: correct the path", field, yaml.Clip(name))
		return "", false
	}
	return path, true
}

// inline reads hooks in the manifest itself, with or without an enclosing key
// `hooks`.
func (r *pluginReader) inline(into hooks.Settings, m manifest, raw json.RawMessage) {
	var wrapped struct {
		Hooks json.RawMessage `json:"hooks"`
	}
	if json.Unmarshal(raw, &wrapped) == nil && len(wrapped.Hooks) > 0 {
		raw = wrapped.Hooks
	}
	data, err := json.Marshal(map[string]json.RawMessage{"hooks": raw})
	if err != nil {
		r.warn(filepath.Join(r.root, m.place), "hooks: %v: they are left out", err)
		return
	}
	r.hookFile(into, filepath.Join(r.root, m.place), data, false)
}

// hookFile adds the hooks of one file. Permissions and restrictions of a plugin have no
// effect. placed says that data has the lines of the file.
func (r *pluginReader) hookFile(into hooks.Settings, name string, data []byte, placed bool) {
	file, warnings := parse(name, data, placed)
	r.warnings = append(r.warnings, warnings...)
	for _, event := range slices.Sorted(maps.Keys(file.Hooks)) {
		into[event] = append(into[event], file.Hooks[event]...)
	}
	if file.Restrictions.Any() || len(file.Permissions.Allow)+len(file.Permissions.Ask)+
		len(file.Permissions.Deny)+len(file.Permissions.Unreadable) > 0 {
		r.warn(name, "a plugin can set no permissions and no limits: they have no effect")
	}
}

// PluginFiles lists the files that ReadPlugin requests, whether they exist or not.
func PluginFiles(root string, read ReadFile) []string {
	r := pluginReader{root: root, read: read}
	m := r.manifest()
	r.hooks(hooks.Settings{}, m)
	r.servers(Plugin{Root: root}, m)
	return r.used
}

// pluginConfigs reads the options that the user has set for plugins, by plugin. The name of
// a plugin may be followed by an @ and its marketplace.
func (r *settingsReader) pluginConfigs(raw json.RawMessage) map[string]map[string]string {
	plugins, err := texts.Fields(raw)
	if err != nil {
		r.warn("pluginConfigs", "want an object of plugins, got %s", texts.Preview(string(raw), 40))
		return nil
	}
	out := map[string]map[string]string{}
	for _, p := range plugins {
		path := "pluginConfigs." + texts.Preview(p.Name, 60)
		var config struct {
			Options map[string]json.RawMessage `json:"options"`
		}
		if !r.into(path, p.Value, &config) {
			continue
		}
		name, _, _ := strings.Cut(p.Name, "@")
		if out[name] == nil {
			out[name] = map[string]string{}
		}
		for option, value := range config.Options {
			out[name][option] = texts.TextOf(value)
		}
	}
	return out
}

// Server is an MCP server of a spec or of a plugin: a program to start, or a URL.
type Server struct {
	// Name is the name for mcp_tool hooks; of a server of a plugin plugin:PLUGIN:SERVER.
	Name    string
	Plugin  string            // the plugin's name; empty for a server of the spec
	Root    string            // the plugin's folder, in which the program runs unless Cwd is set
	Command []string          // the program and its arguments; empty if URL is used
	Env     map[string]string // variables for the program
	Cwd     string            // absolute; empty if not set
	URL     string
	Headers map[string]string
	KeyFile string // absolute path of a file whose key goes with each request; empty: there is none
}

// ToolPrefix returns what the names of the server's tools begin with for models: mcp__SERVER__.
func (s Server) ToolPrefix() string { return "mcp__" + ToolWord(s.Name) + "__" }

// ToolWord returns a name in the characters that providers of models allow in the name of a tool,
// with "_" in place of others.
func ToolWord(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// servers reads .mcp.json, and the files and servers in the manifest. If two
// servers have the same name, the last one counts.
func (r *pluginReader) servers(p Plugin, m manifest) []Server {
	all := map[string]Server{}
	if data, found := r.file(pluginServers); found {
		r.serverFile(all, p, pluginServers, data)
	}
	for _, entry := range entriesOf(m.Servers) {
		var name string
		if json.Unmarshal(entry, &name) != nil {
			r.serverFile(all, p, m.place, entry)
			continue
		}
		path, ok := r.inside(m, "mcpServers", name)
		if !ok {
			continue
		}
		if data, found := r.file(path); found {
			r.serverFile(all, p, path, data)
		} else {
			r.warn(filepath.Join(r.root, m.place), "mcpServers: %s cannot be read: its servers are left out", yaml.Clip(name))
		}
	}
	var list []Server
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list
}

// serverFile reads the servers of one file, with or without an enclosing key
// `mcpServers`.
func (r *pluginReader) serverFile(into map[string]Server, p Plugin, name string, data []byte) {
	at := filepath.Join(r.root, name)
	var servers map[string]json.RawMessage
	if err := json.Unmarshal(data, &servers); err != nil {
		r.warn(at, "the MCP servers are left out: %v", err)
		return
	}
	if inner, ok := servers["mcpServers"]; ok {
		servers = nil
		if json.Unmarshal(inner, &servers) != nil {
			r.warn(at, "mcpServers is not an object: it is left out")
			return
		}
	}
	for name, raw := range servers {
		var s struct {
			Command string            `json:"command"`
			Args    []string          `json:"args"`
			Env     map[string]string `json:"env"`
			Cwd     string            `json:"cwd"`
			URL     string            `json:"url"`
			Headers map[string]string `json:"headers"`
		}
		if err := json.Unmarshal(raw, &s); err != nil || s.Command == "" && s.URL == "" {
			r.warn(at, "the MCP server %q has neither a command nor a url that can be read: it is left out", yaml.Clip(name))
			continue
		}
		out := Server{Name: "plugin:" + p.Name + ":" + name, Plugin: p.Name, Root: r.root,
			Env: s.Env, Cwd: s.Cwd, URL: s.URL, Headers: s.Headers}
		if s.Command != "" {
			out.Command = append([]string{s.Command}, s.Args...)
		}
		out.fill()
		into[name] = out
	}
}

// fill replaces the variable for the plugin's folder, and makes Cwd absolute.
func (s *Server) fill() {
	const root = "${CLAUDE_PLUGIN_ROOT}"
	for i, word := range s.Command {
		s.Command[i] = strings.ReplaceAll(word, root, s.Root)
	}
	for name, value := range s.Env {
		s.Env[name] = strings.ReplaceAll(value, root, s.Root)
	}
	s.Cwd = strings.ReplaceAll(s.Cwd, root, s.Root)
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) {
		s.Cwd = filepath.Join(s.Root, s.Cwd)
	}
}
