package configs

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
)

// PolicyFormat is the version of the format of policies that this package reads.
const PolicyFormat = 1

// Policy is a policy that a spec extends, directly or through another policy: what it allows is the
// most that the spec and its members can have. What it demands is already in the Team, save for its
// hooks.
type Policy struct {
	PolicyRef
	Version int  // of its content; 0 if it has none
	Managed bool // this machine demands it, whatever the spec extends
	// Hooks are its hooks, which nothing in a workspace can disable.
	Hooks hooks.Settings
	// AgentVersions has the least version that the program of an agent may have, by the agent's name in Agents.
	AgentVersions map[string]string
}

// policySpec is a whole policy.
type policySpec struct {
	format      yaml.Value[int64]
	version     yaml.Value[int]
	extends     yaml.Value[string]
	agents      yaml.List[yaml.Value[string]]
	models      yaml.List[yaml.Value[string]]
	modes       yaml.List[yaml.Value[PermissionMode]]
	permissions permissionSpec
	hooks       hookSection
	gates       gatesSpec
	protect     yaml.List[yaml.Value[string]]
	sandbox     yaml.Value[sandbox.Want]
	budget      budgetSpec
	limits      Limits
	limitsAt    *yaml.Node
	closed      yaml.Value[bool]
}

// fields returns the keys of a policy. Most are those of a spec, with the same meaning.
func (s *policySpec) fields() []yaml.Field {
	without := func(fields []yaml.Field, keys ...string) []yaml.Field {
		return slices.DeleteFunc(fields, func(f yaml.Field) bool { return slices.Contains(keys, f.Key) })
	}
	mode := func(v *yaml.Value[PermissionMode]) yaml.Part {
		return yaml.OneOf(v, Default, Plan, AcceptEdits, DontAsk, BypassPermissions)
	}
	return []yaml.Field{
		{Key: "covey-policy", Need: true, Part: versionPart{&s.format, "covey-policy", PolicyFormat},
			Doc: "Version of this format."},
		{Key: "version", Part: yaml.WholeFrom(1, 1<<30)(&s.version),
			Doc: "Version of the content. A machine that has used a version refuses older ones."},
		{Key: "extends", Part: yaml.Text(&s.extends),
			Doc: "A policy that this one may only tighten: PATH@sha256:DIGEST or URL@sha256:DIGEST."},
		{Key: "agents", Part: yaml.Texts(&s.agents),
			Doc: "The agents that members may have: builtin, the programs that covey knows, acp and command for others. " +
				"`claude>=0.100` also sets the least version of the program. Default: all."},
		{Key: "models", Part: yaml.Texts(&s.models),
			Doc: "The models that members may use, as PROVIDER/MODEL; `*` stands for any text. Agent programs need the gateway, then. Default: all."},
		{Key: "permission_modes", Part: yaml.ListOf(&s.modes, "a list of permission modes", mode),
			Doc: "The permission modes that members may have. Default: all."},
		{Key: "permissions", Part: yaml.Object(nil, without(s.permissions.fields(), "allow")),
			Doc: "Permission rules of all members, in addition to their own."},
		{Key: "gates", Part: yaml.Object(nil, without(s.gates.fields(), "at_once", "sandbox")),
			Doc: "Gates, in addition to those of the spec. Relative paths are the workspace's."},
		{Key: "hooks", Part: yaml.Shared("hooks", hooksPart{&s.hooks}),
			Doc: "Hooks, in addition to those of the spec. Nothing in a workspace disables them."},
		{Key: "fail_closed", Part: yaml.Truth(&s.closed),
			Doc: "true: hooks that fail refuse, as gates do."},
		{Key: "protect", Part: yaml.Globs(&s.protect),
			Doc: "Globs of files whose changes need a person's approval, in addition to those of the spec."},
		{Key: "sandbox", Part: yaml.Object(nil, []yaml.Field{
			{Key: "level", Need: true, Part: levelPart(&s.sandbox), Doc: "The least level, as in the section sandbox of a spec."},
		}), Doc: "The boxes that members and gates have at least."},
		{Key: "budget", Part: yaml.Object(&s.budget.at, append(without(s.budget.fields(), "on_limit", "prices"), yaml.Field{
			Key: "prices", Part: yaml.Text(&s.budget.prices),
			Doc: "A file of prices, as PATH@sha256:DIGEST or URL@sha256:DIGEST. They override those that covey knows.",
		})), Doc: "The most that a team may use. Where a policy bounds dollars, no price of a spec counts."},
		{Key: "limits", Part: yaml.Object(&s.limitsAt, s.limits.fields()),
			Doc: "The highest limits that a member may have."},
	}
}

