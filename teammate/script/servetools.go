package script

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
)

// A script calls tools by covey's names. Each agent has names of its own for the
// same tools, so a call goes to the first of these that the agent offers:
//
//  1. the tool of that very name;
//  2. the tool of that name on an MCP server, in the forms in which agents show
//     those to a model;
//  3. for the tools of the builtin agent, the agent's own tool that does the same.
//
// A tool that is found in no way is called as the script has it: how an agent
// takes a call that makes no sense is worth a test, too.

// likeBuiltin has, for each tool of the builtin agent, the agents' own names of
// the tool that does the same. docs/agents.md says which agent has which.
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

// sameField are the names that agents have for a field of the builtin agent's
// tools. Case and underscores make no difference, so filePath needs no entry.
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

// fits reports whether a script's call of tool may have become one of offered.
// replay asks this of answers that come back, so it must accept whatever choose
// could have made of a call, and may accept more.
func fits(tool, offered string) bool {
	if tool == offered || viaMCP(tool, offered) {
		return true
	}
	return slices.ContainsFunc(likeBuiltin(tool), func(like string) bool {
		return like == offered || viaMCP(like, offered)
	})
}

// viaMCP reports whether name is how an agent shows an MCP server's tool. The
// forms with one sign between server and tool are taken for our own server
// only: read_file is no tool "file" of a server "read".
func viaMCP(tool, name string) bool {
	if rest, ours := strings.CutPrefix(strings.TrimPrefix(name, "mcp_"), "covey"); ours {
		return rest == "_"+tool || rest == "-"+tool || rest == "__"+tool || rest == "."+tool
	}
	return strings.HasPrefix(name, "mcp__") && strings.HasSuffix(name, "__"+tool)
}

// choose picks the offer that a call of tool goes to, and gives its input that
// offer's form. Only a tool of another name has its input adapted: one of its
// own name gets exactly what the script says, mistakes included.
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

// find looks for a tool by its name, on its own or on an MCP server. The plain
// name beats a server's tool of the same name wherever it stands in the list,
// so the agents' order of tools makes no difference.
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

// adapt gives a call's input the fields that schema has. Fields that the schema
// lacks are dropped, since agents refuse what they do not know; those that it
// requires and the script lacks get a value that says nothing. The input stays
// as it is where the schema says nothing, or where either of the two is no
// object.
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
			out[field] = nothing(typeName(want.Properties[field].Type))
		}
	}
	return notation.Encode(out)
}

// fieldLike is the property whose plain name is name.
func fieldLike[T any](name string, properties map[string]T) (string, bool) {
	for property := range properties {
		if plainName(property) == name {
			return property, true
		}
	}
	return "", false
}

// cast gives a value the type that a field has: some agents take a command as a
// list of words.
func cast(value json.RawMessage, want string) json.RawMessage {
	if want == "array" && bytes.HasPrefix(value, []byte(`"`)) {
		return notation.Encode([]json.RawMessage{notation.Encode("bash"), notation.Encode("-c"), value})
	}
	return value
}

// nothing is a value of a JSON type that says as little as can be.
func nothing(kind string) json.RawMessage {
	return sample(notation.Encode(map[string]string{"type": kind}), 0)
}

// typeName is a schema's type in small letters: Gemini writes them large. Of a
// list of types it is the first.
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

// plainName is a field's name without what the agents write differently.
func plainName(field string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(field))
}
