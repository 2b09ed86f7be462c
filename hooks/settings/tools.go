package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/texts"
)

// toolWord is another program's name of a tool.
type toolWord struct {
	tool   string   // Claude Code's name
	names  []string // the program's names; the first one, unless a matcher uses another
	fields []string // pairs of names of input fields: Claude Code's and the program's
}

// toolsOf returns the table of a program's tools. A tool that is not in it keeps
// its name.
func toolsOf(p hooks.Program) []toolWord {
	switch p {
	case hooks.Copilot, hooks.CopilotSnake:
		return copilotTools()
	case hooks.VSCode:
		return vscodeTools()
	case hooks.Gemini:
		return geminiTools()
	case hooks.Cursor:
		return cursorTools()
	case hooks.Codex:
		patch := []string{rules.PatchTool}
		return []toolWord{{"Edit", append(patch, "Write"), nil}, {"Write", append(patch, "Edit"), nil},
			{"MultiEdit", patch, nil}, {"NotebookEdit", patch, nil}}
	}
	return nil
}

// copilotTools returns the tools of Copilot CLI.
func copilotTools() []toolWord {
	return []toolWord{
		{"Bash", []string{"bash"}, nil},
		{"BashOutput", []string{"read_bash"}, nil},
		{"KillShell", []string{"stop_bash"}, nil},
		{"PowerShell", []string{"powershell"}, nil},
		{"Read", []string{"view"}, []string{"file_path", "path"}},
		{"NotebookRead", []string{"view"}, []string{"notebook_path", "path"}},
		{"LS", []string{"view"}, nil},
		{"Write", []string{"create"}, []string{"file_path", "path", "content", "file_text"}},
		{"Edit", []string{"edit"}, []string{"file_path", "path", "old_string", "old_str", "new_string",
			"new_str"}},
		{"MultiEdit", []string{"edit"}, []string{"file_path", "path"}},
		{"NotebookEdit", []string{"edit"}, []string{"notebook_path", "path", "new_source", "new_str"}},
		{"Glob", []string{"glob"}, nil},
		{"Grep", []string{"grep"}, nil},
		{"Agent", []string{"task"}, []string{"subagent_type", "agent_type"}},
		{"Task", []string{"task"}, []string{"subagent_type", "agent_type"}},
		{"WebFetch", []string{"web_fetch"}, nil},
		{"WebSearch", []string{"web_search"}, nil},
		{"AskUserQuestion", []string{"ask_user"}, nil},
		{"TodoWrite", []string{"update_todo"}, nil},
	}
}

// vscodeTools returns the tools of VS Code, which has used several names for some.
func vscodeTools() []toolWord {
	edit := []string{"editFiles", "replace_string_in_file", "multi_replace_string_in_file",
		"insert_edit_into_file"}
	return []toolWord{
		{"Bash", []string{"runTerminalCommand", "runCommands", "runInTerminal", "run_in_terminal"}, nil},
		{"BashOutput", []string{"getTerminalOutput", "get_terminal_output"}, nil},
		{"Read", []string{"readFile", "read_file"}, []string{"file_path", "filePath"}},
		{"LS", []string{"listDirectory", "list_dir"}, nil},
		{"Write", []string{"createFile", "create_file", "editFiles"}, []string{"file_path", "filePath"}},
		{"Edit", edit, []string{"file_path", "filePath", "old_string", "oldString", "new_string",
			"newString"}},
		{"MultiEdit", edit, []string{"file_path", "filePath"}},
		{"NotebookEdit", []string{"editNotebook", "edit_notebook_file", "editFiles"},
			[]string{"notebook_path", "filePath"}},
		{"Glob", []string{"fileSearch", "file_search"}, []string{"pattern", "query"}},
		{"Grep", []string{"textSearch", "grep_search"}, []string{"pattern", "query"}},
		{"Agent", []string{"runSubagent"}, nil},
		{"Task", []string{"runSubagent"}, nil},
		{"WebFetch", []string{"fetch", "fetch_webpage"}, nil},
		{"TodoWrite", []string{"todos", "manage_todo_list"}, nil},
	}
}

// geminiTools returns the tools of Gemini CLI, whose inputs have the fields of Claude Code's.
func geminiTools() []toolWord {
	return []toolWord{
		{"Bash", []string{"run_shell_command"}, nil},
		{"Read", []string{"read_file", "read_many_files"}, nil},
		{"LS", []string{"list_directory"}, nil},
		{"Write", []string{"write_file"}, nil},
		{"Edit", []string{"replace"}, nil},
		{"MultiEdit", []string{"replace"}, nil},
		{"Glob", []string{"glob"}, nil},
		{"Grep", []string{"grep_search", "search_file_content"}, nil},
		{"WebFetch", []string{"web_fetch"}, nil},
		{"WebSearch", []string{"google_web_search"}, nil},
		{"TodoWrite", []string{"write_todos"}, nil},
	}
}

