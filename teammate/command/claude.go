package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// claudeReader parses `claude -p --output-format stream-json --verbose`: system/init with
// the session's id, each content block of the model in its own message, tool results in user
// messages, and a result at the end.
type claudeReader struct {
	stray otherLines
	calls map[string]bool        // tool calls that have begun
	used  map[string]agent.Usage // by message id: each block of a message repeats it
	told  ending                 // from the result line
	until time.Time              // when the limit that refused a request ends
	limit bool                   // a limit has refused a request
	kind  string                 // the last failure of the model's API
}

// newClaudeReader returns a reader for one process: counted message ids and open calls do
// not carry over to the next.
func newClaudeReader() *claudeReader {
	return &claudeReader{calls: map[string]bool{}, used: map[string]agent.Usage{}}
}

// claudeMessage holds the used fields of an assistant's or user's message.
type claudeMessage struct {
	ID      string          `json:"id"`
	Content json.RawMessage `json:"content"`
	Usage   json.RawMessage `json:"usage"`
}

// claudeBlock is a block of content.
type claudeBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// line parses one line. A line that is not an object only serves to explain a failure.
func (r *claudeReader) line(l line) []news {
	fields, ok := objectLine(l)
	if !ok {
		r.stray.add(l)
		return nil
	}
	switch texts.Text(fields["type"]) {
	case "system":
		return r.system(fields)
	case "assistant":
		return r.assistant(fields)
	case "user":
		return r.user(fields)
	case "rate_limit_event":
		r.rateLimit(program.Fields(fields["rate_limit_info"]))
	case "result":
		return r.result(fields)
	}
	return nil // stream_event, control messages, and unknown types
}

// system handles the messages of type system. Each resumed process reports a new session id,
// and the last one is the id to resume.
func (r *claudeReader) system(fields map[string]json.RawMessage) []news {
	switch texts.Text(fields["subtype"]) {
	case "init":
		return []news{{session: texts.Text(fields["session_id"])}}
	case "api_retry":
		// It retries ten times, for minutes: people should know why nothing happens.
		return []news{{retries: fmt.Sprintf("claude, which tries to reach its model again (%s, status %d, attempt %d of %d)",
			texts.Text(fields["error"]), number(fields["error_status"]), number(fields["attempt"]), number(fields["max_retries"]))}}
	}
	return nil
}

