package configs

import (
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Provider names a provider of models.
type Provider string

// Script is the offline model that plays a script. It is the only provider of
// this version.
const Script Provider = "script"

// Model is the model of a builtin agent.
type Model struct {
	Name     string // its name under `models`; empty for a model written inline
	Provider Provider
	Script   string // absolute path of the script
}

// allModels resolves the section `models`.
func (r *resolver) allModels(specs []yaml.Entry[modelSpec]) map[string]Model {
	r.models = map[string]Model{}
	for _, e := range specs {
		// Even a wrong model gets an entry: a member that names it has made no mistake.
		r.models[e.Name.Text] = Model{Name: e.Name.Text}
	}
	for _, e := range specs {
		if e.V.name.Given() {
			r.aliasModel(e.V.name)
			continue
		}
		m := r.inlineModel(&e.V)
		m.Name = e.Name.Text
		r.models[m.Name] = m
	}
	return r.models
}

// aliasModel reports a text in the section `models`, where PROVIDER/MODEL is the only text
// allowed.
func (r *resolver) aliasModel(name yaml.Value[string]) {
	if strings.Contains(name.V, "/") {
		r.modelText(name)
	} else if name.V != "" {
		r.Fail(name.At.At, "under models, text such as %s must be PROVIDER/MODEL; "+
			"write {provider: script, script: FILE}", yaml.Quote(name.V))
	}
}

// model resolves a model anywhere in the spec.
func (r *resolver) model(m *modelSpec) Model {
	if !m.name.Given() {
		return r.inlineModel(m)
	}
	if known, ok := r.models[m.name.V]; ok || m.name.V == "" {
		return known
	}
	r.modelText(m.name)
	return Model{}
}

// modelText reports a text that is not the name of a model.
func (r *resolver) modelText(name yaml.Value[string]) {
	if strings.Contains(name.V, "/") {
		r.NotYet(name.At.At, "model "+yaml.Quote(name.V),
			"write {provider: script, script: FILE}, the offline model")
		return
	}
	if near := r.Nearest(name.V, sortedKeys(r.models)); near != "" {
		r.Fail(name.At.At, "there is no model %s; write %s", yaml.Quote(name.V), near)
		return
	}
	r.Fail(name.At.At, "there is no model %s; add it under models", yaml.Quote(name.V))
}

// inlineModel resolves a model that is written as a mapping.
func (r *resolver) inlineModel(m *modelSpec) Model {
	// The decoder has refused everything but a complete script model.
	return Model{Provider: Script, Script: r.path(m.script, "script")}
}

// sortedKeys returns a map's keys in a fixed order, so that messages do not vary.
func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// modelSpec is a model: a mapping, or a text that names one.
type modelSpec struct {
	at       *yaml.Node         // of a mapping
	name     yaml.Value[string] // of a text
	provider yaml.Value[string]
	script   yaml.Value[string]
}

// given reports whether the spec names a model here, in either form.
func (m *modelSpec) given() bool { return m.at != nil || m.name.Given() }

// fields returns the keys of a model that is written as a mapping.
func (m *modelSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "provider", Need: true, Part: yaml.OneOf(&m.provider, string(Script)),
			Doc: "Who answers. This version has one provider, script: an offline model that plays a script."},
		{Key: "script", Need: true, Part: yaml.Text(&m.script),
			Doc: "The script's path, relative to the spec."},
		{Key: "model", Part: yaml.Later("it belongs to providers other than script"),
			Doc: "The provider's name for the model."},
		{Key: "base_url", Part: yaml.Later("it belongs to providers other than script"),
			Doc: "The URL of the provider's API."},
	}
}

// modelPart decodes a model. If the provider is one of a later version, it ignores the rest
// of the mapping, because one message is enough.
func modelPart(m *modelSpec) yaml.Part {
	return yaml.Shared("model", yaml.UnlessLater(
		yaml.Either(yaml.Text(&m.name), yaml.Object(&m.at, m.fields()),
			"a model's name, or a mapping such as {provider: script, script: FILE}"),
		"provider", otherProviders(), "write provider: script with a script, the offline model"))
}

// otherProviders returns the providers of later versions.
func otherProviders() []string { return []string{"anthropic", "openai", "google", "gemini", "ollama"} }
