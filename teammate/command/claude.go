package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
)

// claudeReader understands `claude -p --output-format stream-json --verbose`:
// system/init with the session's id, each content block of the model in a
// message of its own, tool results in user messages, and a result at the end.
type claudeReader struct {
	stray stray
	calls map[string]bool        // tool calls that were begun
	used  map[string]agent.Usage // by message id: each block of a message repeats it
	told  ending                 // what the result says
	until time.Time              // when a limit ends that has refused a request
	limit bool                   // a limit has refused a request
	kind  string                 // the last failure of the model's API
}

// newClaudeReader reads one process: the ids of messages that it has counted, and
// the calls that are open, begin anew with the next.
func newClaudeReader() *claudeReader {
	return &claudeReader{calls: map[string]bool{}, used: map[string]agent.Usage{}}
}

// claudeMessage is what counts of an assistant's or a user's message.
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

// line takes in one line. What is no object was not meant for a program to read,
// so it only serves to explain a failure.
func (r *claudeReader) line(l line) []news {
	fields, ok := objectLine(l)
	if !ok {
		r.stray.add(l)
		return nil
	}
	switch text(fields["type"]) {
	case "system":
		return r.system(fields)
	case "assistant":
		return r.assistant(fields)
	case "user":
		return r.user(fields)
	case "rate_limit_event":
		r.rateLimit(fieldsOf(fields["rate_limit_info"]))
	case "result":
		return r.result(fields)
	}
	return nil // stream_event, control messages, and whatever is invented next
}

// system is what claude tells of itself. Each resumed process tells a session of
// its own, and the last one told is the one to resume.
func (r *claudeReader) system(fields map[string]json.RawMessage) []news {
	switch text(fields["subtype"]) {
	case "init":
		return []news{{session: text(fields["session_id"])}}
	case "api_retry":
		// It tries ten times, minutes long: people should know why nothing happens.
		return []news{{retries: fmt.Sprintf("claude, which tries to reach its model again (%s, status %d, attempt %d of %d)",
			text(fields["error"]), number(fields["error_status"]), number(fields["attempt"]), number(fields["max_retries"]))}}
	}
	return nil
}

// blocks are the content of a message, which may be a string.
func (m claudeMessage) blocks() []claudeBlock {
	if plain := text(m.Content); plain != "" {
		return []claudeBlock{{Type: "text", Text: plain}}
	}
	var raw []json.RawMessage
	lenient(m.Content, &raw)
	blocks := make([]claudeBlock, 0, len(raw))
	for _, one := range raw {
		var b claudeBlock
		if json.Unmarshal(one, &b) == nil {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// assistant takes in what the model said and called. Of a helper's message
// (parent_tool_use_id) only the calls are news: its words go to the model.
func (r *claudeReader) assistant(fields map[string]json.RawMessage) []news {
	var m claudeMessage
	lenient(fields["message"], &m)
	if used, ok := claudeUsage(m.Usage); ok {
		r.used[m.ID] = used
	}
	// These are claude's own words in the model's place.
	failed := text(fields["error"])
	if failed != "" {
		r.kind = failed
	}
	helper := text(fields["parent_tool_use_id"]) != ""
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
				{ID: b.ID, Name: toolName(b.Name), Input: object(b.Input)},
			}}})
			all = append(all, claudePlan(b)...)
		}
	}
	return all
}

// toolName is a tool's name; what could be none gets the name of which package
// teammate knows that nothing is known.
func toolName(name string) string {
	if !identifier().MatchString(name) {
		return "Tool"
	}
	return name
}

// identifier is what may be a tool's name, an MCP server's before it.
var identifier = notation.Pattern(`^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`)

// maxID is how long the id of a call may be.
const maxID = 200

// claudePlan is the plan that a call of TodoWrite makes.
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
	lenient(b.Input, &in)
	var plan []agent.PlanEntry
	for _, t := range in.Todos {
		plan = append(plan, agent.PlanEntry{Text: t.Content, Status: t.Status})
	}
	if plan == nil {
		return nil
	}
	return []news{{plan: plan}}
}

// user takes in tool results. All else that a user's message holds is said to
// the model, not by it.
func (r *claudeReader) user(fields map[string]json.RawMessage) []news {
	var m claudeMessage
	lenient(fields["message"], &m)
	var all []news
	for _, b := range m.blocks() {
		if b.Type == "tool_result" && r.calls[b.ToolUseID] {
			all = append(all, news{ended: &result{id: b.ToolUseID, text: contentText(b.Content), isError: b.IsError}})
		}
	}
	return all
}

// rateLimit notes that the account's plan refuses requests, and until when.
func (r *claudeReader) rateLimit(info map[string]json.RawMessage) {
	r.limit, r.until = text(info["status"]) == "rejected", time.Time{}
	if at := number(info["resetsAt"]); r.limit && at > 0 {
		r.until = time.Unix(at, 0)
	}
}

// result takes in the last message, once: what a later one says is not about
// this prompt. Its session id is the one that was asked for, known or not.
func (r *claudeReader) result(fields map[string]json.RawMessage) []news {
	if r.told.told {
		return nil
	}
	subtype, isError := text(fields["subtype"]), false
	lenient(fields["is_error"], &isError)
	var errs []string
	lenient(fields["errors"], &errs)
	reply := text(fields["result"])
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
	lenient(fields["total_cost_usd"], &cost)
	used, known := claudeUsage(fields["usage"])
	r.told.spent = Spent{Usage: used, Known: known, CostUSD: max(cost, 0)}
	return r.denials(fields["permission_denials"])
}

// noConversation is what claude says of a session that it does not know.
var noConversation = notation.Pattern(`^No conversation found with session ID`)

// denials tells people what claude has denied its model by itself: with -p it
// asks nobody, and knows the member's rules by its settings.
func (r *claudeReader) denials(raw json.RawMessage) []news {
	var list []struct {
		Tool string `json:"tool_name"`
	}
	lenient(raw, &list)
	if len(list) == 0 {
		return nil
	}
	var names []string
	for _, d := range list {
		if d.Tool != "" && !isAny(d.Tool, names...) && len(names) < 10 {
			names = append(names, d.Tool)
		}
	}
	calls := "calls"
	if len(list) == 1 {
		calls = "call"
	}
	return []news{{warning: fmt.Sprintf("claude itself denied %d tool %s (%s), since it can ask nobody; rules under "+
		"permissions.allow in the spec allow them", len(list), calls, strings.Join(names, ", "))}}
}

// over: the result is the last line. Whatever a child of the program prints
// behind it is not of this turn.
func (r *claudeReader) over() bool { return r.told.told }

// end sums up what was used by itself where no result line came: a program that
// was killed has cost something all the same.
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

// claudeKind is the type of a failed model request by claude's word for it.
func claudeKind(word string) string {
	if isAny(word, "rate_limit", "overloaded", "authentication_failed", "billing_error", "invalid_request",
		"server_error", "max_output_tokens", "model_not_found") {
		return word
	}
	return ""
}

// claudeUsage reads the tokens of a request or of a whole run. Cached input is
// input.
func claudeUsage(raw json.RawMessage) (agent.Usage, bool) {
	fields := fieldsOf(raw)
	if fields["input_tokens"] == nil && fields["output_tokens"] == nil {
		return agent.Usage{}, false
	}
	read, written := number(fields["cache_read_input_tokens"]), number(fields["cache_creation_input_tokens"])
	return agent.Usage{
		InputTokens: number(fields["input_tokens"]) + written + read, OutputTokens: number(fields["output_tokens"]),
		CacheReadTokens: read, CacheWriteTokens: written,
	}, true
}
