package configs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
)

// Model is the model of a builtin agent. A real model has a BaseURL, and no Script. One that answers from a
// recording has both a Recording and a BaseURL, which names no host.
type Model struct {
	Name      string // its name under `models`; empty for a model written inline
	Provider  Provider
	Script    string // absolute path of the script
	Recording string // absolute path of the recording

	Model       string // the provider's name of the model
	BaseURL     string // without a slash at its end
	API         string
	KeyFile     string // absolute path; empty: the key is in covey's environment, or there is none
	MaxOutput   int    // in tokens; 0: the provider's default
	Thinking    string // off, low, medium or high; empty: the provider's default
	Temperature *float64
	StreamIdle  time.Duration // how long an answer may be silent after its first byte; 0: the default
	Headers     map[string]string
	Fallback    string // the name of the model that answers if this one cannot; empty: none
}

// AtHome reports whether the model is at its provider's own host, which alone gets the key
// from covey's environment.
func (m Model) AtHome() bool { return m.Recording != "" || m.BaseURL == m.Provider.Home() }

// NeedsTrust reports whether people must trust the model's host: it reads the team's
// conversations and is not the provider's own, or it gets a key from a file. Nothing may be
// sent there before they do.
func (m Model) NeedsTrust() bool { return m.BaseURL != "" && (!m.AtHome() || m.KeyFile != "") }

// FullName returns the provider and the name of the model, as in prices and in errors. A
// script has the name that the spec gives it, so that a spec can put a price on it, too, and
// its budget can be tried offline.
func (m Model) FullName() string { return string(m.Provider) + "/" + cmp.Or(m.Model, m.Name) }

// Fallbacks returns the models that answer in place of m, in the order in which they are asked.
func (t *Team) Fallbacks(m Model) []Model {
	var chain []Model
	for m.Fallback != "" { // it ends: a cycle is a mistake of the spec
		m = t.Models[m.Fallback]
		chain = append(chain, m)
	}
	return chain
}

// allModels resolves the section `models`.
func (r *resolver) allModels(specs []yaml.Entry[modelSpec]) map[string]Model {
	r.models = map[string]Model{}
	for _, e := range specs {
		// Even a wrong model gets an entry: a member that names it has made no mistake.
		r.models[e.Name.Text] = Model{Name: e.Name.Text}
	}
	for _, e := range specs {
		m := r.models[e.Name.Text]
		switch {
		case !e.V.name.Given():
			m = r.inlineModel(&e.V)
		case strings.Contains(e.V.name.V, "/"):
			m = r.shortModel(e.V.name)
		case e.V.name.V != "":
			r.Fail(e.V.name.At.At, "under models, text such as %s must be PROVIDER/MODEL; "+
				"write {provider: script, script: FILE}", yaml.Quote(e.V.name.V))
		}
		m.Name = e.Name.Text
		r.models[m.Name] = m
	}
	for _, e := range specs {
		next := r.models[e.Name.Text]
		for range len(r.models) {
			next = r.models[next.Fallback]
		}
		if next.Name != "" {
			r.Fail(e.V.fallback.At.At, "the fallbacks of model %s lead in a circle; remove one of them", yaml.NameOf(e.Name))
			break
		}
	}
	return r.models
}

// fallback returns the name of the model that a mapping falls back to.
func (r *resolver) fallback(m *modelSpec) string {
	name := m.fallback.V
	if _, known := r.models[name]; m.fallback.Given() && !known {
		r.Fail(m.fallback.At.At, "there is no model %s to fall back to; add it under models", yaml.Quote(name))
		return ""
	}
	return name
}

// model resolves a model anywhere in the spec.
func (r *resolver) model(m *modelSpec) Model {
	if !m.name.Given() {
		return r.inlineModel(m)
	}
	if known, ok := r.models[m.name.V]; ok || m.name.V == "" {
		return known
	}
	if strings.Contains(m.name.V, "/") {
		return r.shortModel(m.name)
	}
	if near := r.Nearest(m.name.V, sortedKeys(r.models)); near != "" {
		r.Fail(m.name.At.At, "there is no model %s; write %s", yaml.Quote(m.name.V), near)
	} else {
		r.Fail(m.name.At.At, "there is no model %s; add it under models", yaml.Quote(m.name.V))
	}
	return Model{}
}

