package hooks

import "encoding/json"

// ElicitationInput is the payload of Elicitation. What a hook answers is in the fields action and content
// of its output.
type ElicitationInput struct {
	ServerName      string          `json:"mcp_server_name"`
	Message         string          `json:"message"`
	Mode            string          `json:"mode"` // form or url
	URL             string          `json:"url,omitempty"`
	ElicitationID   string          `json:"elicitation_id,omitempty"`
	RequestedSchema json.RawMessage `json:"requested_schema,omitempty"`
}

// ElicitationResultInput is the payload of ElicitationResult. A hook may change the answer by the same
// fields.
type ElicitationResultInput struct {
	ServerName    string          `json:"mcp_server_name"`
	Mode          string          `json:"mode"`
	ElicitationID string          `json:"elicitation_id,omitempty"`
	Action        string          `json:"action"` // accept, decline or cancel
	Content       json.RawMessage `json:"content,omitempty"`
}

// Event returns Elicitation.
func (ElicitationInput) Event() Event { return Elicitation }

// Event returns ElicitationResult.
func (ElicitationResultInput) Event() Event { return ElicitationResult }

// subject implements subjecter.
func (p ElicitationInput) subject() string { return p.ServerName }

// subject implements subjecter.
func (p ElicitationResultInput) subject() string { return p.ServerName }
