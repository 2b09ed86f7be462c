package configs

import (
	"cmp"
	"slices"

	"github.com/coveyteam/covey/configs/yaml"
)

// defaultStopBlockCap is how many refused turn ends in a row a member gets
// when the spec says nothing (DESIGN 2).
const defaultStopBlockCap = 8

// reserved returns who a name means already, on the command line and in mail,
// or "" if nobody.
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

// lead resolves the lead. It does not claim tasks unless it is told to: a lead
// that works is a lead that nobody can ask.
func (r *resolver) lead(s *teamSpec) Member {
	own := &s.lead.memberSpec
	m := r.member(inherit(&s.defaults, own), false)
	m.Name = s.lead.name.or("lead")
	m.Role = cmp.Or(m.Role, m.Agent.Name, m.Name)
	if s.lead.name.given() {
		r.checkMemberName(s.lead.name.at)
	}
	if at := orElse(own.at, own.agent.at); at != nil {
		r.needAgent(s, own, at)
	}
	return m
}

// maxTeammates is how many teammates a spec may have.
const maxTeammates = 2000

// allTeammates resolves the teammates in file order.
func (r *resolver) allTeammates(s *teamSpec, lead string) []Member {
	if len(s.teammates) > maxTeammates {
		r.fail(s.teammates[maxTeammates].name.At, "more than %d teammates; split the team", maxTeammates)
		return nil
	}
	var out []Member
	for _, e := range s.teammates {
		m := r.member(inherit(&s.defaults, &e.v), true)
		m.Name = e.name.Text
		m.Role = cmp.Or(m.Role, m.Agent.Name, m.Name)
		r.checkMemberName(e.name)
		if m.Name == lead && lead != "" {
			r.fail(e.name.At, "the lead is called %s too; give one of them another name", yaml.Quote(m.Name))
		}
		if e.v.at != nil {
			r.needAgent(s, &e.v, e.name)
		}
		out = append(out, m)
	}
	return out
}

// needAgent reports a member that nothing thinks for.
func (r *resolver) needAgent(s *teamSpec, own *memberSpec, at *yaml.Node) {
	if m := inherit(&s.defaults, own); m.agent.given() || m.model.given() {
		return
	}
	if own.at != nil {
		for _, p := range own.at.Pairs {
			if r.nearest(p.Key.Text, []string{"agent", "model"}) != "" {
				return // a slip of the pen, which decoding has reported
			}
		}
	}
	r.fail(at.At, "this member has no agent; add agent: NAME or model: NAME, or one of them under defaults")
}

// checkMemberName refuses names that mean somebody else. Their form has been
// checked by decoding.
func (r *resolver) checkMemberName(name *yaml.Node) {
	if who := reserved(name.Text); who != "" {
		r.fail(name.At, "no member can be called %s, which means %s; choose another name",
			yaml.Quote(name.Text), who)
	}
}

// inherit returns own with what it does not say taken from defaults. Agent and
// model are one choice, and so are instructions and prompt file.
func inherit(defaults, own *memberSpec) *memberSpec {
	m := *own
	if !own.agent.given() && !own.model.given() {
		m.agent, m.model = defaults.agent, defaults.model
	}
	if !own.instructions.given() && !own.promptFile.given() {
		m.instructions, m.promptFile = defaults.instructions, defaults.promptFile
	}
	m.description = first(own.description, defaults.description)
	m.mode = first(own.mode, defaults.mode)
	m.isolation = first(own.isolation, defaults.isolation)
	m.selfClaim = first(own.selfClaim, defaults.selfClaim)
	m.inheritTeamwork(defaults)
	if !own.tools.given() {
		m.tools = defaults.tools
	}
	// Permission lists add up: a member that denies one thing more must not
	// thereby allow what the team denies.
	m.permissions.allow = join(defaults.permissions.allow, own.permissions.allow)
	m.permissions.ask = join(defaults.permissions.ask, own.permissions.ask)
	m.permissions.deny = join(defaults.permissions.deny, own.permissions.deny)
	m.limits = limitSpec{
		maxTurns:      first(own.limits.maxTurns, defaults.limits.maxTurns),
		maxTokens:     first(own.limits.maxTokens, defaults.limits.maxTokens),
		turnTimeout:   first(own.limits.turnTimeout, defaults.limits.turnTimeout),
		maxInProgress: first(own.limits.maxInProgress, defaults.limits.maxInProgress),
		stopBlockCap:  first(own.limits.stopBlockCap, defaults.limits.stopBlockCap),
		maxBudgetUSD:  first(own.limits.maxBudgetUSD, defaults.limits.maxBudgetUSD),
	}
	return &m
}

// inheritTeamwork fills in what is about the others. Which members one waits for is
// left out: `dependencies` knows who there is.
func (m *memberSpec) inheritTeamwork(defaults *memberSpec) {
	m.role, m.plan = first(m.role, defaults.role), first(m.plan, defaults.plan)
	if !m.owns.given() {
		m.owns = defaults.owns
	}
	if !m.labels.given() {
		m.labels = defaults.labels
	}
	if m.restart.at == nil {
		m.restart = defaults.restart
	}
}

// first returns the first value that the spec gives.
func first[T any](own, inherited value[T]) value[T] {
	if own.given() {
		return own
	}
	return inherited
}

// join puts inherited and own entries into one list, the inherited first. It
// copies only if both have some: many members share what they inherit.
func join[T any](a, b list[T]) list[T] {
	if len(b.items) == 0 {
		return list[T]{items: a.items, at: orElse(a.at, b.at)}
	}
	return list[T]{items: append(slices.Clone(a.items), b.items...), at: orElse(a.at, b.at)}
}

// member resolves all of a member but its name. Every default of DESIGN 4
// that is a member's stands here.
func (r *resolver) member(m *memberSpec, selfClaim bool) Member {
	out := Member{
		Description:    m.description.v,
		Instructions:   m.instructions.v,
		Tools:          words(m.tools),
		PermissionMode: PermissionMode(m.mode.or(string(Default))),
		Permissions:    permissions(m.permissions),
		Isolation:      Isolation(m.isolation.v),
		SelfClaim:      m.selfClaim.or(selfClaim),
		Limits: Limits{
			MaxTurns:      int(m.limits.maxTurns.v),
			MaxTokens:     m.limits.maxTokens.v,
			TurnTimeout:   m.limits.turnTimeout.v,
			MaxInProgress: int(m.limits.maxInProgress.or(defaultMaxInProgress)),
			StopBlockCap:  int(m.limits.stopBlockCap.or(defaultStopBlockCap)),
			MaxBudgetUSD:  m.limits.maxBudgetUSD.v,
		},
		Owns:         words(m.owns),
		PlanRequired: m.plan.v == planRequired,
		DependsOn:    words(m.dependsOn),
		Restart:      r.restart(&m.restart),
		Role:         m.role.v,
		Labels:       words(m.labels),
	}
	out.Agent, _ = r.agent(m)
	checkTools(r.decoder, m.tools, out.Agent.foreign())
	if m.instructions.given() && m.promptFile.given() {
		r.fail(m.promptFile.at.At, "a member has instructions or a prompt_file, not both; remove one")
	} else if m.promptFile.given() {
		r.promptFile(&out, m.promptFile)
	}
	return out
}