// shortModel resolves PROVIDER/MODEL. The name of a model may have slashes and colons of its
// own, as at Ollama.
func (r *resolver) shortModel(text yaml.Value[string]) Model {
	of, name, _ := strings.Cut(text.V, "/")
	p := Provider(of)
	switch {
	case p.Home() == "":
		r.Fail(text.At.At, "there is no provider %s; the providers are anthropic, openai and ollama; for others write "+
			"{provider: openai, base_url: URL, model: NAME} with the URL of their OpenAI-compatible API", yaml.Quote(of))
	case strings.TrimSpace(name) != name || name == "":
		r.Fail(text.At.At, "%s names no model; write %s/NAME", yaml.Quote(text.V), of)
	}
	return Model{Provider: p, Model: name, BaseURL: p.Home(), API: p.API(p.Home())}
}

// inlineModel resolves a model that is written as a mapping. It reports the first key that
// belongs to another provider, and then nothing else, because the rest would be guesswork.
func (r *resolver) inlineModel(m *modelSpec) Model {
	if m.at == nil || m.at.Broken {
		return Model{}
	}
	p := m.Provider
	// Forbidden keys, by whether the provider is a script.
	keys := map[bool][]string{
		true:  {"model", "base_url", "api", "key_file", "max_output", "thinking", "temperature", "stream_idle", "headers"},
		false: {"script"},
	}
	for _, key := range keys[p == Script || p == Replay] {
		if k := m.at.Entry(key).Key; k != nil {
			r.Fail(k.At, "%s does not belong to provider: %s; remove it", key, p)
			return Model{Provider: p}
		}
	}
	if p == Replay {
		if !m.recording.Given() {
			r.Fail(m.at.At, "recording is missing; add `recording:` with the path of a file of covey up --record")
		}
		return RecordedModel(r.Path(m.recording, "recording"))
	}
	if k := m.at.Entry("recording").Key; k != nil {
		r.Fail(k.At, "recording does not belong to provider: %s; remove it", p)
		return Model{Provider: p}
	}
	if p == Script {
		if !m.script.Given() {
			r.Fail(m.at.At, "script is missing; add `script:` with the path of a script")
		}
		return Model{Provider: p, Script: r.Path(m.script, "script"), Fallback: r.fallback(m)}
	}
	if m.at.Lookup("model") == nil {
		r.Fail(m.at.At, "model is missing; add `model:` with the provider's name of a model")
	}
	base, err := p.Base(m.baseURL.V)
	if err != nil {
		r.Fail(m.baseURL.At.At, "%v", err)
	}
	out := m.Model
	out.BaseURL, out.KeyFile, out.Headers, out.Fallback = base, r.Path(m.keyFile, "key file"), r.headers(m.headers), r.fallback(m)
	out.API = cmp.Or(m.API, p.API(base))
	if p == Anthropic && m.API != "" {
		r.Fail(m.at.Lookup("api").At, "provider: anthropic has one API; remove api")
	}
	if m.temperature.Given() {
		if out.Temperature = &m.temperature.V; m.temperature.V > 2 {
			r.Fail(m.temperature.At.At, "temperature must be at most 2")
		}
	}
	return out
}

// RecordedModel returns a model that answers from a recording.
func RecordedModel(path string) Model {
	return Model{Provider: Replay, Recording: path, Model: filepath.Base(path), BaseURL: "recording:" + path}
}

// headers resolves HTTP headers. A key in them is refused.
func (r *resolver) headers(entries []yaml.Entry[yaml.Value[string]]) map[string]string {
	out := map[string]string{}
	for _, h := range entries {
		if slices.Contains(keyHeaders, strings.ToLower(h.Name.Text)) {
			r.Fail(h.Name.At, "a key does not belong in the spec; remove %s, and name a file under key_file", yaml.NameOf(h.Name))
		}
		out[h.Name.Text] = h.V.V
	}
	return out
}

// keyHeaders are the headers in which hosts take keys and passwords.
var keyHeaders = []string{"authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"}

