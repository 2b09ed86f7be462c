package configs

import (
	"cmp"
	"slices"

	"github.com/coveyteam/covey/configs/schema"
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

// needAgent reports a member that nothing thinks for.
func (r *resolver) needAgent(s *teamSpec, own *memberSpec, at *yaml.Node) {
	if m := inherit(&s.defaults, own); m.agent.Given() || m.model.given() {
		return
	}
	if own.at != nil {
		for _, p := range own.at.Pairs {
			if r.Nearest(p.Key.Text, []string{"agent", "model"}) != "" {
				return // a slip of the pen, which decoding has reported
			}
		}
	}
	r.Fail(at.At, "this member has no agent; add agent: NAME or model: NAME, or one of them under defaults")
}

// checkMemberName refuses names that mean somebody else. Their form has been
// checked by decoding.
func (r *resolver) checkMemberName(name *yaml.Node) {
	if who := reserved(name.Text); who != "" {
		r.Fail(name.At, "no member can be called %s, which means %s; choose another name",
			yaml.Quote(name.Text), who)
	}
}

// inherit returns own with what it does not say taken from defaults. Agent and
// model are one choice, and so are instructions and prompt file.
func inherit(defaults, own *memberSpec) *memberSpec {
	m := *own
	if !own.agent.Given() && !own.model.given() {
		m.agent, m.model = defaults.agent, defaults.model
	}
	if !own.instructions.Given() && !own.promptFile.Given() {
		m.instructions, m.promptFile = defaults.instructions, defaults.promptFile
	}
	m.description = first(own.description, defaults.description)
	m.mode = first(own.mode, defaults.mode)
	m.isolation = first(own.isolation, defaults.isolation)
	m.selfClaim = first(own.selfClaim, defaults.selfClaim)
	m.inheritTeamwork(defaults)
	if !own.tools.Given() {
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
	if !m.owns.Given() {
		m.owns = defaults.owns
	}
	if !m.labels.Given() {
		m.labels = defaults.labels
	}
	if m.restart.at == nil {
		m.restart = defaults.restart
	}
}

// first returns the first value that the spec gives.
func first[T any](own, inherited schema.Value[T]) schema.Value[T] {
	if own.Given() {
		return own
	}
	return inherited
}

// join puts inherited and own entries into one list, the inherited first. It
// copies only if both have some: many members share what they inherit.
func join[T any](a, b schema.List[T]) schema.List[T] {
	if len(b.Items) == 0 {
		return schema.List[T]{Items: a.Items, At: orElse(a.At, b.At)}
	}
	return schema.List[T]{Items: append(slices.Clone(a.Items), b.Items...), At: orElse(a.At, b.At)}
}

// member resolves all of a member but its name. Every default of DESIGN 4
// that is a member's stands here.
func (r *resolver) member(m *memberSpec, selfClaim bool) Member {
	out := Member{
		Description:    m.description.V,
		Instructions:   m.instructions.V,
		Tools:          schema.Words(m.tools),
		PermissionMode: PermissionMode(m.mode.Or(string(Default))),
		Permissions:    permissions(m.permissions),
		Isolation:      Isolation(m.isolation.V),
		SelfClaim:      m.selfClaim.Or(selfClaim),
		Limits: Limits{
			MaxTurns:      int(m.limits.maxTurns.V),
			MaxTokens:     m.limits.maxTokens.V,
			TurnTimeout:   m.limits.turnTimeout.V,
			MaxInProgress: int(m.limits.maxInProgress.Or(defaultMaxInProgress)),
			StopBlockCap:  int(m.limits.stopBlockCap.Or(defaultStopBlockCap)),
			MaxBudgetUSD:  m.limits.maxBudgetUSD.V,
		},
		Owns:         schema.Words(m.owns),
		PlanRequired: m.plan.V == planRequired,
		DependsOn:    schema.Words(m.dependsOn),
		Restart:      r.restart(&m.restart),
		Role:         m.role.V,
		Labels:       schema.Words(m.labels),
	}
	out.Agent, _ = r.agent(m)
	checkTools(r.Decoder, m.tools, out.Agent.foreign())
	if m.instructions.Given() && m.promptFile.Given() {
		r.Fail(m.promptFile.At.At, "a member has instructions or a prompt_file, not both; remove one")
	} else if m.promptFile.Given() {
		r.promptFile(&out, m.promptFile)
	}
	return out
}