// blocks returns the content of a message, which may also be a string.
func (m claudeMessage) blocks() []claudeBlock {
	if plain := texts.Text(m.Content); plain != "" {
		return []claudeBlock{{Type: "text", Text: plain}}
	}
	var raw []json.RawMessage
	program.Lenient(m.Content, &raw)
	blocks := make([]claudeBlock, 0, len(raw))
	for _, one := range raw {
		var b claudeBlock
		if json.Unmarshal(one, &b) == nil {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// assistant handles the model's text and calls. For a helper's message (parent_tool_use_id)
// only the calls matter: its text goes to the model.
func (r *claudeReader) assistant(fields map[string]json.RawMessage) []news {
	var m claudeMessage
	program.Lenient(fields["message"], &m)
	if used, ok := claudeUsage(m.Usage); ok {
		r.used[m.ID] = used
	}
	// A message with an error holds claude's own text instead of the model's.
	failed := texts.Text(fields["error"])
	if failed != "" {
		r.kind = failed
	}
	helper := texts.Text(fields["parent_tool_use_id"]) != ""
	var all []news
	for _, b := range m.blocks() {
		switch {
		case b.Type == "text" && failed != "":
			r.stray.add(line{data: []byte(b.Text)})
		case b.Type == "text" && !helper && strings.TrimSpace(b.Text) != "":
			all = append(all, news{text: b.Text})
		case b.Type == "tool_use" && b.ID != "" && len(b.ID) <= maxID && !r.calls[b.ID]:
			r.calls[b.ID] = true
			all = append(all, news{begun: &call{id: b.ID, calls: []agent.ToolCall{
				{ID: b.ID, Name: toolName(b.Name), Input: program.Object(b.Input)},
			}}})
			all = append(all, claudePlan(b)...)
		}
	}
	return all
}

// toolName returns a tool's name, or "Tool" for an invalid one; rules treat a call of that
// name as undecidable.
func toolName(name string) string {
	if !identifier().MatchString(name) {
		return "Tool"
	}
	return name
}

// identifier matches a tool's name, with or without its MCP server.
var identifier = texts.Pattern(`^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`)

// maxID is the maximum length of a call's id.
const maxID = 200

// claudePlan returns the plan in a call of TodoWrite.
func claudePlan(b claudeBlock) []news {
	if b.Name != "TodoWrite" {
		return nil
	}
	var in struct {
		Todos []struct {
			Content string `json:"content"`
			Status  string `json:"status"`
		} `json:"todos"`
	}
	program.Lenient(b.Input, &in)
	var plan []events.PlanEntry
	for _, t := range in.Todos {
		plan = append(plan, events.PlanEntry{Text: t.Content, Status: t.Status})
	}
	return []news{{plan: plan}}
}

// user handles tool results. The rest of a user's message was said to the model, not by
// it.
func (r *claudeReader) user(fields map[string]json.RawMessage) []news {
	var m claudeMessage
	program.Lenient(fields["message"], &m)
	var all []news
	for _, b := range m.blocks() {
		if b.Type == "tool_result" && r.calls[b.ToolUseID] {
			all = append(all, news{ended: &result{id: b.ToolUseID, text: contentText(b.Content), isError: b.IsError}})
		}
	}
	return all
}

// rateLimit records that the account's plan refuses requests, and until when.
func (r *claudeReader) rateLimit(info map[string]json.RawMessage) {
	r.limit, r.until = texts.Text(info["status"]) == "rejected", time.Time{}
	if at := number(info["resetsAt"]); r.limit && at > 0 {
		r.until = time.Unix(at, 0)
	}
}

// result handles the result line, once: a later one does not belong to this prompt. Its
// session id is the requested one, even if claude does not know it.
func (r *claudeReader) result(fields map[string]json.RawMessage) []news {
	if r.told.told {
		return nil
	}
	subtype, isError := texts.Text(fields["subtype"]), false
	program.Lenient(fields["is_error"], &isError)
	var errs []string
	program.Lenient(fields["errors"], &errs)
	reply := texts.Text(fields["result"])
	r.told = ending{
		told: true, ok: subtype == "success" && !isError,
		status: int(number(fields["api_error_status"])), turns: subtype == "error_max_turns",
	}
	if r.told.ok {
		r.told.reply = clean(reply)
	} else {
		r.told.said = strings.TrimSpace(clean(strings.Join(append(errs, reply), "\n")))
		if r.told.said == "" {
			r.told.said = strings.TrimSpace(r.stray.text() + " (" + subtype + ")")
		}
		r.told.lost = noConversation().MatchString(r.told.said)
	}
	var cost float64
	program.Lenient(fields["total_cost_usd"], &cost)
	used, known := claudeUsage(fields["usage"])
	r.told.spent = program.Spent{Usage: used, Known: known, CostUSD: max(cost, 0)}
	return r.denials(fields["permission_denials"])
}

// noConversation matches claude's error for an unknown session.
var noConversation = texts.Pattern(`^No conversation found with session ID`)

// denials reports to people which calls claude itself has denied: with -p it asks nobody,
// and it knows the member's rules from its settings.
func (r *claudeReader) denials(raw json.RawMessage) []news {
	var list []struct {
		Tool string `json:"tool_name"`
	}
	program.Lenient(raw, &list)
	if len(list) == 0 {
		return nil
	}
	var names []string
	for _, d := range list {
		if d.Tool != "" && !slices.Contains(names, d.Tool) && len(names) < 10 {
			names = append(names, d.Tool)
		}
	}
	calls := "calls"
	if len(list) == 1 {
		calls = "call"
	}
	return []news{{warning: fmt.Sprintf("claude itself denied %d tool %s (%s), since it can ask nobody; rules under "+
		"permissions.allow in the spec, or of covey run --allow, allow them", len(list), calls, strings.Join(names, ", "))}}
}

// over reports whether the result line was read. Later lines, for example of a child process,
// do not belong to this turn.
func (r *claudeReader) over() bool { return r.told.told }

// end returns the result. Without a result line it adds up the usage of the messages, because
// a killed program has used tokens too.
func (r *claudeReader) end(int) ending {
	e := r.told
	if !e.told {
		e.said = r.stray.text()
		for _, used := range r.used {
			e.spent.Usage = e.spent.Usage.Plus(used)
			e.spent.Known = true
		}
	}
	e.limit, e.until = r.limit, r.until
	e.kind = claudeKind(r.kind)
	return e
}

// claudeKind maps claude's name of a failed model request to a type of agent.APIError.
func claudeKind(word string) string {
	switch word {
	case "rate_limit", "overloaded", "authentication_failed", "billing_error", "invalid_request",
		"server_error", "max_output_tokens", "model_not_found":
		return word
	}
	return ""
}

// claudeUsage parses the tokens of a request or of a whole run. Cached input counts as
// input.
func claudeUsage(raw json.RawMessage) (agent.Usage, bool) {
	fields := program.Fields(raw)
	if fields["input_tokens"] == nil && fields["output_tokens"] == nil {
		return agent.Usage{}, false
	}
	read, written := number(fields["cache_read_input_tokens"]), number(fields["cache_creation_input_tokens"])
	return agent.Usage{
		InputTokens: number(fields["input_tokens"]) + written + read, OutputTokens: number(fields["output_tokens"]),
		CacheReadTokens: read, CacheWriteTokens: written,
	}, true
}
