package settings

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

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