// cursorTools returns the tools of Cursor, whose inputs have, besides the fields of Claude
// Code's, the path of a file as path. Its Tab is no tool of an agent, so covey has none like it.
func cursorTools() []toolWord {
	edit, path := []string{"Write", "StrReplace", "Edit"}, []string{"file_path", "path"}
	return []toolWord{
		{"Bash", []string{"Shell"}, nil},
		{"Read", []string{"Read"}, path},
		{"Write", edit[:1], path},
		{"Edit", edit, path},
		{"MultiEdit", edit, path},
		{"NotebookEdit", append(edit, "EditNotebook"), []string{"notebook_path", "path"}},
		{"Grep", []string{"Grep"}, nil},
		{"Agent", []string{"Task"}, nil},
		{"TabRead", []string{"TabRead"}, nil},
		{"TabWrite", []string{"TabWrite"}, nil},
		{"Delete", []string{"Delete"}, nil},
	}
}

// wordOf returns the table's entry for a tool, or the zero toolWord.
func wordOf(p hooks.Program, tool string) toolWord {
	tools := toolsOf(p)
	if i := slices.IndexFunc(tools, func(w toolWord) bool { return w.tool == tool }); i >= 0 {
		return tools[i]
	}
	return toolWord{}
}

// namesOf returns the program's names of a tool; nil if the tool keeps its name.
func namesOf(p hooks.Program, tool string) []string {
	if names := wordOf(p, tool).names; len(names) > 0 {
		return slices.Clone(names)
	}
	rest, mcp := strings.CutPrefix(tool, "mcp__")
	switch _, name, _ := strings.Cut(rest, "__"); {
	case mcp && isCopilot(p):
		return []string{strings.Replace(rest, "__", "-", 1)}
	case mcp && p == hooks.Gemini:
		return []string{tool, "mcp_" + strings.Replace(rest, "__", "_", 1)}
	case mcp && p == hooks.Cursor:
		return []string{"MCP:" + name}
	}
	return nil
}

// toolName returns the name of a tool for a hook of the dialect.
func toolName(d hooks.Dialect, tool string) string {
	names := namesOf(d.Program, tool)
	for _, name := range names {
		if slices.Contains(d.Words, name) {
			return name
		}
	}
	if len(names) == 0 {
		return tool
	}
	return names[0]
}

// rename replaces field names by a list of pairs, or reverses that if back is set.
func rename(fields []texts.Field, pairs []string, back bool) []texts.Field {
	renamed := slices.Clone(fields)
	for i, f := range renamed {
		for j := 0; j+1 < len(pairs); j += 2 {
			from, to := pairs[j], pairs[j+1]
			if back {
				from, to = to, from
			}
			if f.Name == from {
				renamed[i].Name = to
				break
			}
		}
	}
	return renamed
}

// toolInput returns the input of a call in the program's form.
func toolInput(d hooks.Dialect, tool string, input json.RawMessage) json.RawMessage {
	fields, err := texts.Fields(input)
	if err != nil {
		return input
	}
	switch d.Program {
	case hooks.Codex:
		if patch := patchOf(tool, fields); patch != "" {
			return texts.Object(append(fields, texts.TextField("command", patch)))
		}
		return input
	case hooks.VSCode, hooks.Cursor: // in addition to Claude Code's fields, which the scripts may also use
		renamed := rename(fields, wordOf(d.Program, tool).fields, false)
		for i, f := range renamed {
			if f.Name != fields[i].Name {
				fields = append(fields, f)
			}
			if f.Name == "filePath" {
				fields = append(fields, texts.Field{Name: "path", Value: f.Value},
					texts.Field{Name: "files", Value: json.RawMessage("[" + string(f.Value) + "]")})
			}
		}
		return texts.Object(fields)
	}
	return texts.Object(rename(fields, wordOf(d.Program, tool).fields, false))
}

// newInput converts an input that a hook has changed to Claude Code's form. given
// is the input in the program's form, as the hook got it. The error says why the
// changed input cannot be used.
func newInput(d hooks.Dialect, tool string, given, wanted json.RawMessage) (json.RawMessage, error) {
	if text := texts.Text(wanted); d.Program == hooks.Copilot && text != "" {
		wanted = json.RawMessage(text) // Copilot's arguments are a string that contains JSON
	}
	fields, err := texts.Fields(wanted)
	if err != nil {
		return nil, fmt.Errorf("it is no JSON object: %s", texts.Preview(string(wanted), 40))
	}
	was, err := texts.Fields(given)
	if err != nil {
		return nil, fmt.Errorf("the input of the call: %w", err)
	}
	pairs := wordOf(d.Program, tool).fields
	switch {
	case d.Program == hooks.Codex && wordOf(d.Program, tool).tool != "":
		if !bytes.Equal(texts.Get(fields, "command"), texts.Get(was, "command")) {
			return nil, fmt.Errorf("it is another patch, which cannot take the place of a call of %s", tool)
		}
		fields = slices.DeleteFunc(fields, func(f texts.Field) bool { return f.Name == "command" })
	case d.Program == hooks.VSCode, d.Program == hooks.Cursor:
		fields = onlyOwn(fields, was, pairs)
	default:
		fields = rename(fields, pairs, true)
	}
	return texts.Object(fields), nil
}

