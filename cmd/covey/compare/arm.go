package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs"
)

// The arms that a spec has. Each can be followed by what it goes without.
const (
	Lead = "lead" // the lead alone, in the workspace
	Team = "team"
)

// without lists what arms can go without, as in team-without-gates.
var without = map[string]func(*configs.Team){
	"-without-gates": func(t *configs.Team) { t.Gates, t.Merge.Gates = nil, nil },
	"-without-hooks": func(t *configs.Team) { t.Hooks, t.Settings, t.Plugins = nil, nil, nil },
}

// CheckArm returns an error unless there is such an arm.
func CheckArm(arm string) error {
	base, _ := parts(arm)
	if base != Lead && base != Team {
		return fmt.Errorf("there is no arm %q; write lead or team, each also with -without-gates or -without-hooks", arm)
	}
	return nil
}

// parts splits the name of an arm.
func parts(arm string) (base string, less []string) {
	for {
		i := strings.LastIndex(arm, "-without-")
		if i < 0 || without[arm[i:]] == nil {
			return arm, less
		}
		arm, less = arm[:i], append(less, arm[i:])
	}
}

// Of returns the team of an arm, which works in a workspace. Its finished work is merged there unasked,
// because that is what is judged, and it ends when its work is done.
func Of(team *configs.Team, arm, workspace string) *configs.Team {
	t := *team
	t.Teammates, t.Templates, t.Tasks = slices.Clone(t.Teammates), slices.Clone(t.Templates), slices.Clone(t.Tasks)
	t.Workspace, t.Keep, t.Schedules, t.Notify, t.Web = workspace, false, nil, nil, configs.Web{}
	t.Merge.Given, t.Merge.Via, t.Merge.Into = true, configs.ViaBranch, ""
	base, less := parts(arm)
	if base == Lead {
		t.Teammates, t.Templates = nil, nil
		t.Lead.Isolation = configs.Shared
		for i := range t.Tasks {
			t.Tasks[i].Owner = t.Lead.Name
		}
	}
	for _, what := range less {
		without[what](&t)
	}
	return &t
}

// Within returns a budget that is in no part above another one. Zero is no limit.
func Within(b, most configs.Budget) configs.Budget {
	b.Tokens, b.USD, b.Time = least(b.Tokens, most.Tokens), least(b.USD, most.USD), least(b.Time, most.Time)
	return b
}

// least returns the lower of two limits.
func least[T int64 | float64 | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
