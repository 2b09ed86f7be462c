package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// leadSpec is the lead: a member that may set its name.
type leadSpec struct {
	memberSpec
	name yaml.Value[string]
}

// leadPart decodes the lead. A teammate's name is its key; the lead has a key for its name.
func leadPart(l *leadSpec, defaults *memberSpec) yaml.Part {
	name := yaml.Field{Key: "name", Part: yaml.Ident(&l.name), Doc: "The lead's name. Default: lead."}
	return l.heir(defaults, yaml.Object(&l.at, append([]yaml.Field{name}, l.fields()...)))
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
	m := r.member(own, false)
	m.Name = s.lead.name.Or("lead")
	m.Role = cmp.Or(m.Role, m.Agent.Name, m.Name)
	if s.lead.name.Given() {
		r.checkMemberName(s.lead.name.At)
	}
	if at := orElse(own.at, own.agent.At); at != nil {
		r.needAgent(own, at)
	}
	return m
}

// maxTeammates is how many teammates a spec may have.
const maxTeammates = 10_000

// Template describes teammates that the lead may add while the team works. Its Name is the
// template's, which no member has.
type Template struct {
	Member
	Max int // how many of its members the team may have at once
}

// templatePart decodes a template.
func templatePart(m, defaults *memberSpec) yaml.Part {
	most := yaml.Field{Key: "max", Need: true, Part: yaml.WholeFrom(1, maxTeammates)(&m.max),
		Doc: "How many of them the team may have."}
	return yaml.Shared("template", m.inheriting(defaults, yaml.Object(&m.at, append(m.fields(), most))))
}

// addable returns the entries of all that may become a teammate: the teammates, and then the
// templates.
func (s *teamSpec) addable() []yaml.Entry[memberSpec] { return slices.Concat(s.teammates, s.templates) }

// splitTemplates makes the last of the teammates, which are of these entries, the templates.
func (t *Team) splitTemplates(entries []yaml.Entry[memberSpec]) {
	first := max(len(t.Teammates)-len(entries), 0) // there are none if there were too many
	for i, m := range t.Teammates[first:] {
		t.Templates = append(t.Templates, Template{Member: m, Max: entries[i].V.max.V})
		t.Lead.Spawns = append(t.Lead.Spawns, m.Name)
	}
	t.Teammates = slices.Clip(t.Teammates[:first])
}

// allTeammates resolves the teammates in file order, and then the templates. An entry with a
// count is resolved once and stands for NAME-1 to NAME-count.
func (r *resolver) allTeammates(s *teamSpec, lead string) []Member {
	var out []Member
	taken := map[string]bool{}
	room := maxTeammates
	for _, e := range s.addable() {
		if room -= e.V.count.Or(e.V.max.Or(1)); room < 0 {
			r.Fail(e.Name.At, "more than %d teammates; split the team", maxTeammates)
			return nil
		}
		names := e.V.names(e.Name.Text)
		if last := len(names) - 1; e.V.count.V > 0 && len(names[last]) > 32 { // yaml.NamePattern
			r.Fail(e.Name.At, "with this count, a member would be called %s, which is longer than 32; shorten the name",
				yaml.Quote(names[last]))
		}
		m := r.member(&e.V, true)
		r.checkMemberName(e.Name)
		if e.V.at != nil {
			r.needAgent(&e.V, e.Name)
		}
		for _, name := range names {
			one := m
			one.Name = name
			one.Role = cmp.Or(m.Role, m.Agent.Name, e.Name.Text)
			switch {
			case name == lead && lead != "":
				r.Fail(e.Name.At, "the lead is called %s too; give one of them another name", yaml.Quote(name))
			case taken[name]:
				r.Fail(e.Name.At, "another teammate is called %s too; give one of them another name", yaml.Quote(name))
			}
			taken[name] = true
			out = append(out, one)
		}
	}
	return slices.Clone(out) // without room to grow, because a member is large and the team keeps it
}

