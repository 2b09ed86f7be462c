package script

import (
	"net/http"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// API is one of the model APIs that a Server speaks, for others that read requests to
// them and refuse some.
type API struct {
	Name string // anthropic, chat, responses or gemini
	// Model is the model that the path of a request names; empty: its body does.
	Model string
	wire  dialect
}

// APIOf returns the API of a request that asks a model, by the end of its path, because
// hosts put their own prefixes before it. It returns false for all other requests.
func APIOf(method, path string) (API, bool) {
	at, action, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ":")
	switch {
	case method != http.MethodPost:
	case strings.HasSuffix(path, "/messages"):
		return API{"anthropic", "", anthropic{}}, true
	case strings.HasSuffix(path, "/chat/completions"):
		return API{"chat", "", chat{}}, true
	case strings.HasSuffix(path, "/responses"):
		return API{"responses", "", responses{}}, true
	case action == "generateContent", action == "streamGenerateContent":
		return API{"gemini", at, gemini{model: at}}, true
	}
	return API{}, false
}

// Asked is what a request asks, in covey's own terms.
type Asked struct {
	Model    string
	System   string
	Messages []agent.Message // inputs of calls, thinking and images are left out
	Tools    []string        // names of the tools that the model may call
}

// Read reads the body of a request. Its error describes the client's mistake.
func (a API) Read(body []byte) (Asked, error) {
	x, err := a.wire.read(body)
	if err != nil {
		return Asked{}, err
	}
	asked := Asked{Model: x.model, System: x.system, Messages: x.messages}
	for _, t := range x.tools {
		asked.Tools = append(asked.Tools, t.name)
	}
	return asked, nil
}

// Refuse answers a request with an error in the form of the API; the zero API has that of OpenAI's.
func (a API) Refuse(w http.ResponseWriter, err error) {
	if a.wire == nil {
		a.wire = chat{}
	}
	refuse(w, a.wire, err)
}
