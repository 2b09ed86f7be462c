package acp

import (
	"encoding/json"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/program"
)

// message is one JSON-RPC message. Its parts stay raw until their type is known.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// decode parses a line; it returns false if the line is not a JSON object.
func decode(line []byte) (message, bool) {
	var m message
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &m) != nil {
		return message{}, false
	}
	if program.IsNull(m.ID) {
		m.ID = nil
	}
	if program.IsNull(m.Error) {
		m.Error = nil
	}
	return m, true
}

// key returns an answer's id in the form of call.id. It also accepts a number sent as a
// string.
func (m message) key() string { return strings.Trim(string(m.ID), `"`) }

// rpcError is the error of an answer.
type rpcError struct {
	Code    int
	Message string
	Data    json.RawMessage
}

// The error codes that covey handles.
const (
	codeNoMethod     = -32601
	codeAuthRequired = -32000
	codeNoResource   = -32002
)

// readError decodes an error as far as it has the usual form.
func readError(raw json.RawMessage) *rpcError {
	var fields struct {
		Code    json.RawMessage `json:"code"`
		Message json.RawMessage `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	e := &rpcError{}
	if json.Unmarshal(raw, &fields) != nil {
		e.Message = string(raw)
		return e
	}
	var code float64
	if json.Unmarshal(fields.Code, &code) == nil {
		e.Code = int(code)
	}
	if json.Unmarshal(fields.Message, &e.Message) != nil {
		e.Message = string(fields.Message)
	}
	e.Data = fields.Data
	return e
}

// Error returns the program's message with the details in its data.
func (e *rpcError) Error() string {
	text := e.Message
	if text == "" {
		text = "error without a message"
	}
	if detail := e.detail(); detail != "" && !strings.Contains(text, detail) {
		text += ": " + detail
	}
	return text
}

// detail returns the text in the error's data, or "". Data without text is returned only if
// the message alone is vague.
func (e *rpcError) detail() string {
	if len(e.Data) == 0 || program.IsNull(e.Data) {
		return ""
	}
	var text string
	if json.Unmarshal(e.Data, &text) == nil {
		return text
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(e.Data, &fields) == nil {
		for _, name := range []string{"message", "details", "detail", "reason", "error"} {
			if json.Unmarshal(fields[name], &text) == nil && text != "" {
				return text
			}
		}
	}
	if fields != nil && !vague().MatchString(e.Message) {
		return ""
	}
	return program.Shorten(string(e.Data), 500)
}

// vague matches a message that does not say what went wrong.
var vague = texts.Pattern(`(?i)^\s*((internal|server|unknown) )*error\W*$|^\PL*$`)