// onlyOwn removes VS Code's names from an input that has Claude Code's names as
// well. If a value has two names, the one that the hook has changed counts.
func onlyOwn(fields, was []texts.Field, pairs []string) []texts.Field {
	if path := texts.Get(fields, "path"); path != nil && !bytes.Equal(path, texts.Get(was, "path")) {
		fields = texts.Put(fields, texts.Field{Name: "filePath", Value: path})
	}
	var files []json.RawMessage
	if list := texts.Get(fields, "files"); json.Unmarshal(list, &files) == nil && len(files) == 1 &&
		!bytes.Equal(list, texts.Get(was, "files")) {
		fields = texts.Put(fields, texts.Field{Name: "filePath", Value: files[0]})
	}
	own := slices.Contains(pairs, "filePath")
	for j := 0; j+1 < len(pairs); j += 2 {
		value := texts.Get(fields, pairs[j+1])
		if value != nil && (texts.Get(fields, pairs[j]) == nil ||
			!bytes.Equal(value, texts.Get(was, pairs[j+1]))) {
			fields = texts.Put(fields, texts.Field{Name: pairs[j], Value: value})
		}
	}
	return slices.DeleteFunc(slices.Clone(fields), func(f texts.Field) bool {
		at := slices.Index(pairs, f.Name)
		return at%2 == 1 || own && (f.Name == "path" || f.Name == "files")
	})
}

// patchOf returns the patch by which Codex would change a file, or "" if the tool
// changes no file.
func patchOf(tool string, fields []texts.Field) string {
	text := func(name string) string { return texts.Text(texts.Get(fields, name)) }
	lines := func(mark, content string) string {
		if content == "" {
			return ""
		}
		return mark + strings.ReplaceAll(strings.TrimSuffix(content, "\n"), "\n", "\n"+mark) + "\n"
	}
	var body string
	switch tool {
	case "Write":
		body = "*** Add File: " + text("file_path") + "\n" + lines("+", text("content"))
	case "Edit", "MultiEdit":
		edits := []struct {
			Old string `json:"old_string"`
			New string `json:"new_string"`
		}{{text("old_string"), text("new_string")}}
		if tool == "MultiEdit" {
			_ = json.Unmarshal(texts.Get(fields, "edits"), &edits) // an invalid list is shown as empty
		}
		body = "*** Update File: " + text("file_path") + "\n"
		for _, e := range edits {
			body += "@@\n" + lines("-", e.Old) + lines("+", e.New)
		}
	case "NotebookEdit":
		body = "*** Update File: " + text("notebook_path") + "\n@@\n" + lines("+", text("new_source"))
	default:
		return ""
	}
	return "*** Begin Patch\n" + body + "*** End Patch"
}

// OwnTools returns the tools of covey's own agent.
func OwnTools() []string {
	return []string{"Bash", "BashOutput", "KillShell", "Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "Agent", "Skill",
		"TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "SendMessage", "AskLead", "ListMembers", "ListAgents",
		"ScheduleCreate", "ScheduleDelete", "ScheduleList"}
}

// ToolNames returns the tools that rules and matchers may name: those of covey's own agent,
// and those that agent programs are known to have. Tools of MCP servers
// (mcp__SERVER__TOOL) are not listed.
func ToolNames() []string {
	return append(OwnTools(), "Task", "WebSearch", "NotebookEdit", "NotebookRead", "MultiEdit", "LS", "TodoWrite",
		"ExitPlanMode", "EnterPlanMode", "TeammateSpawn", "SlashCommand", "AskUserQuestion", "StructuredOutput",
		"TaskOutput", "TaskStop", "LSP", "PowerShell", "ListMcpResourcesTool", "ReadMcpResourceTool",
		"ToolSearch", "Monitor", "EnterWorktree", "ExitWorktree", "apply_patch", "shell", "other")
}

// KnownTool reports whether a name is that of a tool which covey knows, or may be that of a
// server's or plugin's tool. If not, near is the tool that was probably meant; empty if
// none is similar.
func KnownTool(name string) (known bool, near string) {
	names := ToolNames()
	if slices.Contains(names, name) || strings.HasPrefix(name, "mcp__") || strings.ContainsAny(name, ":*") {
		return true, ""
	}
	for _, tool := range names {
		if strings.EqualFold(tool, name) || len(name) > 2 && sameLetters(tool, name) {
			return false, tool
		}
	}
	return false, texts.Typo(name, names)
}

// sameLetters reports whether two words consist of the same letters, as after a swap of two
// letters.
func sameLetters(a, b string) bool {
	x, y := []byte(strings.ToLower(a)), []byte(strings.ToLower(b))
	slices.Sort(x)
	slices.Sort(y)
	return bytes.Equal(x, y)
}
