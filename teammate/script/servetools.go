package script

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// A script calls tools by covey's names. Agents have different names for the same
// tools, so a call goes to the first of these that the agent offers:
//
//  1. the tool with exactly that name;
//  2. the tool with that name on an MCP server, in any of the forms in which agents
//     show such tools to a model;
//  3. for a tool of the builtin agent, the agent's own equivalent.
//
// If there is none, the call keeps the script's name, so that scripts can test how
// an agent handles a call of an unknown tool.

// likeBuiltin returns, for a tool of the builtin agent, the names of equivalent
// tools of other agents.
func likeBuiltin(tool string) []string {
	switch tool {
	case "Bash":
		return []string{"shell_command", "exec_command", "shell", "run_shell_command", "bash"}
	case "Read":
		return []string{"read_file", "read", "view"}
	case "Write":
		return []string{"write_file", "write", "create", patchTool}
	case "Edit":
		return []string{"replace", "edit", patchTool}
	case "Glob":
		return []string{"glob"}
	case "Grep":
		return []string{"search_file_content", "grep_search", "grep"}
	case "TaskCreate", "TaskGet", "TaskUpdate", "TaskList":
		return []string{"team_task_" + strings.ToLower(strings.TrimPrefix(tool, "Task"))}
	case "SendMessage":
		return []string{"team_send_message"}
	}
	return nil
}

// sameField returns the agents' names for a field of the builtin agent's tools.
// Case and underscores make no difference, so filePath needs no entry.
func sameField(field string) []string {
	switch plainName(field) {
	case "command":
		return []string{"cmd", "script"}
	case "filepath":
		return []string{"absolutepath", "path"}
	case "path":
		return []string{"dirpath", "directory", "dir"}
	case "oldstring":
		return []string{"oldstr", "oldtext"}
	case "newstring":
		return []string{"newstr", "newtext"}
	case "replaceall":
		return []string{"allowmultiple"}
	case "content":
		return []string{"filetext", "contents"}
	}
	return nil
}

// fits reports whether a script's call of tool may have become a call of offered.
// replay applies it to answers that come back, so it must accept every result of
// choose, and may accept more.
func fits(tool, offered string) bool {
	if tool == offered || viaMCP(tool, offered) {
		return true
	}
	return slices.ContainsFunc(likeBuiltin(tool), func(like string) bool {
		return like == offered || viaMCP(like, offered)
	})
}

// viaMCP reports whether name is an agent's name for the tool on an MCP server.
// Names with a single separator between server and tool match only for covey's own
// server, because read_file is not the tool "file" of a server "read".
func viaMCP(tool, name string) bool {
	if rest, ours := strings.CutPrefix(strings.TrimPrefix(name, "mcp_"), "covey"); ours {
		return rest == "_"+tool || rest == "-"+tool || rest == "__"+tool || rest == "."+tool
	}
	return strings.HasPrefix(name, "mcp__") && strings.HasSuffix(name, "__"+tool)
}

// choose returns the tool that a call goes to, and the input in that tool's form.
// It adapts the input only for a tool with another name; a tool with the script's
// name gets exactly the script's input, mistakes included.
func choose(tool string, input json.RawMessage, offers []offer) (offer, json.RawMessage) {
	if o, found := find(tool, offers); found {
		return o, input
	}
	for _, like := range likeBuiltin(tool) {
		o, found := find(like, offers)
		switch {
		case found && like == patchTool:
			return o, asPatch(tool, input)
		case found:
			return o, adapt(input, o.schema)
		}
	}
	return offer{name: tool}, input
}

// find looks for a tool by its name, on its own or on an MCP server. A plain name
// takes precedence over a server's tool with the same name, so that the order of
// the agent's tools makes no difference.
func find(tool string, offers []offer) (offer, bool) {
	for _, o := range offers {
		if o.name == tool && o.namespace == "" {
			return o, true
		}
	}
	for _, o := range offers {
		if viaMCP(tool, o.namespace+o.name) || o.namespace != "" && o.name == tool {
			return o, true
		}
	}
	for _, o := range offers {
		if o.search && strings.HasPrefix(tool, "team_") {
			return offer{name: tool, namespace: o.namespace}, true
		}
	}
	return offer{}, false
}

// adapt gives the input of a call the fields that schema has. It drops fields that
// the schema lacks, because agents refuse unknown ones, and adds empty values for
// missing required fields. It returns the input unchanged if the schema has no
// properties, or if either of the two is not an object.
func adapt(input, schema json.RawMessage) json.RawMessage {
	var want struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	var have map[string]json.RawMessage
	if json.Unmarshal(schema, &want) != nil || len(want.Properties) == 0 || json.Unmarshal(input, &have) != nil {
		return input
	}
	out := map[string]json.RawMessage{}
	for field, value := range have {
		for _, name := range append([]string{plainName(field)}, sameField(field)...) {
			to, found := fieldLike(name, want.Properties)
			if !found {
				continue
			}
			if _, taken := out[to]; !taken {
				out[to] = cast(value, typeName(want.Properties[to].Type))
			}
			break
		}
	}
	for _, field := range want.Required {
		if out[field] == nil {
			out[field] = emptyValue(typeName(want.Properties[field].Type))
		}
	}
	return texts.Encode(out)
}

// fieldLike returns the property with the plain name name.
func fieldLike[T any](name string, properties map[string]T) (string, bool) {
	for property := range properties {
		if plainName(property) == name {
			return property, true
		}
	}
	return "", false
}

// cast converts a value to the type of a field: some agents take a command as a
// list of words.
func cast(value json.RawMessage, want string) json.RawMessage {
	if want == "array" && bytes.HasPrefix(value, []byte(`"`)) {
		return texts.Encode([]json.RawMessage{texts.Encode("bash"), texts.Encode("-c"), value})
	}
	return value
}

// emptyValue returns the empty value of a JSON type.
func emptyValue(kind string) json.RawMessage {
	return sample(texts.Encode(map[string]string{"type": kind}), 0)
}

// typeName returns the type of a schema in lower case, because Gemini writes it in
// upper case. For a list of types it returns the first.
func typeName(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return strings.ToLower(one)
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil && len(many) > 0 {
		return strings.ToLower(many[0])
	}
	return ""
}

// plainName returns a field's name in lower case and without separators, which
// agents write differently.
func plainName(field string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(field))
}
