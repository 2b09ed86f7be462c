package configs

import (
	"cmp"

	"github.com/coveyteam/covey/configs/yaml"
)

// leadSpec is the lead: a member that may set its name.
type leadSpec struct {
	memberSpec
	name yaml.Value[string]
}

// leadPart decodes the lead. A teammate's name is its key; the lead has a key for its name.
func leadPart(l *leadSpec) yaml.Part {
	name := yaml.Field{Key: "name", Part: yaml.Ident(&l.name), Doc: "The lead's name. Default: lead."}
	return yaml.Either(yaml.Text(&l.agent), yaml.Object(&l.at, append([]yaml.Field{name}, l.fields()...)), wantMember)
}

// reserved returns what a name already means on the command line and in mail, or "".
func reserved(name string) string {
	switch name {
	case "covey":
		return "covey itself"
	case "operator":
		return "the person at the command line"
	case Person:
		return "whoever answers the inbox"
	}
	return ""
}

// lead resolves the lead. By default it does not claim tasks, because a lead that works
// cannot answer the others.
func (r *resolver) lead(s *teamSpec) Member {
	own := &s.lead.memberSpec
	m := r.member(inherit(&s.defaults, own), false)
	m.Name = s.lead.name.Or("lead")
	m.Role = cmp.Or(m.Role, m.Agent.Name, m.Name)
	if s.lead.name.Given() {
		r.checkMemberName(s.lead.name.At)
	}
	if at := orElse(own.at, own.agent.At); at != nil {
		r.needAgent(s, own, at)
	}
	return m
}

// maxTeammates is how many teammates a spec may have.
const maxTeammates = 2000

// allTeammates resolves the teammates in file order.
func (r *resolver) allTeammates(s *teamSpec, lead string) []Member {
	if len(s.teammates) > maxTeammates {
		r.Fail(s.teammates[maxTeammates].Name.At, "more than %d teammates; split the team", maxTeammates)
		return nil
	}
	var out []Member
	for _, e := range s.teammates {
		m := r.member(inherit(&s.defaults, &e.V), true)
		m.Name = e.Name.Text
		m.Role = cmp.Or(m.Role, m.Agent.Name, m.Name)
		r.checkMemberName(e.Name)
		if m.Name == lead && lead != "" {
			r.Fail(e.Name.At, "the lead is called %s too; give one of them another name", yaml.Quote(m.Name))
		}
		if e.V.at != nil {
			r.needAgent(s, &e.V, e.Name)
		}
		out = append(out, m)
	}
	return out
}

// needAgent reports a member that has neither an agent nor a model.
func (r *resolver) needAgent(s *teamSpec, own *memberSpec, at *yaml.Node) {
	if m := inherit(&s.defaults, own); m.agent.Given() || m.model.given() {
		return
	}
	if own.at != nil {
		for _, p := range own.at.Pairs {
			if r.Nearest(p.Key.Text, []string{"agent", "model"}) != "" {
				return // a misspelled key, which the decoder has reported
			}
		}
	}
	r.Fail(at.At, "this member has no agent; add agent: NAME or model: NAME, or one of them under defaults")
}

// checkMemberName refuses reserved names. The decoder has checked their form.
func (r *resolver) checkMemberName(name *yaml.Node) {
	if who := reserved(name.Text); who != "" {
		r.Fail(name.At, "no member can be called %s, which means %s; choose another name",
			yaml.Quote(name.Text), who)
	}
}
