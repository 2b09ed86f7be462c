package configs

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// dependencies checks which members wait for which. depends_on of defaults applies to
// teammates, without a teammate's own name.
//
// own has the lead first and then the teammates, as Members has; members of one entry with a
// count share its list. A teammate may be missing from t if its part of the spec was refused,
// hence the bounds checks.
func (r *resolver) dependencies(t *Team, s *teamSpec) {
	names := t.MemberNames()
	known := yaml.NewNameSet("member", names)
	own := []*yaml.List[yaml.Value[string]]{&s.lead.dependsOn}
	for i := range s.teammates {
		for range s.teammates[i].V.names("") {
			own = append(own, &s.teammates[i].V.dependsOn)
		}
	}
	for _, name := range s.defaults.dependsOn.Items {
		known.Check(r.Decoder, name)
	}
	for i, l := range own {
		for _, name := range l.Items {
			if i == 0 || l != own[i-1] {
				known.Check(r.Decoder, name)
			}
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
