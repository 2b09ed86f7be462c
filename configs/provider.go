package configs

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Provider is a provider of models.
type Provider string

// The providers. OpenAI is also the provider of models at the many hosts that copy its APIs.
const (
	Script    Provider = "script" // the offline model that plays a script
	Anthropic Provider = "anthropic"
	OpenAI    Provider = "openai"
	Ollama    Provider = "ollama"
)

// The APIs of providers.
const (
	apiMessages  = "messages"
	apiResponses = "responses"
	apiChat      = "chat"
)

// providerNames returns all providers.
func providerNames() []string {
	return []string{string(Script), string(Anthropic), string(OpenAI), string(Ollama)}
}

// Home returns the URL of the provider's own API; empty: it has none.
func (p Provider) Home() string {
	return map[Provider]string{
		Anthropic: "https://api.anthropic.com", OpenAI: "https://api.openai.com/v1", Ollama: "http://127.0.0.1:11434/v1",
	}[p]
}

// KeyVariable returns the variable with the key for the provider's own API; empty: it wants
// none.
func (p Provider) KeyVariable() string {
	return map[Provider]string{Anthropic: "ANTHROPIC_API_KEY", OpenAI: "OPENAI_API_KEY"}[p]
}

// API returns the API that a model uses unless the spec says otherwise. Hosts that copy
// OpenAI's APIs all have the older one.
func (p Provider) API(base string) string {
	switch {
	case p == Anthropic:
		return apiMessages
	case base == OpenAI.Home():
		return apiResponses
	}
	return apiChat
}

// Base returns the URL of an API that a spec names, without a slash at its end. Its errors
// say what to write instead.
func (p Provider) Base(text string) (string, error) {
	if text == "" {
		return p.Home(), nil
	}
	base := strings.TrimRight(text, "/")
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return base, fmt.Errorf("base_url must be a URL such as %s", p.Home())
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return base, errors.New("base_url must have no user, query or fragment; a key belongs in a file named under key_file")
	case p == Anthropic && strings.HasSuffix(base, "/v1"):
		return base, fmt.Errorf("covey adds /v1 to the base_url of provider: anthropic; write %s", strings.TrimSuffix(base, "/v1"))
	case p != Anthropic && u.Path == "":
		return base, fmt.Errorf("base_url has no path; OpenAI-compatible APIs are usually under /v1: %s/v1", base)
	}
	return base, nil
}
