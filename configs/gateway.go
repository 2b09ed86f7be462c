package configs

import (
	"slices"

	"github.com/coveyteam/covey/configs/yaml"
)

// Gateway describes how the programs of a member reach their models. Its zero value is that of a spec
// without the key: by themselves.
type Gateway struct {
	On          bool        // through covey
	Models      []ModelList // each has the models that may be asked
	PassesLogin bool        // a program that logs in by itself may pass, too
}

// ModelList is a list of models that may be asked: that of the spec, or that of a policy.
type ModelList struct {
	Patterns []string // such as anthropic/claude-*; those of the spec may leave the provider out
	Policy   string   // where it stands, as FILE:LINE; empty: in the spec
}

// The value of gateway.login by which logins pass.
const passLogin = "pass"

// gatewaySpec is the key `gateway` of a team or a member.
type gatewaySpec struct {
	on     yaml.Value[bool]
	at     *yaml.Node // of a mapping
	models yaml.List[yaml.Value[string]]
	login  yaml.Value[string]
}

// gatewayPart decodes the key.
func gatewayPart(g *gatewaySpec) yaml.Part {
	return yaml.Either(yaml.OnOff(&g.on), yaml.Object(&g.at, []yaml.Field{
		{Key: "models", Part: yaml.Texts(&g.models),
			Doc: "Patterns of the models that may be asked, such as `anthropic/claude-sonnet-*`. Default: all."},
		{Key: "login", Part: yaml.OneOf(&g.login, passLogin),
			Doc: "pass: a program that logs in by itself may pass. Default: it needs a key."},
	}), "on, off, or a mapping such as {models: [anthropic/claude-sonnet-*]}")
}

// gateway resolves the key. What it does not give is as in base.
func (g *gatewaySpec) gateway(base Gateway) Gateway {
	out := base
	switch {
	case g.on.Given():
		out.On = g.on.V
	case g.at != nil:
		out.On = true
	}
	if g.models.Given() {
		out.Models = nil
		if patterns := yaml.Words(g.models); len(patterns) > 0 {
			out.Models = []ModelList{{Patterns: patterns}}
		}
	}
	out.PassesLogin = base.PassesLogin || g.login.V == passLogin
	return out
}

// Equal reports whether two are the same.
func (g Gateway) Equal(other Gateway) bool {
	return g.On == other.On && g.PassesLogin == other.PassesLogin && slices.EqualFunc(g.Models, other.Models, func(a, b ModelList) bool {
		return a.Policy == b.Policy && slices.Equal(a.Patterns, b.Patterns)
	})
}
