package specs

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
)

// diffTeam returns a team to change.
func diffTeam() *configs.Team {
	coder := configs.Agent{Name: "coder", Kind: configs.Builtin}
	return &configs.Team{
		Name: "crew", Workspace: "/w", Lead: configs.Member{Name: "lead", Agent: coder},
		Teammates: []configs.Member{{Name: "ana", Agent: coder}, {Name: "ben", Agent: coder}},
	}
}

// TestCompareTeams: what another spec changes.
func TestCompareTeams(t *testing.T) {
	tests := map[string]struct {
		edit     func(*configs.Team)
		members  string
		settings string
	}{
		"nothing": {func(*configs.Team) {}, "", ""},
		"a member comes": {func(n *configs.Team) {
			n.Teammates = append(n.Teammates, configs.Member{Name: "cleo"})
		}, "cleo added", ""},
		"a member goes":                  {func(n *configs.Team) { n.Teammates = n.Teammates[:1] }, "ben retired", ""},
		"one takes the place of another": {func(n *configs.Team) { n.Teammates[0].Name = "cleo" }, "cleo added; ana retired", ""},
		"the order alone": {func(n *configs.Team) {
			n.Teammates[0], n.Teammates[1] = n.Teammates[1], n.Teammates[0]
		}, "", ""},
		"instructions and limits": {func(n *configs.Team) {
			n.Teammates[1].Instructions, n.Teammates[1].Limits.MaxTurns = "Be brief.", 3
		}, "ben changed instructions,limits", ""},
		"the lead's agent": {func(n *configs.Team) { n.Lead.Agent.Name = "other" }, "lead changed agent", ""},
		"a secret": {func(n *configs.Team) {
			n.Lead.Agent.Env = []configs.EnvVar{{Name: "TOKEN", Value: "new", Text: "file: token"}}
		}, "lead changed agent", ""},
		"settings": {func(n *configs.Team) {
			n.Keep, n.Budget.USD, n.Settings = true, 5, []string{"/w/s.json"}
			n.Schedules = []configs.Schedule{{Name: "x"}}
		}, "", "settings budget schedules keep"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			now := diffTeam()
			test.edit(now)
			change, err := Compare(diffTeam(), now)
			if err != nil {
				t.Fatal(err)
			}
			var members []string
			for _, m := range change.Members {
				members = append(members, strings.TrimSpace(m.Name+" "+string(m.Change)+" "+strings.Join(m.Keys, ",")))
			}
			if got := strings.Join(members, "; "); got != test.members {
				t.Errorf("members %q, want %q", got, test.members)
			}
			if got := strings.Join(change.Settings, " "); got != test.settings {
				t.Errorf("settings %q, want %q", got, test.settings)
			}
			if change.Empty() != (test.members+test.settings == "") {
				t.Errorf("empty: %v", change.Empty())
			}
		})
	}
}

// TestFixedKeys: what a team was made with cannot change while it runs.
func TestFixedKeys(t *testing.T) {
	now := diffTeam()
	now.Name, now.Workspace, now.Lead.Name, now.FailClosed = "other", "/v", "boss", true
	_, err := Compare(diffTeam(), now)
	want := "name (crew, now other), workspace (/w, now /v), the lead's name (lead, now boss), " +
		"fail_closed (false, now true) cannot change while the team runs; `covey down` ends it, " +
		"and `covey up` then starts another team, without the tasks and messages of this one"
	if !errors.Is(err, configs.ErrSpec) || err.Error() != want {
		t.Errorf("error %v", err)
	}
	now = diffTeam()
	now.FailClosed = true
	if _, err := Compare(diffTeam(), now); err == nil || !strings.HasSuffix(err.Error(), "starts it with the new spec") {
		t.Errorf("error %v", err)
	}
}

// TestEveryKeyCounts: no field of a member or a team is left out of the comparison.
func TestEveryKeyCounts(t *testing.T) {
	filled := func(field reflect.Value) {
		switch v := field; v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
		case reflect.Int, reflect.Int64:
			v.SetInt(int64(time.Hour))
		}
	}
	member := reflect.TypeFor[configs.Member]()
	for i := range member.NumField() {
		now := configs.Member{}
		field := reflect.ValueOf(&now).Elem().Field(i)
		if name := member.Field(i).Name; name == "Name" || field.Kind() == reflect.Struct {
			continue // structs are compared as a whole, and a name tells members apart
		}
		filled(field)
		if len(memberKeys(configs.Member{}, now)) == 0 {
			t.Errorf("nobody compares Member.%s", member.Field(i).Name)
		}
	}
	known := "File Override Unchecked Name Goal Workspace Lead Teammates Tasks FailClosed Warnings Merge Budget Worktree Git Web Bus Sandbox GateSandbox Managed"
	team := reflect.TypeFor[configs.Team]()
	for i := range team.NumField() {
		// What is unexported says where the spec has something, not what.
		if name := team.Field(i).Name; team.Field(i).IsExported() && !strings.Contains(" "+known+" ", " "+name+" ") {
			now := configs.Team{}
			filled(reflect.ValueOf(&now).Elem().Field(i))
			if len(teamKeys(&configs.Team{}, &now)) == 0 {
				t.Errorf("nobody compares Team.%s", name)
			}
		}
	}
}