// sortedKeys returns a map's keys in a fixed order, so that messages do not vary.
func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// modelSpec is a model: a mapping, or a text that names one.
type modelSpec struct {
	Model                          // as far as its keys need no more than being read
	at          *yaml.Node         // of a mapping
	name        yaml.Value[string] // of a text
	script      yaml.Value[string]
	recording   yaml.Value[string]
	baseURL     yaml.Value[string]
	keyFile     yaml.Value[string]
	temperature yaml.Value[float64]
	fallback    yaml.Value[string]
	headers     []yaml.Entry[yaml.Value[string]]
}

// place returns where the model is in the spec.
func (m *modelSpec) place() *yaml.Node { return cmp.Or(m.at, m.name.At) }

// given reports whether the spec names a model here, in either form.
func (m *modelSpec) given() bool { return m.at != nil || m.name.Given() }

// fields returns the keys of a model that is written as a mapping.
func (m *modelSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "provider", Need: true, Part: yaml.IntoWord(&m.Provider, Script, Anthropic, OpenAI, Ollama, Replay),
			Doc: "Who answers: script, an offline model that plays a script; anthropic; openai, also for hosts with an " +
				"OpenAI-compatible API; ollama; or replay, a recording of covey up --record."},
		{Key: "script", Part: yaml.Text(&m.script),
			Doc: "With provider: script, the script's path, relative to the spec."},
		{Key: "recording", Part: yaml.Text(&m.recording),
			Doc: "With provider: replay, the path of a member's recording, relative to the spec."},
		{Key: "model", Part: yaml.Into(&m.Model.Model, yaml.Text), Doc: "The provider's name for the model."},
		{Key: "base_url", Part: yaml.Text(&m.baseURL),
			Doc: "The URL of the API: with /v1 for openai and ollama, without it for anthropic. Default: the provider's own."},
		{Key: "api", Part: yaml.IntoWord(&m.API, apiResponses, apiChat),
			Doc: "The API of an OpenAI-compatible host. Default: responses at OpenAI itself, chat elsewhere."},
		{Key: "key_file", Part: yaml.Text(&m.keyFile),
			Doc: "A file that holds the API key. Without it, the provider's own host gets ANTHROPIC_API_KEY or " +
				"OPENAI_API_KEY of covey's environment, and other hosts get no key."},
		{Key: "max_output", Part: yaml.Into(&m.MaxOutput, yaml.WholeFrom(1, 1_000_000)),
			Doc: "The limit of one answer in tokens. Default: 16000 for anthropic, else the provider's."},
		{Key: "thinking", Part: yaml.IntoWord(&m.Thinking, "off", "low", "medium", "high"),
			Doc: "How much a model that can reason does so. Default: the provider's."},
		{Key: "temperature", Part: yaml.Amount(&m.temperature), Doc: "From 0 to 2. Default: the provider's."},
		{Key: "stream_idle", Part: yaml.Into(&m.StreamIdle, yaml.SomeTime),
			Doc: "How long an answer may be silent after its first byte, before the request is made again. Default: 90s."},
		{Key: "headers", Part: yaml.TextsByKey(&m.headers, "headers"), Doc: "HTTP headers of each request."},
		{Key: "fallback", Part: yaml.Text(&m.fallback),
			Doc: "The name of the model that answers the rest of a turn if this one cannot."},
	}
}

// modelPart decodes a model.
func modelPart(m *modelSpec) yaml.Part {
	return yaml.Shared("model", yaml.Either(yaml.Text(&m.name), yaml.Object(&m.at, m.fields()),
		"a model's name, PROVIDER/MODEL, or a mapping such as {provider: script, script: FILE}"))
}

// Provider is a provider of models.
type Provider string

// The providers. OpenAI is also the provider of models at the many hosts that copy its APIs.
const (
	Script    Provider = "script" // the offline model that plays a script
	Anthropic Provider = "anthropic"
	OpenAI    Provider = "openai"
	Ollama    Provider = "ollama"
	Replay    Provider = "replay" // answers from a recording
)

// The APIs of providers.
const (
	apiMessages  = "messages"
	apiResponses = "responses"
	apiChat      = "chat"
)

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
