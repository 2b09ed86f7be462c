package command

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// codexReader parses `codex exec --json`: the thread's id, items that are started, updated
// and completed, and turn.completed or turn.failed at the end.
type codexReader struct {
	stray   otherLines
	prefix  string          // of call ids, because codex numbers its items anew in each run
	calls   map[string]bool // items that are tool calls and have begun
	done    map[string]bool // those that have ended
	told    ending
	trouble string // the last error that did not end the turn: codex may be retrying
}

// newCodexReader chooses a prefix for call ids: codex numbers its items from 0 in each
// process, and ids must be unique in the whole conversation.
func newCodexReader() *codexReader {
	return &codexReader{
		prefix: "codex_" + rand.Text()[:10] + "_", calls: map[string]bool{}, done: map[string]bool{},
	}
}

// codexItem is one item of codex's output.
type codexItem map[string]json.RawMessage

// line parses one line. It ignores unknown types, because each release adds new ones.
func (r *codexReader) line(l line) []news {
	fields, ok := objectLine(l)
	if !ok {
		r.stray.add(l)
		return nil
	}
	switch texts.Text(fields["type"]) {
	case "thread.started", "thread.resumed":
		return []news{{session: texts.Text(fields["thread_id"])}}
	// An update may be the first line about an item, so both count as its beginning.
	case "item.started", "item.updated":
		return r.item(program.Fields(fields["item"]), false)
	case "item.completed":
		return r.item(program.Fields(fields["item"]), true)
	case "error":
		// Codex reports each lost connection this way and then retries: the text is
		// used only if the turn's end does not follow.
		r.trouble = clean(texts.Text(fields["message"]))
		if program.IsRetryNotice(r.trouble) {
			return []news{{retries: "codex, which tries to reach its model again: " + program.Shorten(r.trouble, maxBrief)}}
		}
	case "turn.failed":
		r.finish(ending{said: clean(texts.Text(program.Fields(fields["error"])["message"]))})
	case "turn.completed":
		used, known := codexUsage(fields["usage"])
		r.finish(ending{ok: true, spent: program.Spent{Usage: used, Known: known}})
	}
	return nil
}

// finish records how the turn ended, once.
func (r *codexReader) finish(e ending) {
	if !r.told.told {
		e.told, e.total = true, true
		r.told = e
	}
}

// item handles one item; done reports that it is complete.
func (r *codexReader) item(it codexItem, done bool) []news {
	switch typ := texts.Text(it["type"]); typ {
	case "agent_message":
		// An update repeats the text from its start, so recording each would repeat
		// it in the transcript.
		if said := texts.Text(it["text"]); done && strings.TrimSpace(said) != "" {
			return []news{{text: said}}
		}
	case "todo_list":
		return codexPlan(it)
	case "error":
		if said := texts.Text(it["message"]); done && said != "" {
			return []news{{warning: "codex: " + clean(said)}}
		}
	case "command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call":
		return r.call(it, typ, done)
	}
	return nil // reasoning, and unknown types
}

// call handles a tool call. File changes are reported only when they are done.
func (r *codexReader) call(it codexItem, typ string, done bool) []news {
	id := texts.Text(it["id"])
	// A second end of a call would give it a second result, but a transcript has exactly
	// one result for each call (HOOKS.md section 9).
	if id == "" || len(id) > maxID || r.done[id] {
		return nil
	}
	var all []news
	id, key := r.prefix+id, id
	if !r.calls[key] {
		r.calls[key] = true
		all = append(all, news{begun: &call{id: id, calls: it.calls(id, typ)}})
	}
	if done {
		r.done[key] = true
		all = append(all, news{ended: it.result(id)})
	}
	return all
}

// calls returns the item in the form that rules and hooks know, with the names of package
// acp.
func (it codexItem) calls(id, typ string) []agent.ToolCall {
	one := func(name string, input json.RawMessage) []agent.ToolCall {
		return []agent.ToolCall{{ID: id, Name: name, Input: input}}
	}
	switch typ {
	case "command_execution":
		return one("Bash", texts.Encode(map[string]string{"command": unwrap(texts.Text(it["command"]))}))
	case "mcp_tool_call":
		return one(toolName("mcp__"+texts.Text(it["server"])+"__"+texts.Text(it["tool"])), program.Object(it["arguments"]))
	case "web_search":
		return one("WebSearch", texts.Encode(map[string]string{"query": texts.Text(it["query"])}))
	case "collab_tool_call":
		return one("Task", texts.Encode(map[string]string{"action": texts.Text(it["tool"]), "prompt": texts.Text(it["prompt"])}))
	}
	var all []agent.ToolCall
	for _, c := range it.changes() {
		name := "Edit"
		if c.Kind == "add" {
			name = "Write"
		}
		all = append(all, one(name, texts.Encode(map[string]string{"file_path": c.Path}))...)
	}
	// A change without a readable path is still an edit: rules for Edit and PostToolUse
	// hooks must see it.
	if all == nil {
		return one("Edit", json.RawMessage(`{}`))
	}
	return all
}

