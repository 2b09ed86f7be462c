// Package provider describes the providers of models: where their APIs are, which of them
// they have, and which variable holds their key. What such an API wants and says is in
// teammate/modelapi; this package knows only what a spec can say of it.
package provider

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Name names a provider of models.
type Name string

// The providers. OpenAI is also the provider of models at the many hosts that copy its APIs.
const (
	Script    Name = "script" // the offline model that plays a script
	Anthropic Name = "anthropic"
	OpenAI    Name = "openai"
	Ollama    Name = "ollama"
)

// The APIs of providers.
const (
	Messages  = "messages"
	Responses = "responses"
	Chat      = "chat"
)

// Names returns all providers.
func Names() []string {
	return []string{string(Script), string(Anthropic), string(OpenAI), string(Ollama)}
}

// Home returns the URL of the provider's own API; empty: it has none.
func (n Name) Home() string {
	return map[Name]string{
		Anthropic: "https://api.anthropic.com", OpenAI: "https://api.openai.com/v1", Ollama: "http://127.0.0.1:11434/v1",
	}[n]
}

// KeyVariable returns the variable with the key for the provider's own API; empty: it wants
// none.
func (n Name) KeyVariable() string {
	return map[Name]string{Anthropic: "ANTHROPIC_API_KEY", OpenAI: "OPENAI_API_KEY"}[n]
}

// API returns the API that a model uses unless the spec says otherwise. Hosts that copy
// OpenAI's APIs all have the older one.
func (n Name) API(base string) string {
	switch {
	case n == Anthropic:
		return Messages
	case base == OpenAI.Home():
		return Responses
	}
	return Chat
}

// Base returns the URL of an API that a spec names, without a slash at its end. Its errors
// say what to write instead.
func (n Name) Base(text string) (string, error) {
	if text == "" {
		return n.Home(), nil
	}
	base := strings.TrimRight(text, "/")
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return base, fmt.Errorf("base_url must be a URL such as %s", n.Home())
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return base, errors.New("base_url must have no user, query or fragment; a key belongs in a file named under key_file")
	case n == Anthropic && strings.HasSuffix(base, "/v1"):
		return base, fmt.Errorf("covey adds /v1 to the base_url of provider: anthropic; write %s", strings.TrimSuffix(base, "/v1"))
	case n != Anthropic && u.Path == "":
		return base, fmt.Errorf("base_url has no path; OpenAI-compatible APIs are usually under /v1: %s/v1", base)
	}
	return base, nil
}
