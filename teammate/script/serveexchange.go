package script

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// exchange is a request independent of any API. Each API converts its requests to
// an exchange and writes answers from it, so that scripts, replay and tools do not
// depend on an API.
type exchange struct {
	key, model string
	system     string
	messages   []agent.Message
	tools      []offer
	stream     bool
	// format is the JSON Schema of the answer, if any; json says that the answer
	// must be JSON.
	format json.RawMessage
	json   bool
	// usage means that an OpenAI stream ends with the token counts.
	usage bool
}

// offer is a tool that the agent offers to the model.
type offer struct {
	name      string
	namespace string // a group of tools in the Responses API; empty otherwise
	// freeform means that the tool takes text instead of JSON (Responses API only).
	freeform bool
	schema   json.RawMessage // JSON Schema of its input; may be missing
	// search means that this is a search for tools, behind which the team's tools may
	// be hidden (Responses API only). Codex runs a tool without a search as well.
	search bool
}

// answer is the server's answer, before an API converts it.
type answer struct {
	id    string // unique in the server; the APIs add prefixes
	at    int64  // seconds since the Unix epoch
	text  string
	calls []toolCall
	usage agent.Usage
	step  *int // the step of the script; nil if none
	// cut means that the answer ended at the model's output limit.
	cut bool
}

// toolCall is a tool call in the form that the agent gets.
type toolCall struct {
	id    string
	tool  offer
	input json.RawMessage
}

// addUserText adds a text of the user.
func (x *exchange) addUserText(text string) {
	if text != "" {
		x.add(agent.User, agent.Block{Type: agent.TextBlock, Text: text})
	}
}

// addAssistantText adds a text of the assistant.
func (x *exchange) addAssistantText(text string) {
	if text != "" {
		x.add(agent.Assistant, agent.Block{Type: agent.TextBlock, Text: text})
	}
}

// addCall adds a tool call of the assistant. It omits the input, which agents may
// change and replay does not use.
func (x *exchange) addCall(id, name string) {
	x.add(agent.Assistant, agent.Block{Type: agent.ToolUseBlock, ID: id, Name: name})
}

// addResult adds a tool's result. id is the id of the call as the agent sent it; it
// may be empty.
func (x *exchange) addResult(id, text string) {
	x.add(agent.User, agent.Block{Type: agent.ToolResultBlock, ToolUseID: id, Content: text})
}

// addSystem adds to the system prompt.
func (x *exchange) addSystem(text string) {
	if x.system != "" && text != "" {
		x.system += "\n"
	}
	x.system += text
}

// add appends a block. Consecutive blocks of one role form one message, because
// APIs split messages differently.
func (x *exchange) add(role agent.Role, b agent.Block) {
	if n := len(x.messages); n > 0 && x.messages[n-1].Role == role {
		x.messages[n-1].Content = append(x.messages[n-1].Content, b)
		return
	}
	x.messages = append(x.messages, agent.Message{Role: role, Content: []agent.Block{b}})
}

// addText adds a text with the role that an API names. Instructions become part of
// the system prompt wherever they are, because a `when` does not match them.
func (x *exchange) addText(role, text string) {
	switch role {
	case "assistant", "model":
		x.addAssistantText(text)
	case "system", "developer":
		x.addSystem(text)
	default:
		x.addUserText(text)
	}
}

// textOf returns the text in a content of any API: a string, or a list of strings
// and of objects with a text. It skips content without text, such as images.
func textOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		var text string
		_ = json.Unmarshal(raw, &text) // the whole request is valid JSON
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

// KeyOf returns the API key of a request, wherever its API puts it, or "". The key
// only selects a script; it protects nothing.
func KeyOf(r *http.Request) string {
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