// policyForm is the form of a policy's file.
func policyForm() yaml.Form {
	return yaml.Form{
		Name: "policy", MaxSize: yaml.MaxSize, MaxKeys: 10_000, MaxDepth: 32,
		IfEmpty: "write covey-policy: 1 and what teams must keep to", IfLarge: "split it into policies that extend each other",
		InsteadOfMerge: "write the keys out",
	}
}

// maxPolicies bounds how many policies extend each other.
const maxPolicies = 8

// policy is a policy with its nodes.
type policy struct {
	*yaml.Decoder
	policySpec
	ref     PolicyRef
	managed bool
}

// line names the line of a node, for messages about other files.
func (p *policy) line(at *yaml.Node) string { return fmt.Sprintf("%s:%d", p.ref.base(), at.At.Line) }

// policies reads the policy that a spec extends, and those that this one extends: the one that the spec
// names is the first. ok is false if one of them has mistakes or cannot be read.
func (r *resolver) policies(extends yaml.Value[string]) (list []*policy, ok bool) {
	d, dir, of := r.Decoder, r.Dir, extends
	for of.V != "" {
		ref, err := parsePolicyRef(of.V, dir)
		var data []byte
		if err == nil {
			data, err = ref.Read()
		}
		if err == nil && len(list) == maxPolicies {
			err = fmt.Errorf("more than %d policies extend each other; join some of them", maxPolicies)
		}
		if err != nil {
			d.Fail(of.At.At, "the policy %s cannot be used: %v", yaml.Quote(of.V), err)
			return list, false
		}
		p := &policy{Decoder: &yaml.Decoder{Document: yaml.ParseAs(policyForm(), ref.Where, data)}, ref: ref}
		if list = append(list, p); p.Root != nil {
			p.Object(nil, p.Root, p.fields())
		}
		if len(p.Problems) > 0 {
			return list, false
		}
		if d, dir, of = p.Decoder, filepath.Dir(ref.Where), p.extends; ref.isURL() {
			dir = ""
		}
	}
	return list, true
}

// keepTo makes a team keep to the policies that its spec extends: what they demand is added, and what
// they do not allow is a mistake of the spec, which names the lines of both. It must run when the rest
// is resolved.
func (r *resolver) keepTo(t *Team, s *teamSpec) {
	r.keepToOne(t, s, s.extends, false)
	for _, extends := range r.managed() {
		r.keepToOne(t, s, extends, true)
	}
}

// keepToOne makes a team keep to one policy and to those that it extends.
func (r *resolver) keepToOne(t *Team, s *teamSpec, extends yaml.Value[string], managed bool) {
	list, ok := r.policies(extends)
	for i, p := range list {
		if i > 0 {
			list[i-1].within(p)
		}
		if p.managed = managed; ok && !slices.ContainsFunc(t.Policies, func(known Policy) bool { return known.SHA256 == p.ref.SHA256 }) {
			x := &extension{r, t, s, p}
			x.members()
			x.models()
			x.budget()
			x.prices()
			x.sandboxes()
			x.demands()
		}
	}
	for _, p := range list {
		r.Problems, r.Warnings = append(r.Problems, p.Problems...), append(r.Warnings, p.Warnings...)
	}
}

// managed returns the policies of this machine as a spec would name them.
func (r *resolver) managed() (list []yaml.Value[string]) {
	refs, err := ManagedPolicies(r.opts.Managed)
	if err != nil {
		r.Fail(r.Root.At, "%v", err)
	}
	for _, ref := range refs {
		list = append(list, yaml.Value[string]{V: ref.String(), At: r.Root})
	}
	return list
}

// extension is what one policy means for one spec.
type extension struct {
	*resolver
	team *Team
	spec *teamSpec
	p    *policy
}

// refuse reports a value of the spec that the policy does not allow. by is where the policy says so.
func (x *extension) refuse(at, by *yaml.Node, format string, args ...any) {
	var allowed []string
	for n := range by.Texts() {
		allowed = append(allowed, n.Text)
	}
	x.Fail(orElse(at, x.Root).At, "%s, and the policy allows only %s (%s)", fmt.Sprintf(format, args...),
		cmp.Or(strings.Join(allowed, ", "), "none"), x.p.line(by))
}

