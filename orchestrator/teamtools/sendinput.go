package teamtools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks/mail"
)

// SendMessage has had three forms (TEAMS.md 2). Calls are converted to the newest one before
// rules and hooks see them, so that one rule matches all forms:
//
//	{type, recipient, content, summary, request_id, approve}
//	{to, message: text or object, summary}
//	{to, message, summary}

// shutdownAnswered is the type of a message object that answers a shutdown
// request. The asker gets a ShutdownApproved or a ShutdownRejected.
const shutdownAnswered mail.Kind = "shutdown_response"

// spelling maps alternative keys to covey's.
type spelling map[string]string

// callSpelling returns the alternative keys of a call.
func callSpelling() spelling {
	return spelling{"recipient": "to", "content": "message", "waitFor": "wait_for"}
}

// objectSpelling returns the alternative keys of a message object.
func objectSpelling() spelling {
	return spelling{
		"requestId": "request_id", "approved": "approve", "content": "text", "message": "text",
		"permissionMode": "permission_mode", "mode": "permission_mode",
	}
}

// apply renames alternative keys unless covey's key is present. It reports
// whether it renamed any.
func (s spelling) apply(fields map[string]json.RawMessage) (renamed bool) {
	for wrong, right := range s {
		value, has := fields[wrong]
		if _, hasRight := fields[right]; has && !hasRight {
			fields[right] = value
			delete(fields, wrong)
			renamed = true
		}
	}
	return renamed
}

// foldMessage converts the input of a call to the newest form. It returns input
// that it cannot parse unchanged; the schema refuses it. It drops
// notify_when_idle of other hosts, because the lead is always told of idle
// members.
func foldMessage(input json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil || fields == nil {
		return input
	}
	callSpelling().apply(fields)
	delete(fields, "notify_when_idle")
	var typ string
	if json.Unmarshal(fields["type"], &typ) != nil {
		return texts.Encode(fields)
	}
	delete(fields, "type")
	switch typ {
	case "", "message", string(mail.Text):
	case string(mail.Broadcast):
		fields["to"] = texts.Encode("*")
	default:
		fields["message"] = foldTyped(typ, fields)
	}
	for _, key := range []string{"request_id", "requestId", "approve", "reason", "feedback"} {
		delete(fields, key)
	}
	return texts.Encode(fields)
}

// foldFor is foldMessage for an agent with these tool names. Over MCP an object
// in the message becomes its JSON text, since many vendors' schemas allow one
// type per field.
func foldFor(n ToolNames, input json.RawMessage) json.RawMessage {
	input = foldMessage(input)
	if n != MCPNames {
		return input
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil || !bytes.HasPrefix(fields["message"], []byte("{")) {
		return input
	}
	fields["message"] = texts.Encode(string(fields["message"]))
	return texts.Encode(fields)
}

// foldTyped makes the message object of a call in the oldest form, which has the
// object's fields in the call itself.
func foldTyped(typ string, fields map[string]json.RawMessage) json.RawMessage {
	object := map[string]json.RawMessage{"type": texts.Encode(typ)}
	for _, key := range []string{"request_id", "requestId", "approve", "reason", "feedback"} {
		if value, ok := fields[key]; ok {
			object[key] = value
		}
	}
	if text, ok := fields["message"]; ok {
		object["text"] = text
	}
	return texts.Encode(object)
}

// messageObject is the object in a structured message.
type messageObject struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Reason    string `json:"reason"`
	Feedback  string `json:"feedback"`
	RequestID string `json:"request_id"`
	Approve   *bool  `json:"approve"`
	Mode      string `json:"permission_mode"`
}

// isTyped reports whether a text is a JSON object with a known message type.
func isTyped(text json.RawMessage) bool {
	var object struct {
		Type string `json:"type"`
	}
	if len(text) == 0 || text[0] != '{' || json.Unmarshal(text, &object) != nil {
		return false
	}
	return memberMaySend(mail.Kind(object.Type)) || coveyOnly(mail.Kind(object.Type))
}

