package script

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// exchange is a request in the words of no API in particular. Each API reads
// its requests into one of these and writes answers from it, so that scripts,
// replay and tools know of no API.
type exchange struct {
	key, model string
	system     string
	messages   []agent.Message
	tools      []offer
	stream     bool
	// format is the JSON Schema that the answer must follow; json says that it
	// must be JSON, whatever the schema.
	format json.RawMessage
	json   bool
	// usage says that a stream of OpenAI's ends with the token counts.
	usage bool
}

// offer is a tool that the agent offers to the model.
type offer struct {
	name      string
	namespace string // of the Responses API: a group of tools; else empty
	// freeform says that the tool takes text instead of JSON (Responses only).
	freeform bool
	schema   json.RawMessage // JSON Schema of its input; may be missing
	// search says that it is no tool, but a search that may hide the team's (Responses
	// only). Codex runs a tool that was not searched for as well.
	search bool
}

// answer is what the server says, before an API gives it its form.
type answer struct {
	id    string // unique in the server; the APIs put their prefixes before it
	at    int64  // seconds since 1970
	text  string
	calls []toolCall
	usage agent.Usage
	step  *int // which step of the script; nil: none
	// cut says that the answer ended at the model's output limit.
	cut bool
}

// toolCall is a call as the agent gets it.
type toolCall struct {
	id    string
	tool  offer
	input json.RawMessage
}

// user adds a text of the user.
func (x *exchange) user(text string) {
	if text != "" {
		x.add(agent.User, agent.Block{Type: agent.TextBlock, Text: text})
	}
}

// said adds a text of the assistant.
func (x *exchange) said(text string) {
	if text != "" {
		x.add(agent.Assistant, agent.Block{Type: agent.TextBlock, Text: text})
	}
}

// called adds a tool call of the assistant. Its input tells replay nothing:
// agents are free to change it.
func (x *exchange) called(id, name string) {
	x.add(agent.Assistant, agent.Block{Type: agent.ToolUseBlock, ID: id, Name: name})
}

// result adds a tool's result. id is that of the call, as the agent sent it; it
// may be missing.
func (x *exchange) result(id, text string) {
	x.add(agent.User, agent.Block{Type: agent.ToolResultBlock, ToolUseID: id, Content: text})
}

// instruct adds to the system prompt.
func (x *exchange) instruct(text string) {
	if x.system != "" && text != "" {
		x.system += "\n"
	}
	x.system += text
}

// add appends a block. Blocks of one speaker in a row are one message, since
// APIs differ in how finely they cut.
func (x *exchange) add(role agent.Role, b agent.Block) {
	if n := len(x.messages); n > 0 && x.messages[n-1].Role == role {
		x.messages[n-1].Content = append(x.messages[n-1].Content, b)
		return
	}
	x.messages = append(x.messages, agent.Message{Role: role, Content: []agent.Block{b}})
}

// speak adds a text by whom the APIs' role names. Instructions count as the
// system prompt wherever they stand: no `when` is meant for them.
func (x *exchange) speak(role, text string) {
	switch role {
	case "assistant", "model":
		x.said(text)
	case "system", "developer":
		x.instruct(text)
	default:
		x.user(text)
	}
}

// textOf is the text in a content of any API: a string, or a list of strings
// and of objects with a text. What has no text (images) is left out.
func textOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		var text string
		_ = json.Unmarshal(raw, &text) // the whole request has been found sound
		return text
	case '[':
		var parts []json.RawMessage
		_ = json.Unmarshal(raw, &parts)
		var texts []string
		for _, part := range parts {
			if text := textOf(part); text != "" {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "\n")
	case '{':
		var part struct {
			Text    json.RawMessage `json:"text"`
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(raw, &part)
		if part.Text != nil {
			return textOf(part.Text)
		}
		return textOf(part.Content)
	}
	return ""
}

// keyOf is the API key of a request, wherever its API carries it. Empty: there
// is none. The key is never checked here, only used to find a script: this
// server guards nothing.
func keyOf(r *http.Request) string {
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	return r.URL.Query().Get("key")
}
