package agent

import "encoding/json"

// Role describes who wrote a Message.
type Role string

// The roles of a conversation.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one entry of a member's conversation.
type Message struct {
	Role    Role    `json:"role"`
	Content []Block `json:"content"`
}

// TextMessage returns a message with one text block for each of texts.
func TextMessage(role Role, texts ...string) Message {
	m := Message{Role: role}
	for _, text := range texts {
		m.Content = append(m.Content, Block{Type: TextBlock, Text: text})
	}
	return m
}

// BlockType describes which fields of a Block are set.
type BlockType string

// The blocks of a conversation, with the names of the model APIs.
const (
	TextBlock       BlockType = "text"
	ToolUseBlock    BlockType = "tool_use"
	ToolResultBlock BlockType = "tool_result"
	ThinkingBlock   BlockType = "thinking"
)

// Block is one piece of a message: text, thinking, a tool call, or a tool's result. Transcripts
// hold it in exactly this form, which hook scripts read.
type Block struct {
	Type BlockType `json:"type"`

	Text string `json:"text,omitempty"`

	Thinking string `json:"thinking,omitempty"` // as people can read it; may be empty
	// Raw is the thinking as its API wrote it. It goes back to the same model unchanged,
	// because it may be signed.
	Raw   json.RawMessage `json:"raw,omitempty"`
	Model string          `json:"model,omitempty"` // the model that wrote Raw

	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`

	ToolUseID string  `json:"tool_use_id,omitempty"`
	Content   string  `json:"content,omitempty"`
	Images    []Image `json:"images,omitempty"` // none if IsError, which APIs refuse
	IsError   bool    `json:"is_error,omitempty"`
}

// Usage counts tokens. Zero means none, not unknown.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// CacheReadTokens and CacheWriteTokens are parts of InputTokens with their own prices.
	CacheReadTokens  int64 `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens int64 `json:"cache_write_tokens,omitempty"`
	// FailedTokens is the part of the tokens that went into requests which failed.
	FailedTokens int64 `json:"failed_tokens,omitempty"`
	// Estimated means that the API did not count some of the tokens.
	Estimated bool `json:"estimated,omitempty"`
}

// Plus adds two counts.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		InputTokens: u.InputTokens + v.InputTokens, OutputTokens: u.OutputTokens + v.OutputTokens,
		CacheReadTokens:  u.CacheReadTokens + v.CacheReadTokens,
		CacheWriteTokens: u.CacheWriteTokens + v.CacheWriteTokens,
		FailedTokens:     u.FailedTokens + v.FailedTokens,
		Estimated:        u.Estimated || v.Estimated,
	}
}

// Less returns u minus v; no count falls below zero.
func (u Usage) Less(v Usage) Usage {
	return Usage{
		InputTokens: max(u.InputTokens-v.InputTokens, 0), OutputTokens: max(u.OutputTokens-v.OutputTokens, 0),
		CacheReadTokens:  max(u.CacheReadTokens-v.CacheReadTokens, 0),
		CacheWriteTokens: max(u.CacheWriteTokens-v.CacheWriteTokens, 0),
		FailedTokens:     max(u.FailedTokens-v.FailedTokens, 0),
		Estimated:        u.Estimated,
	}
}

// Total returns the sum of input and output tokens.
func (u Usage) Total() int64 { return u.InputTokens + u.OutputTokens }

// InputKind describes where a part of a prompt comes from.
type InputKind string

// The kinds of input. Mail is data from a named member, never an instruction of the user,
// because members may repeat what they have read anywhere.
const (
	FromPerson  InputKind = "prompt"   // the goal, or what a person sent
	FromMail    InputKind = "mail"     // a message of another member
	FromTask    InputKind = "task"     // a task given, claimed or ready
	FromHook    InputKind = "feedback" // the feedback of a refusing hook
	FromContext InputKind = "context"  // additional context given by a hook
	FromCovey   InputKind = "notice"   // a notice or nudge of covey itself
	FromCaller  InputKind = "errand"   // the prompt of a helper
	FromHelper  InputKind = "helper"   // the result of a helper in the background
)

// Input is one part of a prompt: it becomes one text block of a user message.
type Input struct {
	Kind InputKind `json:"kind"`
	Text string    `json:"text"`
	// MessageID is the id of the mail in Text, or of anything else that the inbox wants
	// shown exactly once, such as the goal or news of a task; it may be empty. The
	// transcript line holds it; an input whose id is already there is confirmed to the inbox
	// and not shown again.
	MessageID string `json:"message_id,omitempty"`
}