// readObject decodes a message object.
func readObject(object json.RawMessage) (messageObject, error) {
	var said messageObject
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil || bytes.Equal(object, []byte("null")) {
		return said, texts.Errorf(api.ErrEmpty, `"message" must be text, or an object with a "type"; it is %s`, shorten(object))
	}
	objectSpelling().apply(fields)
	if yes := string(fields["approve"]); yes == `"true"` || yes == `"false"` { // as some models write it
		fields["approve"] = json.RawMessage(strings.Trim(yes, `"`))
	}
	err := json.Unmarshal(texts.Encode(fields), &said)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Type.Kind() == reflect.Bool:
		return said, texts.Errorf(api.ErrEmpty, "%q must be true or false; it is %s", wrong.Field, shorten(fields[wrong.Field]))
	case errors.As(err, &wrong):
		return said, texts.Errorf(api.ErrEmpty, "%q must be text; it is %s", wrong.Field, shorten(fields[wrong.Field]))
	case err != nil:
		return said, fmt.Errorf("message object: %w", err)
	}
	return said, nil
}

// shorten returns a value on one line, for error texts.
func shorten(value json.RawMessage) string { return texts.OneLine(string(value)) }

// memberMaySend reports whether members may send objects of this type.
func memberMaySend(k mail.Kind) bool {
	return slices.Contains([]mail.Kind{
		mail.ShutdownAsked, shutdownAnswered, mail.ShutdownApproved, mail.ShutdownRejected,
		mail.PlanAnswered, mail.ApprovalAnswered, mail.ModeSet,
	}, k)
}

// coveyOnly reports whether only covey sends messages of this type. With them a
// member could announce events that have not happened.
func coveyOnly(k mail.Kind) bool {
	return slices.Contains([]mail.Kind{
		mail.TaskAssignment, mail.IdleNotification, mail.PlanAsked, mail.ApprovalAsked, mail.QuestionAsked,
		mail.PermissionAsked, mail.PermissionAnswered, mail.Terminated,
	}, k)
}

// fromObject completes w with the content of a message object.
func (w parsedMessage) fromObject(said messageObject) (parsedMessage, error) {
	switch kind := mail.Kind(said.Type); {
	case said.Type == "message", kind == mail.Text:
		w.text = said.Text
	case kind == mail.Broadcast:
		w.to, w.text = "*", said.Text
	case kind == mail.ShutdownAsked:
		w.kind, w.text = kind, cmp.Or(said.Reason, said.Text)
		return w, w.toOne()
	case kind == mail.ModeSet:
		if w.kind, w.answer.Mode = kind, said.Mode; said.Mode == "" {
			return w, texts.Errorf(api.ErrEmpty, `a %s needs "mode": default, plan, acceptEdits, dontAsk or bypassPermissions`, kind)
		}
		return w, w.toOne()
	case kind == mail.ShutdownApproved, kind == mail.ShutdownRejected:
		yes := kind == mail.ShutdownApproved
		said.Approve, kind = &yes, shutdownAnswered
		return w.answering(kind, said)
	case memberMaySend(kind):
		return w.answering(kind, said)
	case coveyOnly(kind):
		return w, texts.Errorf(api.ErrDenied, "only covey sends messages of type %q; write a text instead", said.Type)
	default:
		return w, texts.Errorf(api.ErrEmpty, "no message has the type %q; send text, or an object of type %s, %s, %s, %s or %s",
			said.Type, mail.ShutdownAsked, shutdownAnswered, mail.PlanAnswered, mail.ApprovalAnswered, mail.ModeSet)
	}
	return w, nil
}

// answering completes w with the answer to a request.
func (w parsedMessage) answering(kind mail.Kind, said messageObject) (parsedMessage, error) {
	w.kind = kind
	w.answer = inbox.Answer{ID: said.RequestID, Text: cmp.Or(said.Reason, said.Feedback, said.Text), Mode: said.Mode}
	var missing []string
	if said.RequestID == "" {
		missing = append(missing, `"request_id", which the request names`)
	}
	if said.Approve == nil {
		missing = append(missing, `"approve": true or false`)
	} else {
		w.answer.Approve = *said.Approve
	}
	if len(missing) > 0 {
		return w, texts.Errorf(api.ErrEmpty, "a %s needs %s", kind, strings.Join(missing, " and "))
	}
	return w, w.toOne()
}

// errToAll is returned for a structured message to "*": each member must answer
// for itself.
var errToAll = errors.New(`only text can go to "*"; send such a message to one member by name`)

// toOne checks that a structured message has one recipient.
func (w parsedMessage) toOne() error {
	if w.to == "*" {
		return errToAll
	}
	return nil
}