// names returns the names of the members that a teammate's entry stands for.
func (m *memberSpec) names(name string) []string {
	if !m.count.Given() {
		return []string{name}
	}
	all := make([]string, m.count.V)
	for i := range all {
		all[i] = name + "-" + strconv.Itoa(i+1)
	}
	return all
}

// needAgent reports a member that has neither an agent nor a model.
func (r *resolver) needAgent(m *memberSpec, at *yaml.Node) {
	if m.agent.Given() || m.model.given() {
		return
	}
	if m.at != nil {
		for _, p := range m.at.Pairs {
			if r.Nearest(p.Key.Text, []string{"agent", "model"}) != "" {
				return // a misspelled key, which the decoder has reported
			}
		}
	}
	r.Fail(at.At, "this member has no agent; add agent: NAME or model: NAME, or one of them under defaults")
}

// checkMemberName refuses reserved names. The decoder has checked their form.
func (r *resolver) checkMemberName(name *yaml.Node) {
	if err := CheckName(name.Text); err != nil && reserved(name.Text) != "" {
		r.Fail(name.At, "%v", err)
	}
}

// CheckName returns an error for a name that no member can have.
func CheckName(name string) error {
	if who := reserved(name); who != "" {
		return fmt.Errorf("no member can be called %s, which means %s; choose another name", yaml.Quote(name), who)
	}
	if fault := yaml.NameFault(name); fault != "" {
		return fmt.Errorf("no member can be called %s: %s", yaml.Quote(name), fault)
	}
	return nil
}

// dependencies checks which members wait for which. depends_on of defaults applies to
// teammates, without a teammate's own name.
//
// own has the lead first and then the teammates and templates, as t has; members of one entry with a
// count share its list. A teammate may be missing from t if its part of the spec was refused,
// hence the bounds checks.
func (r *resolver) dependencies(t *Team, s *teamSpec) {
	names, entries := t.MemberNames(), s.addable()
	known := yaml.NewNameSet("member", names[:max(len(names)-len(s.templates), 1)]) // nobody is called as a template
	own := []*yaml.List[yaml.Value[string]]{&s.lead.dependsOn}
	for i := range entries {
		for range entries[i].V.names("") {
			own = append(own, &entries[i].V.dependsOn)
		}
	}
	known.Check(r.Decoder, s.defaults.dependsOn.At)
	for i, l := range own {
		if i == 0 || l != own[i-1] {
			known.Check(r.Decoder, l.At)
		}
		for _, name := range l.Items {
			if name.V != "" && i < len(names) && name.V == names[i] {
				r.Fail(name.At.At, "%s cannot wait for itself; remove it here", yaml.Quote(name.V))
			}
		}
		// defaults apply to teammates only: they get their work from the lead.
		if i == 0 || i > len(t.Teammates) {
			continue
		}
		m := &t.Teammates[i-1]
		if !l.Given() {
			m.DependsOn = slices.DeleteFunc(yaml.Words(s.defaults.dependsOn), func(n string) bool { return n == m.Name })
		}
	}
	r.memberCycles(t.Members(), own)
}

// memberCycles reports members that wait for each other, each cycle once. The position is
// the depends_on of the first member of the cycle, or the top of the spec if the key comes
// from defaults.
func (r *resolver) memberCycles(members []Member, own []*yaml.List[yaml.Value[string]]) {
	index, names := make(map[string]int, len(members)), make([]string, len(members))
	for i, m := range members {
		index[m.Name], names[i] = i, m.Name
	}
	dependencies := func(name string) []string {
		if i, ok := index[name]; ok {
			return members[i].DependsOn
		}
		return nil
	}
	yaml.FindCycles(names, dependencies, func(path []string) {
		i := index[path[0]]
		if len(path) == 1 || i >= len(own) { // a member that waits for itself has been reported
			return
		}
		at := r.Root.At
		if own[i].At != nil {
			at = own[i].At.At
		}
		r.Fail(at, "these members wait for each other: %s -> %s; remove one depends_on of them",
			strings.Join(path, " -> "), path[0])
	})
}