// codexChange is one file of a file change.
type codexChange struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // add, delete, update
}

// changes returns the files of a file change. It skips single entries that it cannot read,
// because the others were written.
func (it codexItem) changes() []codexChange {
	var raw []json.RawMessage
	program.Lenient(it["changes"], &raw)
	var all []codexChange
	for _, one := range raw {
		var c codexChange
		if program.Lenient(one, &c); c.Path != "" {
			all = append(all, c)
		}
	}
	return all
}

// result returns the result of a finished item.
func (it codexItem) result(id string) *result {
	status := texts.Text(it["status"])
	r := &result{id: id, isError: status != "completed", rejected: status == "declined"}
	switch texts.Text(it["type"]) {
	case "command_execution":
		r.text = texts.Text(it["aggregated_output"])
		// The exit code takes precedence over the status, which may only say that the
		// command has ended.
		if code := number(it["exit_code"]); code != 0 {
			r.text, r.isError = strings.TrimLeft(r.text+fmt.Sprintf("\nexit code %d", code), "\n"), true
		} else if r.isError && r.text == "" {
			r.text = texts.Text(it["status"])
		}
	case "file_change":
		var lines []string
		for _, c := range it.changes() {
			lines = append(lines, c.Kind+" "+c.Path)
		}
		r.text = strings.Join(lines, "\n")
	case "mcp_tool_call":
		r.text = mcpResult(it)
	default: // a web search has no status and no output
		r.isError = texts.Text(it["status"]) == "failed"
	}
	return r
}

// mcpResult returns the text of an MCP tool's answer or of its error.
func mcpResult(it codexItem) string {
	if said := texts.Text(program.Fields(it["error"])["message"]); said != "" {
		return said
	}
	answer := program.Fields(it["result"])
	if said := contentText(answer["content"]); said != "" {
		return said
	}
	// The structured content comes last, though codex shows it to its model instead of
	// the text: people read the journal, and for team tools both say the same.
	if facts := answer["structured_content"]; len(facts) > 0 && string(facts) != "null" {
		return string(facts)
	}
	return ""
}

// codexPlan returns a to-do list as a plan. Codex does not report the current step.
func codexPlan(it codexItem) []news {
	var items []struct {
		Text string `json:"text"`
		Done bool   `json:"completed"`
	}
	program.Lenient(it["items"], &items)
	var plan []events.PlanEntry
	for _, step := range items {
		status := "pending"
		if step.Done {
			status = "completed"
		}
		plan = append(plan, events.PlanEntry{Text: step.Text, Status: status})
	}
	return []news{{plan: plan}}
}

// over reports whether the turn's end was read, completed or failed.
func (r *codexReader) over() bool { return r.told.told }

// end returns the result with the best explanation of a failure: the text of the turn's end,
// or the last error, or output that was not JSON.
func (r *codexReader) end(int) ending {
	e := r.told
	if e.said == "" && !e.ok {
		e.said = r.trouble
	}
	if e.said == "" && !e.ok {
		e.said = r.stray.text()
	}
	return e
}

// codexUsage parses the tokens of turn.completed, where cached input is part of the input and
// reasoning part of the output.
func codexUsage(raw json.RawMessage) (agent.Usage, bool) {
	fields := program.Fields(raw)
	if fields["input_tokens"] == nil && fields["output_tokens"] == nil {
		return agent.Usage{}, false
	}
	return agent.Usage{
		InputTokens: number(fields["input_tokens"]), OutputTokens: number(fields["output_tokens"]),
		CacheReadTokens: number(fields["cached_input_tokens"]),
	}, true
}

// unwrap extracts the script of a command of the form `bash -lc SCRIPT`, because rules apply
// to the script and people read it.
//
// It returns the whole line rather than a wrong script: a rule that is checked against the
// wrapped command is only too strict, but one that is checked against a script that does not
// run is a hole.
func unwrap(command string) string {
	line, err := shell.Read(command)
	if err != nil {
		return command
	}
	if c, ok := line.Single(); ok {
		if script, ok := shell.ScriptOf(c.Literals()); ok && script != "" {
			return script
		}
	}
	return command
}
