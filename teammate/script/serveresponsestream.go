package script

import (
	"encoding/json"
	"fmt"
	"maps"
)

// responseOut is one item of a response: a message or a tool call.
type responseOut struct {
	done object // as it is in the end
	// field holds the item's text, which a stream sends in pieces as events named
	// topic.delta and topic.done.
	field, topic, text string
}

// responseOutput are the items of an answer.
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

// responseCall is a tool call. A tool that takes text gets it from the input's
// only field.
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

// freeText is the text that a script's input holds: its only field, if that is a
// text, else the whole input.
func freeText(input json.RawMessage) string {
	var fields map[string]string
	if json.Unmarshal(input, &fields) == nil && len(fields) == 1 {
		for _, text := range fields {
			return text
		}
	}
	return string(input)
}

// outputText is the only kind of content that a script says. Annotations are
// not optional in the API. outputText is a piece of a message's content. The
// list of annotations must be there, empty.
func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}}
}

// responseStream collects a stream's events, which are numbered.
type responseStream struct{ list []event }

// send numbers an event by its place: clients that lost their connection say
// which number they saw last. send adds an event with the next number. It
// writes into data, which must not be used for another event.
func (s *responseStream) send(kind string, data object) {
	data["type"], data["sequence_number"] = kind, len(s.list)
	s.list = append(s.list, event{kind, data})
}

// events begins with the response itself, because clients take its id from
// there. events has the response three times: twice without output at its head,
// as the API does, and whole at its end.
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

// item sends an item: empty, in pieces, whole.
func (s *responseStream) item(index int, item responseOut) {
	id := item.done["id"]
	// Codex takes items from their done event; others put them together from the
	// pieces, so what has begun must not hold the text already.
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
