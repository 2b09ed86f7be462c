package configs

import (
	"net/url"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/settings"
)

// MCPServer is an MCP server of the spec. Its tools are for members, and for hooks of type
// mcp_tool.
type MCPServer struct {
	settings.Server
	Environ []EnvVar // the variables of Env, with what the spec says of them
}

// TeamToolServer is the name under which agent programs know the server of the team's own tools.
const TeamToolServer = "covey"

// serverSpec is an MCP server of a spec.
type serverSpec struct {
	at      *yaml.Node
	command yaml.List[yaml.Value[string]]
	env     []yaml.Entry[yaml.VariableValue]
	cwd     yaml.Value[string]
	url     yaml.Value[string]
	headers []yaml.Entry[yaml.Value[string]]
	keyFile yaml.Value[string]
}

// serverName is the form of the names of MCP servers, which are often given by others.
func serverName() yaml.NameForm {
	return yaml.NameForm{Pattern: `^[A-Za-z0-9]([A-Za-z0-9_. -]{0,30}[A-Za-z0-9])?$`, Rule: "a name of an MCP server is " +
		"1 to 32 letters, digits, \"_\", \"-\", dots and blanks, and begins and ends with a letter or digit"}
}

// serverPart decodes an MCP server.
func serverPart(s *serverSpec) yaml.Part {
	return yaml.Shared("mcpServer", yaml.Object(&s.at, s.fields()))
}

// fields returns the keys of an MCP server.
func (s *serverSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "command", Part: yaml.CommandLine(&s.command, "[program, argument]"),
			Doc: "The program of the server, relative to the workspace or in PATH, and its arguments. It speaks MCP on " +
				"its streams."},
		{Key: "env", Part: yaml.Env(&s.env),
			Doc: "Variables for the program, as for an agent program. Keys of covey's environment do not reach it " +
				"otherwise."},
		{Key: "cwd", Part: yaml.Text(&s.cwd),
			Doc: "The folder that the program runs in, relative to the spec. Default: the workspace."},
		{Key: "url", Part: yaml.Text(&s.url),
			Doc: "Instead of a command, the URL of a server that speaks MCP over streamable HTTP."},
		{Key: "headers", Part: yaml.TextsByKey(&s.headers, "headers"),
			Doc: "With url, HTTP headers of each request."},
		{Key: "key_file", Part: yaml.Text(&s.keyFile),
			Doc: "With url, a file that holds a key, which each request has as `Authorization: Bearer KEY`."},
	}
}

// mcpServers resolves the section `mcp_servers`. A server with a mistake is kept, so that what names it is
// not reported as another one. A program that is not installed is no mistake of the spec: it is looked
// for where the team starts.
func (r *resolver) mcpServers(specs []yaml.Entry[serverSpec]) []MCPServer {
	for _, e := range specs {
		r.mcp = append(r.mcp, MCPServer{Server: settings.Server{Name: e.Name.Text}})
		s, m := &r.mcp[len(r.mcp)-1], &e.V
		same := slices.IndexFunc(r.mcp, func(o MCPServer) bool { return o.ToolPrefix() == s.ToolPrefix() })
		switch {
		case strings.Contains(strings.TrimSuffix(strings.TrimPrefix(s.ToolPrefix(), "mcp__"), "__"), "__"):
			r.Fail(e.Name.At, "the name %s has two \"_\" in a row in the names of its tools (%s…), where they end the server's "+
				"name; write another", yaml.Quote(s.Name), s.ToolPrefix())
		case same < len(r.mcp)-1:
			r.Fail(e.Name.At, "the tools of %s would have the same names as those of %s (%s…); give one another name",
				yaml.Quote(s.Name), yaml.Quote(r.mcp[same].Name), s.ToolPrefix())
		case s.Name == TeamToolServer:
			r.Fail(e.Name.At, "the name %s belongs to the server of the team's own tools; give this one another name",
				s.Name)
		case m.at == nil || m.at.Broken || m.at.Kind != yaml.MappingKind:
			continue
		case m.command.Given() == m.url.Given():
			r.Fail(m.at.At, "%s needs either a command or a url; write {command: [program, argument]} or {url: URL}",
				yaml.NameOf(e.Name))
			continue
		}
		strangers := []string{"headers", "key_file"}
		if m.url.Given() {
			strangers = []string{"env", "cwd"}
		}
		for _, key := range strangers {
			if k := m.at.Entry(key).Key; k != nil {
				r.Fail(k.At, "%s does not belong to a server with a %s; remove it", key,
					map[bool]string{true: "url", false: "command"}[m.url.Given()])
			}
		}
		r.place(serverKey+s.Name, programAt(m.command))
		s.Command, s.Environ = r.Command(m.command), r.env(m.env)
		s.URL, s.KeyFile = m.url.V, r.Path(m.keyFile, "key file")
		s.Cwd, _ = r.Folder(m.cwd, "cwd")
		s.Headers, s.Env = r.headers(m.headers), map[string]string{}
		for _, v := range s.Environ {
			s.Env[v.Name] = v.Value
		}
		// The query may select what a server offers, so it is allowed.
		if u, err := url.Parse(s.URL); m.url.V != "" && (err != nil || u.Host == "" ||
			u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "") {
			r.Fail(m.url.At.At, "url must be a URL such as https://example.com/mcp, without a user and without a fragment; "+
				"a key belongs in a file named under key_file")
		}
	}
	return r.mcp
}
