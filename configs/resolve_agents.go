package configs

import (
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
)

// allModels resolves the section `models`.
func (r *resolver) allModels(specs []schema.Entry[modelSpec]) map[string]Model {
	r.models = map[string]Model{}
	for _, e := range specs {
		// A model that is wrong is still there: members that name it have made
		// no mistake.
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

// aliasModel reports a text in the section `models`, where it can only be one
// of PROVIDER/MODEL.
func (r *resolver) aliasModel(name schema.Value[string]) {
	if strings.Contains(name.V, "/") {
		r.modelText(name)
	} else if name.V != "" {
		r.Fail(name.At.At, "under models, text such as %s must be PROVIDER/MODEL; "+
			"write {provider: script, script: FILE}", yaml.Quote(name.V))
	}
}

// model resolves a model wherever one is wanted.
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

// modelText reports a text that names no model.
func (r *resolver) modelText(name schema.Value[string]) {
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

// inlineModel resolves a model that is written out.
func (r *resolver) inlineModel(m *modelSpec) Model {
	// Decoding has refused whatever is not a whole script model.
	return Model{Provider: Script, Script: r.path(m.script, "script")}
}

// allAgents resolves the section `agents`.
func (r *resolver) allAgents(specs []schema.Entry[agentSpec]) map[string]Agent {
	r.agents = map[string]Agent{}
	for i := range specs {
		e := &specs[i]
		switch {
		case e.V.at == nil || e.V.use.Given() && e.V.use.V == "":
			r.agents[e.Name.Text] = Agent{} // refused, but members may name it
			if e.V.model.given() {
				r.model(&e.V.model)
			}
		case e.V.use.Or(string(Builtin)) == string(Builtin):
			r.agents[e.Name.Text] = r.builtinAgent(e)
		default:
			r.agents[e.Name.Text] = r.programAgent(e)
		}
	}
	r.fallbacks(specs)
	return r.agents
}

// agent resolves what thinks for a member. Without an agent and a model it
// returns false.
func (r *resolver) agent(m *memberSpec) (Agent, bool) {
	switch {
	case m.agent.Given() && m.model.given():
		r.Fail(m.agent.At.At, "a member has an agent or a model, not both; "+
			"remove model, or give the model to the agent")
		return Agent{}, true
	case m.model.given():
		return Agent{Kind: Builtin, Model: r.model(&m.model)}, true
	case m.agent.Given():
		return r.namedAgent(m.agent), true
	}
	return Agent{}, false
}

// namedAgent looks a name up under agents first, so that a spec may use a
// preset's name, or that of a given agent, for an agent of its own.
func (r *resolver) namedAgent(name schema.Value[string]) Agent {
	if a, ok := r.agents[name.V]; ok || name.V == "" {
		return a
	}
	if slices.Contains(r.opts.Given, name.V) {
		return Agent{Name: name.V, Kind: Given}
	}
	if isPreset(name.V) {
		return Agent{Name: name.V, Kind: ACP, Preset: Preset(name.V), Auth: Login}
	}
	_, isModel := r.models[name.V]
	near := r.Nearest(name.V, slices.Concat(sortedKeys(r.agents), r.opts.Given, presetNames()))
	switch {
	case isModel:
		r.Fail(name.At.At, "%s is a model, not an agent; write {model: %s}", yaml.Quote(name.V), name.V)
	case near != "":
		r.Fail(name.At.At, "there is no agent %s; write %s", yaml.Quote(name.V), near)
	default:
		r.Fail(name.At.At, "there is no agent %s; add it under agents, or write {model: NAME}", yaml.Quote(name.V))
	}
	return Agent{}
}

// sortedKeys makes what is said about a map the same every time.
func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