// members makes the members keep to the policy.
func (x *extension) members() {
	specs := x.spec.memberSpecs(x.team.Lead.Name)
	added := permissions(x.p.permissions)
	for m := range x.team.EachAndTemplates() {
		own := specs[m.Name]
		if own == nil { // its part of the spec was refused
			own = &memberSpec{}
		}
		for _, list := range []struct{ to, from *[]string }{
			{&m.Permissions.Ask, &added.Ask}, {&m.Permissions.Deny, &added.Deny}, {&m.Permissions.Mandatory, &added.Mandatory},
			{&m.Permissions.Held, &added.Ask}, {&m.Permissions.Held, &added.Deny},
		} {
			*list.to = append(slices.Clip(*list.to), *list.from...)
		}
		m.Modes = both(m.Modes, x.p.modes)
		place := orElse(own.at, own.agent.At)
		for _, key := range m.Limits.tighten(x.p.limits) {
			given := own.at.Lookup("limits").Lookup(key)
			x.over(key, orElse(given, x.spec.defaults.at.Lookup("limits").Lookup(key)), x.p.limitsAt.Lookup(key))
		}
		if x.p.modes.Given() && !slices.ContainsFunc(x.p.modes.Items, func(v yaml.Value[PermissionMode]) bool { return v.V == m.PermissionMode }) {
			x.refuse(orElse(own.mode.At, place), x.p.modes.At, "%s has the permission mode %s", m.Name, m.PermissionMode)
		}
		for _, a := range x.team.AgentsOf(*m) {
			if word := a.word(); x.p.agents.Given() && !slices.ContainsFunc(x.p.agents.Items, func(v yaml.Value[string]) bool {
				name, _, _ := strings.Cut(v.V, ">=")
				return name == word
			}) {
				x.refuse(orElse(own.agent.At, place), x.p.agents.At, "%s has the agent %s", m.Name, cmp.Or(a.Name, word))
			}
			x.model(orElse(own.model.place(), orElse(own.agent.At, place)), a.Model)
		}
		x.gateway(m, own)
	}
}

// memberSpecs returns the parts of a spec that describe members, by their names.
func (s *teamSpec) memberSpecs(lead string) map[string]*memberSpec {
	specs := map[string]*memberSpec{lead: &s.lead.memberSpec}
	all := s.addable() // once, because it makes a new list of large values
	for i := range all {
		e := &all[i]
		for _, name := range e.V.names(e.Name.Text) {
			specs[name] = &e.V
		}
	}
	return specs
}

// both returns the modes that two policies allow. nil stands for all.
func both(allowed []PermissionMode, more yaml.List[yaml.Value[PermissionMode]]) []PermissionMode {
	if !more.Given() {
		return allowed
	}
	list := []PermissionMode{}
	for _, v := range more.Items {
		if allowed == nil || slices.Contains(allowed, v.V) {
			list = append(list, v.V)
		}
	}
	return list
}

// word returns what the agents of a policy call an agent.
func (a Agent) word() string { return cmp.Or(string(a.Preset), string(a.Kind)) }

// models makes the section `models` keep to the policy, because hooks may use those that no member has.
func (x *extension) models() {
	for _, e := range x.spec.models {
		x.model(e.Name, x.team.Models[e.Name.Text])
	}
}

// model reports a model that the policy does not allow. Scripts and recordings are no models of a host.
func (x *extension) model(at *yaml.Node, m Model) {
	if m.BaseURL == "" || m.Recording != "" || !x.p.models.Given() ||
		slices.ContainsFunc(x.p.models.Items, func(v yaml.Value[string]) bool { return texts.Wild(v.V, m.FullName()) }) {
		return
	}
	x.refuse(at, x.p.models.At, "the model is %s", m.FullName())
}

// gateway has the gateway hold a member to the policy's models, because only there covey sees which ones its
// program asks.
func (x *extension) gateway(m *Member, own *memberSpec) {
	if !x.p.models.Given() {
		return
	}
	m.Gateway.Models = append(slices.Clip(m.Gateway.Models), ModelList{yaml.Words(x.p.models), x.p.line(x.p.models.At)})
	if m.Gateway.On || !slices.ContainsFunc(x.team.AgentsOf(*m), func(a Agent) bool { return a.foreign() && a.Model.Script == "" }) {
		return
	}
	for _, g := range []*gatewaySpec{&own.gateway, &x.spec.gateway} {
		if g.on.Given() {
			x.refuse(g.on.At, x.p.models.At, "without the gateway the program of %s asks any model", m.Name)
			return
		}
	}
	m.Gateway.On = true
}

