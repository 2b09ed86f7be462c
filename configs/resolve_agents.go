package configs

import (
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// allModels resolves the section `models`.
func (r *resolver) allModels(specs []entry[modelSpec]) map[string]Model {
	r.models = map[string]Model{}
	for _, e := range specs {
		// A model that is wrong is still there: members that name it have made
		// no mistake.
		r.models[e.name.Text] = Model{Name: e.name.Text}
	}
	for _, e := range specs {
		if e.v.name.given() {
			r.aliasModel(e.v.name)
			continue
		}
		m := r.inlineModel(&e.v)
		m.Name = e.name.Text
		r.models[m.Name] = m
	}
	return r.models
}

// aliasModel reports a text in the section `models`, where it can only be one
// of PROVIDER/MODEL.
func (r *resolver) aliasModel(name value[string]) {
	if strings.Contains(name.v, "/") {
		r.modelText(name)
	} else if name.v != "" {
		r.fail(name.at.At, "under models, text such as %s must be PROVIDER/MODEL; "+
			"write {provider: script, script: FILE}", yaml.Quote(name.v))
	}
}

// model resolves a model wherever one is wanted.
func (r *resolver) model(m *modelSpec) Model {
	if !m.name.given() {
		return r.inlineModel(m)
	}
	if known, ok := r.models[m.name.v]; ok || m.name.v == "" {
		return known
	}
	r.modelText(m.name)
	return Model{}
}

// modelText reports a text that names no model.
func (r *resolver) modelText(name value[string]) {
	if strings.Contains(name.v, "/") {
		r.notYet(name.at.At, "model "+yaml.Quote(name.v),
			"write {provider: script, script: FILE}, the offline model")
		return
	}
	if near := r.nearest(name.v, sortedKeys(r.models)); near != "" {
		r.fail(name.at.At, "there is no model %s; write %s", yaml.Quote(name.v), near)
		return
	}
	r.fail(name.at.At, "there is no model %s; add it under models", yaml.Quote(name.v))
}

// inlineModel resolves a model that is written out.
func (r *resolver) inlineModel(m *modelSpec) Model {
	// Decoding has refused whatever is not a whole script model.
	return Model{Provider: Script, Script: r.path(m.script, "script")}
}

// allAgents resolves the section `agents`.
func (r *resolver) allAgents(specs []entry[agentSpec]) map[string]Agent {
	r.agents = map[string]Agent{}
	for i := range specs {
		e := &specs[i]
		switch {
		case e.v.at == nil || e.v.use.given() && e.v.use.v == "":
			r.agents[e.name.Text] = Agent{} // refused, but members may name it
			if e.v.model.given() {
				r.model(&e.v.model)
			}
		case e.v.use.or(string(Builtin)) == string(Builtin):
			r.agents[e.name.Text] = r.builtinAgent(e)
		default:
			r.agents[e.name.Text] = r.programAgent(e)
		}
	}
	r.fallbacks(specs)
	return r.agents
}

// agent resolves what thinks for a member. Without an agent and a model it
// returns false.
func (r *resolver) agent(m *memberSpec) (Agent, bool) {
	switch {
	case m.agent.given() && m.model.given():
		r.fail(m.agent.at.At, "a member has an agent or a model, not both; "+
			"remove model, or give the model to the agent")
		return Agent{}, true
	case m.model.given():
		return Agent{Kind: Builtin, Model: r.model(&m.model)}, true
	case m.agent.given():
		return r.namedAgent(m.agent), true
	}
	return Agent{}, false
}

// namedAgent looks a name up under agents first, so that a spec may use a
// preset's name, or that of a given agent, for an agent of its own.
func (r *resolver) namedAgent(name value[string]) Agent {
	if a, ok := r.agents[name.v]; ok || name.v == "" {
		return a
	}
	if slices.Contains(r.opts.Given, name.v) {
		return Agent{Name: name.v, Kind: Given}
	}
	if isPreset(name.v) {
		return Agent{Name: name.v, Kind: ACP, Preset: Preset(name.v), Auth: Login}
	}
	_, isModel := r.models[name.v]
	near := r.nearest(name.v, slices.Concat(sortedKeys(r.agents), r.opts.Given, presetNames()))
	switch {
	case isModel:
		r.fail(name.at.At, "%s is a model, not an agent; write {model: %s}", yaml.Quote(name.v), name.v)
	case near != "":
		r.fail(name.at.At, "there is no agent %s; write %s", yaml.Quote(name.v), near)
	default:
		r.fail(name.at.At, "there is no agent %s; add it under agents, or write {model: NAME}", yaml.Quote(name.v))
	}
	return Agent{}
}

// sortedKeys makes what is said about a map the same every time.
func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
