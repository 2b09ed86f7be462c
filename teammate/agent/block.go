package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Text returns the message's text: its text blocks joined by "\n" and trimmed.
func (m Message) Text() string {
	var texts []string
	for _, b := range m.Content {
		if b.Type == TextBlock {
			texts = append(texts, b.Text)
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

// ToolCalls returns the message's tool calls, in order.
func (m Message) ToolCalls() []ToolCall {
	var calls []ToolCall
	for _, b := range m.Content {
		if b.Type == ToolUseBlock {
			calls = append(calls, ToolCall{ID: b.ID, Name: b.Name, Input: b.Input})
		}
	}
	return calls
}

// MarshalJSON writes the fields of b's type even if they are empty: readers of transcripts and
// model APIs expect that a tool result without output says so. A tool call's input that is not
// JSON is kept as a string, so that a model's mistake cannot make a transcript unreadable.
func (b Block) MarshalJSON() ([]byte, error) {
	var fields any
	switch b.Type {
	case TextBlock:
		fields = struct {
			Type BlockType `json:"type"`
			Text string    `json:"text"`
		}{b.Type, b.Text}
	case ToolUseBlock:
		fields = struct {
			Type  BlockType       `json:"type"`
			ID    string          `json:"id"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}{b.Type, b.ID, b.Name, ValidInput(b.Input)}
	case ToolResultBlock:
		fields = struct {
			Type      BlockType `json:"type"`
			ToolUseID string    `json:"tool_use_id"`
			Content   string    `json:"content"`
			Images    []Image   `json:"images,omitempty"`
			IsError   bool      `json:"is_error,omitempty"`
		}{b.Type, b.ToolUseID, b.Content, b.Images, b.IsError}
	case ThinkingBlock:
		fields = struct {
			Type     BlockType       `json:"type"`
			Thinking string          `json:"thinking"`
			Raw      json.RawMessage `json:"raw,omitempty"`
			Model    string          `json:"model,omitempty"`
		}{b.Type, b.Thinking, b.Raw, b.Model}
	default:
		return nil, fmt.Errorf("teammate: block of unknown type %q", b.Type)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // code is full of <, > and &
	err := enc.Encode(fields)
	return text.Bytes(), err
}

// ValidInput returns a tool input in a form that a message can hold: always JSON, and normally an
// object.
func ValidInput(input json.RawMessage) json.RawMessage {
	switch {
	case len(bytes.TrimSpace(input)) == 0:
		return json.RawMessage(`{}`)
	case json.Valid(input):
		return input
	}
	text, err := json.Marshal(string(input))
	if err != nil { // a string always marshals
		return json.RawMessage(`{}`)
	}
	return text
}

// PromptRecord returns the message that shows inputs.
func PromptRecord(inputs []Input) Record {
	m := Message{Role: User}
	for _, in := range inputs {
		m.Content = append(m.Content, Block{Type: TextBlock, Text: in.Text})
	}
	return Record{Message: m, Inputs: inputs}
}