// over reports a limit of the spec that is above that of the policy. A limit that the spec does not give
// is that of the policy.
func (x *extension) over(key string, given, most *yaml.Node) {
	if given != nil {
		x.Fail(given.At, "%s is %s, and the policy allows %s at most (%s); write that or less", key, given.Text, most.Text, x.p.line(most))
	}
}

// budget makes the team's budget keep to the policy.
func (x *extension) budget() {
	for _, key := range x.team.Budget.tighten(x.p.budget.Budget) {
		x.over(key, x.spec.work.budget.at.Lookup(key), x.p.budget.at.Lookup(key))
	}
}

// prices makes no price count that the spec sets, if the policy bounds dollars.
func (x *extension) prices() {
	b, own := &x.team.Budget, x.p.budget
	by := orElse(own.prices.At, orElse(own.at.Lookup("usd"), x.p.limitsAt.Lookup("max_budget_usd")))
	if by == nil {
		return
	}
	if b.PricedBy == "" || own.prices.Given() {
		b.PricedBy = x.p.line(by)
	}
	if !own.prices.Given() {
		return
	}
	dir := filepath.Dir(x.p.ref.Where)
	if x.p.ref.isURL() {
		dir = ""
	}
	ref, err := parsePolicyRef(own.prices.V, dir)
	switch {
	case err != nil:
		x.p.Fail(own.prices.At.At, "the prices %s cannot be used: %v", yaml.Quote(own.prices.V), err)
	case b.PolicyPrices != PolicyRef{} && b.PolicyPrices.SHA256 != ref.SHA256:
		x.p.Fail(own.prices.At.At, "another policy names the prices %s; name the same", b.PolicyPrices)
	default:
		b.PolicyPrices = ref
	}
}

// sandboxes gives members and gates the boxes that the policy demands. A level that the spec gives must be
// as strict; one that it does not give is that of the policy.
func (x *extension) sandboxes() {
	for _, given := range x.spec.levels() {
		if given.Given() && weaker(given.V, x.p.sandbox.V) {
			x.failOnce(given.At.At, "the sandbox level is %s, and the policy demands %s at least (%s); write that", given.V, x.p.sandbox.V,
				x.p.line(x.p.sandbox.At))
		}
	}
	raise := func(s *Sandbox) {
		if weaker(s.Level, x.p.sandbox.V) {
			s.Level = x.p.sandbox.V
		}
	}
	for own := range x.team.OwnSandboxes() { // of gates that a policy before this one has added, too
		if own.Level != "" && weaker(own.Level, x.p.sandbox.V) {
			own.Level = x.p.sandbox.V
		}
	}
	raise(&x.team.Sandbox)
	raise(&x.team.GateSandbox)
	for m := range x.team.EachAndTemplates() {
		raise(&m.Sandbox)
	}
}

// levels returns the sandbox levels of a spec, with those of single gates and hooks.
func (s *teamSpec) levels() []yaml.Value[sandbox.Want] {
	list := []yaml.Value[sandbox.Want]{
		s.work.sandbox.level, s.gates.sandbox.level, s.defaults.sandbox.level, s.lead.sandbox.level,
	}
	for _, e := range s.addable() {
		list = append(list, e.V.sandbox.level)
	}
	list = append(list, s.gates.levels()...)
	for _, groups := range s.hooks.groups {
		for _, g := range groups.Items {
			for _, h := range g.hooks.Items {
				list = append(list, h.sandbox.level)
			}
		}
	}
	return list
}

// levels returns the sandbox levels of single gates.
func (g *gatesSpec) levels() (list []yaml.Value[sandbox.Want]) {
	for _, gates := range []yaml.List[gateSpec]{g.task, g.idle, g.stop, g.merge} {
		for _, gate := range gates.Items {
			list = append(list, gate.sandbox.level)
		}
	}
	return list
}

