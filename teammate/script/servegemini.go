package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// gemini is Gemini's generateContent API. The path of a request holds the model and
// whether to stream.
type gemini struct {
	model  string
	stream bool
	// list means that a stream is one JSON list, for a client that does not ask for
	// server-sent events.
	list bool
}

// geminiPart is a part of a message's content.
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

// gemini calls the handler for the action in a path.
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

// read takes the model and the stream from g, because the body has neither. The
// schema of a tool may be in either of two fields: the API's own form or JSON
// Schema, which takes precedence.
func (g gemini) read(body []byte) (*exchange, error) {
	var req geminiRequest
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	x := &exchange{model: g.model, stream: g.stream}
	var system geminiContent
	if json.Unmarshal(req.System, &system) == nil {
		for _, p := range system.Parts {
			x.addSystem(p.Text)
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

// either returns a, or b if a is empty.
func either(a, b json.RawMessage) json.RawMessage {
	if len(a) > 0 {
		return a
	}
	return b
}

// geminiPart adds one part of a message.
func (x *exchange) geminiPart(role string, p geminiPart) {
	switch {
	case p.Call != nil:
		x.addCall(p.Call.ID, p.Call.Name)
	case p.Response != nil:
		x.addResult(p.Response.ID, geminiResult(p.Response.Response))
	case !p.Thought: // thoughts are not part of the conversation
		x.addText(role, p.Text)
	}
}

// geminiResult returns a tool's result as text. The API requires an object; agents
// put the text into one of these fields.
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

// whole returns one body. For a client that streams without server-sent events, it
// is the list of all chunks, which such a client reads to its end.
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

// geminiParts returns parts for texts and for the answer's tool calls.
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

// geminiChunk returns one body, or one event of a stream.
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

// events has the finish reason and the token counts in its last chunk only. Clients
// take a stream without a finish reason for interrupted, and repeat the request.
func (gemini) events(x *exchange, a answer) []event {
	var list []event
	for _, piece := range pieces(a.text) {
		list = append(list, event{data: geminiChunk(x, a, []object{{"text": piece}}, false)})
	}
	// Calls are not split; the last chunk has all of them.
	return append(list, event{data: geminiChunk(x, a, geminiParts(a, nil), true)})
}

// failure repeats the status in the body, as a number and as a word, because
// clients read either.
func (gemini) failure(e *agent.APIError) (int, object) {
	f := faultOf(e)
	return f.status, object{"error": object{"code": f.status, "message": e.Message, "status": f.gemini}}
}
