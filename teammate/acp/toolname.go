package acp

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// A program's tool calls get the names and inputs that rules and hooks know:
//
//	a tool of an MCP server            mcp__SERVER__TOOL  its own input
//	anything with a command, execute   Bash               command
//	edit, delete, move                 Edit; Write where a whole file is new
//	                                                      file_path, once for each file
//	read                               Read               file_path
//	search                             Grep               pattern, path
//	                                   if a program has run a command for these two
//	                                   without any input, rules for Bash apply as well
//	fetch                              WebFetch           url
//	all others                         their first title that could be a name; else Tool
//
// If a program gives the tool's name in _meta (claude), that name is used. An MCP tool is
// recognized by its raw input (codex), its name in _meta, or a title that consists of such a
// name; of several titles the first counts. A command in the raw input takes precedence over
// all but the first of these, because rules for the shell must apply wherever a shell can be
// reached. All of this is only what the program claims. The caller of a team tool is
// authenticated by its bearer token, never by a name.

// naming names the calls of one program.
type naming struct {
	servers      []string // names of its MCP servers
	titleCommand bool     // Quirks.TitleCommand
}

// identifier matches a title that could be a tool's name.
var identifier = texts.Pattern(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

// ruleName matches names as rules write them.
var ruleName = texts.Pattern(`^[A-Z][A-Za-z0-9]{0,63}$`)

// calls returns the call as hooks and rules see it: one, or one for each file that it
// changes. All of them must be allowed.
func (n naming) calls(c *toolCall) []agent.ToolCall {
	raw := program.Fields(c.RawInput)
	if name, input := n.mcp(c, raw); name != "" {
		return []agent.ToolCall{{ID: c.ID, Name: name, Input: input}}
	}
	if command := n.command(c, raw); command != "" {
		return []agent.ToolCall{{ID: c.ID, Name: "Bash", Input: with(raw, "command", command)}}
	}
	// Names in another style, such as write_file (qwen), are unknown to rules: the kind of
	// the call decides.
	if ruleName().MatchString(c.tool) && len(raw) > 0 {
		return []agent.ToolCall{{ID: c.ID, Name: c.tool, Input: program.Object(c.RawInput)}}
	}
	name := n.plain(c)
	switch name {
	case "Edit", "Write", "Read":
		return withShell(files(c, name, raw), c, raw)
	case "Grep":
		grep := agent.ToolCall{ID: c.ID, Name: name, Input: with(raw, "path", first(c.paths(raw)))}
		return withShell([]agent.ToolCall{grep}, c, raw)
	case "WebFetch":
		return []agent.ToolCall{{ID: c.ID, Name: name, Input: with(raw, "url", address(c, raw))}}
	}
	return []agent.ToolCall{{ID: c.ID, Name: name, Input: program.Object(c.RawInput)}}
}

// shellTitle matches the titles that codex-acp 2.6 gives to commands that only read.
var shellTitle = texts.Pattern(`^(Read file '|List files( in '|$)|Search( for '| in |$))`)

// withShell adds the commands by which a program may have made calls that read: codex-acp
// 2.6 runs `cat` and `ls` and reports only the file, without input. It does not say which
// command it was, so each possible one is added.
func withShell(calls []agent.ToolCall, c *toolCall, raw map[string]json.RawMessage) []agent.ToolCall {
	if len(raw) > 0 || !shellTitle().MatchString(c.Title) {
		return calls
	}
	ways := [][]string{{"cat"}, {"head"}, {"tail"}, {"nl"}, {"sed", "-n", "1,200p"}}
	switch {
	case c.Kind == "search":
		ways = [][]string{{"grep", "x"}, {"rg", "x"}, {"find"}}
	case strings.HasPrefix(c.Title, "List files"):
		ways = [][]string{{"ls"}, {"find"}, {"tree"}, {"rg", "--files"}}
	}
	for i := range calls {
		path := texts.Text(program.Fields(calls[i].Input)["file_path"])
		if path == "" {
			path = texts.Text(program.Fields(calls[i].Input)["path"])
		}
		for _, way := range ways {
			if path != "" {
				way = append(way, path)
			}
			calls[i].Shell = append(calls[i].Shell, join(way))
		}
	}
	return calls
}

// plain returns the name for a call's kind.
func (n naming) plain(c *toolCall) string {
	switch c.Kind {
	case "execute":
		return "Bash" // without a command: rules cannot decide, so the call is denied
	case "edit", "delete", "move":
		if whole(c) || wholeInput(program.Fields(c.RawInput)) {
			return "Write"
		}
		return "Edit"
	case "read":
		return "Read"
	case "search":
		return "Grep"
	case "fetch":
		return "WebFetch"
	}
	switch {
	case len(diffs(c)) > 0: // a change, whatever its kind
		return "Edit"
	case identifier().MatchString(c.tool):
		return c.tool
	case identifier().MatchString(c.first):
		return c.first
	case identifier().MatchString(c.Title):
		return c.Title
	}
	return "Tool"
}

// files returns a call for each file of c, or one without file_path if c names no file.
func files(c *toolCall, name string, raw map[string]json.RawMessage) []agent.ToolCall {
	paths := c.paths(raw)
	if len(paths) == 0 {
		return []agent.ToolCall{{ID: c.ID, Name: name, Input: program.Object(c.RawInput)}}
	}
	var all []agent.ToolCall
	for _, path := range paths {
		all = append(all, agent.ToolCall{ID: c.ID, Name: name, Input: with(raw, "file_path", path)})
	}
	return all
}

// paths returns all files that a call names in any of its fields, each once.
func (c *toolCall) paths(raw map[string]json.RawMessage) []string {
	var all []string
	add := func(path string) {
		if path != "" && !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	for _, name := range []string{
		"file_path", "filePath", "filepath", "path", "absolute_path", "abs_path", "target_file", "fileName",
	} {
		add(texts.Text(raw[name]))
	}
	var changes map[string]json.RawMessage
	program.Lenient(raw["changes"], &changes)
	names := make([]string, 0, len(changes))
	for path := range changes {
		names = append(names, path)
	}
	slices.Sort(names)
	for _, path := range names {
		add(path)
	}
	for _, d := range diffs(c) {
		add(d.Path)
	}
	for _, l := range c.Locations {
		add(l.Path)
	}
	return all
}

// diffs returns the changed files in a call's content.
func diffs(c *toolCall) []content {
	other := func(item content) bool { return item.Type != "diff" }
	return slices.DeleteFunc(slices.Concat(c.Content, c.shown), other)
}

// whole reports whether a call shows only new files. An edit of an empty file looks the same,
// and overwriting that is harmless.
func whole(c *toolCall) bool {
	shown := diffs(c)
	changed := func(d content) bool { return d.OldText != "" }
	return c.Kind == "edit" && len(shown) > 0 && !slices.ContainsFunc(shown, changed)
}

// wholeInput reports whether an input holds a whole file and no text to replace: opencode
// shows no change before it asks.
func wholeInput(raw map[string]json.RawMessage) bool {
	_, content := raw["content"]
	return content && raw["old_string"] == nil && raw["oldString"] == nil
}

// command returns the command line of a shell call.
func (n naming) command(c *toolCall, raw map[string]json.RawMessage) string {
	for _, name := range []string{"command", "cmd"} {
		if line := texts.Text(raw[name]); line != "" {
			return line
		}
		var args []string
		program.Lenient(raw[name], &args)
		if len(args) > 0 {
			return join(args)
		}
	}
	if n.titleCommand && c.Kind == "execute" {
		return titleCommand(c.Title)
	}
	return ""
}

// titleCommand extracts the command from a title of the form `command [where] (why)`. It
// cuts at the last mark, so that the result holds the whole command; text that a model has
// appended makes the result stricter, not laxer.
func titleCommand(title string) string {
	at := -1
	for _, mark := range []string{" [current working directory ", " [in "} {
		at = max(at, strings.LastIndex(title, mark))
	}
	if at < 0 {
		return title
	}
	return title[:at]
}

// join returns an argument list as a command line. For a shell with a script it returns the
// script.
func join(args []string) string {
	if script, ok := shell.ScriptOf(args); ok {
		return script
	}
	return shell.Join(args)
}

// address returns the URL of a fetch.
func address(c *toolCall, raw map[string]json.RawMessage) string {
	for _, name := range []string{"url", "uri"} {
		if at := texts.Text(raw[name]); at != "" {
			return at
		}
	}
	for _, word := range strings.Fields(c.Title) {
		word = strings.Trim(word, `"'<>()`)
		if strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://") {
			return word
		}
	}
	return ""
}

// mcp returns the name and input of a call of an MCP tool; "" if it is not one.
func (n naming) mcp(c *toolCall, raw map[string]json.RawMessage) (string, json.RawMessage) {
	if server, tool := texts.Text(raw["server"]), texts.Text(raw["tool"]); server != "" && tool != "" {
		return "mcp__" + server + "__" + tool, program.Object(raw["arguments"])
	}
	if strings.HasPrefix(c.tool, "mcp__") {
		return c.tool, program.Object(c.RawInput)
	}
	if texts.Text(raw["command"]) != "" {
		return "", nil
	}
	for _, title := range []string{c.first, c.Title, c.tool} {
		for _, server := range n.servers {
			if tool := toolIn(title, server); tool != "" {
				return "mcp__" + server + "__" + tool, program.Object(c.RawInput)
			}
		}
	}
	return "", nil
}

// toolIn returns the tool of server that a title names in one of the known forms, or "".
// The list is closed on purpose: a looser rule would let a model choose a title that passes
// for another tool.
func toolIn(title, server string) string {
	for _, form := range [][2]string{
		{"mcp__" + server + "__", ""}, {"mcp_" + server + "_", ""}, {"mcp." + server + ".", ""},
		{"Tool: " + server + "/", ""},
		{server + "_", ""}, {server + "-", ""}, {server + ".", ""}, {server + "/", ""},
		{"", " (" + server + " MCP Server)"},
	} {
		rest, ok := strings.CutPrefix(title, form[0])
		if !ok {
			continue
		}
		if rest, ok = strings.CutSuffix(rest, form[1]); ok && identifier().MatchString(rest) {
			return rest
		}
	}
	return ""
}

// first returns the first element of a list, or "".
func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// with returns an object with one field set; an empty value sets nothing. It drops fields
// whose names differ only in case, because they would be ambiguous.
func with(fields map[string]json.RawMessage, name, value string) json.RawMessage {
	all := make(map[string]json.RawMessage, len(fields)+1)
	for key, raw := range fields {
		if value == "" || !strings.EqualFold(key, name) {
			all[key] = raw
		}
	}
	if value != "" {
		all[name], _ = texts.Marshal(value) // a string always encodes
	}
	input, err := texts.Marshal(all)
	if err != nil { // decoded values always encode
		return json.RawMessage(`{}`)
	}
	return input
}