// demands adds what the policy demands of the whole team.
func (x *extension) demands() {
	t, p := x.team, x.p
	if x.spec.closed.Given() && !t.FailClosed && p.closed.V {
		x.Fail(x.spec.closed.At.At, "fail_closed is false, and the policy demands true (%s); remove it", p.line(p.closed.At))
	}
	t.FailClosed = t.FailClosed || p.closed.V
	t.Protect = append(t.Protect, yaml.Words(p.protect)...)
	gates := &gateRules{p.Decoder, x.Workspace}
	gates.places(t, &p.gates)
	for event, groups := range gates.gates(&p.gates) {
		if t.Gates == nil {
			t.Gates = hooks.Settings{}
		}
		t.Gates[event] = append(groups, t.Gates[event]...)
	}
	t.Merge.Gates = append(gates.group(hooks.TaskCompleted, p.gates.merge).Hooks, t.Merge.Gates...)
	gates.gatePrograms(t, &p.gates)
	out := Policy{PolicyRef: p.ref, Managed: p.managed, Version: p.version.V, Hooks: (&hookRules{p.Decoder}).hooks(&p.hooks), AgentVersions: map[string]string{}}
	for _, v := range p.agents.Items {
		name, least, versioned := strings.Cut(v.V, ">=")
		if !slices.Contains(kindWords(), name) {
			p.Fail(v.At.At, "there is no agent %s; write one of %s", yaml.Quote(name), strings.Join(kindWords(), ", "))
		}
		switch {
		case versioned && !slices.Contains(Presets(), name):
			p.Fail(v.At.At, "covey does not know the versions of %s; remove what follows the name", name)
		case versioned && !semver.IsValid("v"+least):
			p.Fail(v.At.At, "%s is no version; write one such as %s>=0.100", yaml.Quote(least), name)
		}
		if versioned {
			out.AgentVersions[name] = least
		}
	}
	t.Policies = append(t.Policies, out)
}

// within reports what a policy allows beyond the one that it extends.
func (p *policy) within(outer *policy) {
	over := func(key string, at, most *yaml.Node) {
		if at != nil {
			p.Fail(at.At, "%s is %s, and the policy that this one extends allows %s at most (%s); write that or less", key, at.Text, most.Text,
				outer.line(most))
		}
	}
	p.listsWithin(outer)
	limits, budget := p.limits, p.budget.Budget
	for _, key := range limits.tighten(outer.limits) {
		over(key, p.limitsAt.Lookup(key), outer.limitsAt.Lookup(key))
	}
	for _, key := range budget.tighten(outer.budget.Budget) {
		over(key, p.budget.at.Lookup(key), outer.budget.at.Lookup(key))
	}
	if p.sandbox.Given() && weaker(p.sandbox.V, outer.sandbox.V) {
		p.Fail(p.sandbox.At.At, "the sandbox level is %s, and the policy that this one extends demands %s at least (%s); write that", p.sandbox.V,
			outer.sandbox.V, outer.line(outer.sandbox.At))
	}
	if p.closed.Given() && !p.closed.V && outer.closed.V {
		p.Fail(p.closed.At.At, "fail_closed is false, and true in the policy that this one extends (%s); remove it", outer.line(outer.closed.At))
	}
}

// listsWithin reports what the lists of a policy allow beyond those of the one that it extends.
func (p *policy) listsWithin(outer *policy) {
	within := func(list, by *yaml.Node, covers func(most, text string) bool) {
		most := slices.Collect(by.Texts())
		for n := range list.Texts() {
			if by != nil && !slices.ContainsFunc(most, func(m *yaml.Node) bool { return covers(m.Text, n.Text) }) {
				p.Fail(n.At, "the policy that this one extends does not allow %s (%s); remove it, or write what is allowed there",
					yaml.Quote(n.Text), outer.line(by))
			}
		}
	}
	within(p.agents.At, outer.agents.At, func(most, agent string) bool {
		name, least, _ := strings.Cut(most, ">=")
		own, version, versioned := strings.Cut(agent, ">=")
		return own == name && (least == "" || versioned && semver.Compare("v"+version, "v"+least) >= 0)
	})
	within(p.models.At, outer.models.At, texts.Wild)
	within(p.modes.At, outer.modes.At, func(most, mode string) bool { return most == mode })
}

// policySources returns the hooks of the policies as layers.
func (t *Team) policySources() (list []settings.Source) {
	for _, p := range t.Policies {
		if len(p.Hooks) > 0 {
			list = append(list, settings.Source{Name: p.Where, Settings: p.Hooks, Managed: true})
		}
	}
	return list
}
