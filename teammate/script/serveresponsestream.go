package script

import (
	"encoding/json"
	"fmt"
	"maps"
)

// responseOut is one item of a response: a message or a tool call.
type responseOut struct {
	done object // the completed item
	// field is the name of the field with the item's text. A stream sends the text in
	// events named topic.delta and topic.done.
	field, topic, text string
}

// responseOutput returns the items of an answer.
func responseOutput(a answer) []responseOut {
	var items []responseOut
	if a.text != "" {
		items = append(items, responseOut{
			done: object{
				"id": "msg_" + a.id, "type": "message", "role": "assistant", "status": responseStatus(a),
				"content": []object{outputText(a.text)},
			},
			field: "text", topic: "response.output_text", text: a.text,
		})
	}
	for i, c := range a.calls {
		items = append(items, responseCall(c, fmt.Sprintf("%s_%d", a.id, i)))
	}
	return items
}

// responseCall returns the item for a tool call. A tool that takes text gets it
// from the only field of the input.
func responseCall(c toolCall, id string) responseOut {
	item := responseOut{field: "arguments", topic: "response.function_call_arguments", text: string(c.input)}
	item.done = object{"id": "fc_" + id, "type": "function_call", "status": "completed", "call_id": c.id,
		"name": c.tool.name}
	if c.tool.freeform {
		item.field, item.topic, item.text = "input", "response.custom_tool_call_input", freeText(c.input)
		item.done["id"], item.done["type"] = "ctc_"+id, "custom_tool_call"
	}
	if c.tool.namespace != "" {
		item.done["namespace"] = c.tool.namespace
	}
	item.done[item.field] = item.text
	return item
}

// freeText returns the value of the only field of a script's input if it is a
// string, or else the whole input.
func freeText(input json.RawMessage) string {
	var fields map[string]string
	if json.Unmarshal(input, &fields) == nil && len(fields) == 1 {
		for _, text := range fields {
			return text
		}
	}
	return string(input)
}

// outputText returns text content of a message. The API requires the list of
// annotations even if it is empty.
func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}}
}

// responseStream collects a stream's events, which are numbered.
type responseStream struct{ list []event }

// send adds an event with the next sequence number, by which a client that lost its
// connection names the last event it saw. It modifies data, which must not be used
// for another event.
func (s *responseStream) send(kind string, data object) {
	data["type"], data["sequence_number"] = kind, len(s.list)
	s.list = append(s.list, event{kind, data})
}

// events begins with the response itself, because clients read its id there. Like
// the API, it sends the response twice without output at the beginning, and once
// complete at the end.
func (responses) events(x *exchange, a answer) []event {
	s := &responseStream{}
	s.send("response.created", object{"response": responseFrame(x, a, "in_progress")})
	s.send("response.in_progress", object{"response": responseFrame(x, a, "in_progress")})
	for index, item := range responseOutput(a) {
		s.item(index, item)
	}
	s.send("response."+responseStatus(a), object{"response": responses{}.whole(x, a)})
	return s.list
}

// item sends an item: first empty, then in fragments, then complete.
func (s *responseStream) item(index int, item responseOut) {
	id := item.done["id"]
	// Codex reads items from their done event. Other clients join the fragments, so
	// the first event must not hold the text.
	begun := maps.Clone(item.done)
	begun["status"] = "in_progress"
	message := item.done["type"] == "message"
	if message {
		begun["content"] = []object{}
	} else {
		begun[item.field] = ""
	}
	at := func(fields object) object {
		fields["item_id"], fields["output_index"] = id, index
		if message {
			fields["content_index"] = 0
		}
		return fields
	}
	s.send("response.output_item.added", object{"output_index": index, "item": begun})
	if message {
		s.send("response.content_part.added", at(object{"part": outputText("")}))
	}
	for _, piece := range pieces(item.text) {
		s.send(item.topic+".delta", at(object{"delta": piece}))
	}
	s.send(item.topic+".done", at(object{item.field: item.text}))
	if message {
		s.send("response.content_part.done", at(object{"part": outputText(item.text)}))
	}
	s.send("response.output_item.done", object{"output_index": index, "item": item.done})
}
