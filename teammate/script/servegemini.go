package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// gemini is Gemini's generateContent API. Its requests say in their path which
// model is meant and whether to stream.
type gemini struct {
	model  string
	stream bool
	// list says that a stream is one JSON list: what a client gets that does not
	// ask for server-sent events.
	list bool
}

// geminiPart is a piece of a content.
type geminiPart struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought"`
	Call    *struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"functionCall"`
	Response *struct {
		ID       string          `json:"id"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

// geminiContent is a message.
type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

// geminiRequest is a request's body.
type geminiRequest struct {
	Contents []geminiContent `json:"contents"`
	System   json.RawMessage `json:"systemInstruction"`
	Tools    []struct {
		Functions []struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"parameters"`
			JSON   json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config struct {
		MIME   string          `json:"responseMimeType"`
		Schema json.RawMessage `json:"responseSchema"`
		JSON   json.RawMessage `json:"responseJsonSchema"`
	} `json:"generationConfig"`
}

// gemini leads a path's action to what it asks for.
func (s *Server) gemini(w http.ResponseWriter, r *http.Request) {
	model, action, _ := strings.Cut(r.PathValue("action"), ":")
	d := gemini{model: model}
	switch action {
	case "generateContent":
		s.serve(w, r, d)
	case "streamGenerateContent":
		sse := r.URL.Query().Get("alt") == "sse"
		d.stream, d.list = sse, !sse
		s.serve(w, r, d)
	case "countTokens":
		body, done, err := s.readBody(w, r)
		if err != nil {
			refuse(w, d, err)
			return
		}
		defer done()
		writeJSON(w, http.StatusOK, object{"totalTokens": len(body) / 4})
	default:
		refuse(w, d, &agent.APIError{Type: "model_not_found", Message: fmt.Sprintf(
			"action %q is not served; there are generateContent, streamGenerateContent and countTokens", action)})
	}
}

// read takes schemas in both of the API's forms: its own and JSON Schema. read
// takes the model and the stream from g, since the body names neither. A tool's
// schema may be in either of two fields; the newer one counts.
func (g gemini) read(body []byte) (*exchange, error) {
	var req geminiRequest
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	x := &exchange{model: g.model, stream: g.stream}
	var system geminiContent
	if json.Unmarshal(req.System, &system) == nil {
		for _, p := range system.Parts {
			x.instruct(p.Text)
		}
	}
	x.json = req.Config.MIME == "application/json"
	x.format = either(req.Config.JSON, req.Config.Schema)
	for _, t := range req.Tools {
		for _, f := range t.Functions {
			x.tools = append(x.tools, offer{name: f.Name, schema: either(f.JSON, f.Schema)})
		}
	}
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			x.geminiPart(c.Role, p)
		}
	}
	return x, nil
}

// either is a, or b where a is missing.
func either(a, b json.RawMessage) json.RawMessage {
	if len(a) > 0 {
		return a
	}
	return b
}

// geminiPart takes in one piece of a message.
func (x *exchange) geminiPart(role string, p geminiPart) {
	switch {
	case p.Call != nil:
		x.called(p.Call.ID, p.Call.Name)
	case p.Response != nil:
		x.result(p.Response.ID, geminiResult(p.Response.Response))
	case !p.Thought: // a thought was said to nobody
		x.speak(role, p.Text)
	}
}

// geminiResult is a tool's result as text. The API wants an object; agents put
// the text into one of these fields.
func geminiResult(raw json.RawMessage) string {
	var wrapped struct {
		Output json.RawMessage `json:"output"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &wrapped) == nil {
		for _, field := range []json.RawMessage{wrapped.Output, wrapped.Error} {
			if text := textOf(field); text != "" {
				return text
			}
		}
	}
	return string(bytes.TrimSpace(raw))
}

// whole is one body. For clients that stream without server-sent events it is
// the list of what would have been the events. whole is one body or, for a
// list, all chunks of the stream at once: a client that did not ask for events
// reads the list to its end anyway.
func (g gemini) whole(x *exchange, a answer) any {
	if !g.list {
		return geminiChunk(x, a, geminiParts(a, []string{a.text}), true)
	}
	var list []any
	for _, e := range g.events(x, a) {
		list = append(list, e.data)
	}
	return list
}

// geminiParts are texts and the answer's tool calls.
func geminiParts(a answer, texts []string) []object {
	parts := []object{}
	for _, text := range texts {
		if text != "" {
			parts = append(parts, object{"text": text})
		}
	}
	for _, c := range a.calls {
		parts = append(parts, object{"functionCall": object{"id": c.id, "name": c.tool.name, "args": c.input}})
	}
	return parts
}

// geminiChunk is one body, or one event of a stream.
func geminiChunk(x *exchange, a answer, parts []object, last bool) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	chunk := object{"candidates": []object{candidate}, "modelVersion": x.model, "responseId": a.id}
	if !last {
		return chunk
	}
	candidate["finishReason"] = "STOP"
	if a.cut {
		candidate["finishReason"] = "MAX_TOKENS"
	}
	chunk["usageMetadata"] = object{
		"promptTokenCount": a.usage.InputTokens, "candidatesTokenCount": a.usage.OutputTokens,
		"totalTokenCount": a.usage.InputTokens + a.usage.OutputTokens,
	}
	return chunk
}

// events has the reason for the end in its last chunk only: clients take a
// stream without one for broken off, and ask again. events has the token counts
// in its last chunk only; clients take those of the last one that has any.
func (gemini) events(x *exchange, a answer) []event {
	var list []event
	for _, piece := range pieces(a.text) {
		list = append(list, event{data: geminiChunk(x, a, []object{{"text": piece}}, false)})
	}
	// Calls come whole, and the end with them.
	return append(list, event{data: geminiChunk(x, a, geminiParts(a, nil), true)})
}

// failure has the status twice, as number and word; clients look at either.
// failure repeats the status in the body, where Gemini's clients look for it.
func (gemini) failure(e *agent.APIError) (int, object) {
	f := faultOf(e)
	return f.status, object{"error": object{"code": f.status, "message": e.Message, "status": f.gemini}}
}
