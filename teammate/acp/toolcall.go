package acp

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// toolCall is a call of the program, merged from tool_call, tool_call_update and the
// question for permission, each of which may hold only a part.
type toolCall struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Status    string          `json:"status"`
	RawInput  json.RawMessage `json:"rawInput"`
	RawOutput json.RawMessage `json:"rawOutput"`
	Content   []content       `json:"content"`
	Locations []location      `json:"locations"`
	Meta      json.RawMessage `json:"_meta"`

	told  bool      // RawInput is from the content
	shown []content // content of the question for permission, which is not output

	tool  string // the tool's name in _meta; empty: none
	first string // the first title: Copilot CLI omits an MCP tool's server from later ones

	recorded bool   // it is in the transcript, or about to be
	denied   string // why it was denied; empty: it was not
	over     bool   // it has its result
}

// location is a file of a call.
type location struct {
	Path string `json:"path"`
}

// content is part of a call's content: text in a block, or a changed file.
type content struct {
	Type    string `json:"type"` // content, diff, terminal
	Content block  `json:"content"`
	Path    string `json:"path"`
	OldText string `json:"oldText"`
	NewText string `json:"newText"`
}

// block is a block of content, of which only text is shown.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	URI      string `json:"uri"`
	Resource struct {
		Text string `json:"text"`
		URI  string `json:"uri"`
	} `json:"resource"`
}

// words returns the block as text.
func (b block) words() string {
	switch {
	case b.Text != "" || b.Type == "text" || b.Type == "":
		return b.Text
	case b.Resource.Text != "":
		return b.Resource.Text
	case b.URI != "" || b.Resource.URI != "":
		return "[" + b.Type + " " + b.URI + b.Resource.URI + "]"
	}
	return "[" + b.Type + "]"
}

// merge merges another part. Fields that it omits stay.
func (c *toolCall) merge(raw json.RawMessage) {
	var part map[string]json.RawMessage
	if json.Unmarshal(raw, &part) != nil {
		return
	}
	program.Lenient(part["title"], &c.Title)
	if c.first == "" {
		c.first = c.Title
	}
	program.Lenient(part["kind"], &c.Kind)
	program.Lenient(part["status"], &c.Status)
	program.Lenient(part["content"], &c.Content)
	program.Lenient(part["locations"], &c.Locations)
	if in := part["rawInput"]; hasValue(in) || c.RawInput == nil && !program.IsNull(in) {
		c.RawInput, c.told = in, false
	}
	// Some programs (Kimi) have the input as JSON text in the content, which grows until it is
	// whole. The content of a call that has ended is its output.
	if !c.ended() && (c.told || !hasValue(c.RawInput)) {
		for _, item := range c.Content {
			if in := json.RawMessage(item.Content.words()); len(program.Fields(in)) > 0 {
				c.RawInput, c.told = in, true
			}
		}
	}
	if out := part["rawOutput"]; hasValue(out) {
		c.RawOutput = out
	}
	if name := toolOf(part["_meta"]); name != "" {
		c.tool = name
	}
}

// mergeQuestion merges the part in a question for permission. Its content describes the
// call and is not output.
func (c *toolCall) mergeQuestion(raw json.RawMessage) {
	output := c.Content
	c.Content = nil
	c.merge(raw)
	c.shown, c.Content = c.Content, output
}

// hasValue reports whether raw holds a value other than null and an empty object.
func hasValue(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && !program.IsNull(raw) && !bytes.Equal(raw, []byte("{}"))
}

// toolOf returns the name of the tool in _meta.
func toolOf(meta json.RawMessage) string {
	var in struct {
		ToolName   string `json:"toolName"`
		ClaudeCode struct {
			ToolName string `json:"toolName"`
		} `json:"claudeCode"`
	}
	program.Lenient(meta, &in)
	if in.ClaudeCode.ToolName != "" {
		return in.ClaudeCode.ToolName
	}
	return in.ToolName
}

// begun reports whether the program has begun the call.
func (c *toolCall) begun() bool { return c.Status == "in_progress" || c.ended() }

// ended reports whether the call is finished.
func (c *toolCall) ended() bool {
	return c.Status == "completed" || c.Status == "failed" || c.Status == "cancelled"
}

// result returns the result of the call.
func (c *toolCall) result() agent.ToolResult {
	r := agent.ToolResult{Content: c.output(), IsError: c.Status != "completed"}
	r.Rejected = c.denied == "" && c.Status != "completed" && (rejectedBy(c.RawOutput) ||
		program.IsRejection(r.Content))
	if c.denied != "" {
		r.Content, r.IsError = strings.TrimSuffix(c.denied+"\n\n"+r.Content, "\n\n"), true
	}
	r.Content = program.Result(r.Content)
	return r
}

// rejectedBy reports whether a field of a raw output says that the program has refused to
// make the call (copilot 1.0.102).
func rejectedBy(raw json.RawMessage) bool {
	code := texts.Text(program.Fields(raw)["code"])
	return code == "rejected" || code == "denied"
}

// output returns the call's output as text: its content or, if that is empty, its raw output.
func (c *toolCall) output() string {
	var texts []string
	for _, item := range c.Content {
		switch text := item.Content.words(); {
		case item.Type == "diff":
			texts = append(texts, "changed "+item.Path)
		case text != "":
			texts = append(texts, text)
		}
	}
	if len(texts) > 0 {
		return strings.Join(texts, "\n")
	}
	return rawText(c.RawOutput)
}

// rawText returns the text in a raw output, or all of it.
func rawText(raw json.RawMessage) string {
	if !hasValue(raw) {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	fields, empty := program.Fields(raw), false
	for _, name := range []string{
		"formatted_output", "aggregated_output", "output", "stdout", "content", "result", "error",
	} {
		if program.IsNull(fields[name]) || json.Unmarshal(fields[name], &text) != nil {
			continue
		}
		if text != "" {
			return text
		}
		empty = true
	}
	if empty { // the text fields exist and are empty
		return ""
	}
	return string(raw)
}
