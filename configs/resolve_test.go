package configs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
)

// TestCycles draws graphs of tasks: a spec is refused for a cycle if and only
// if the tasks cannot be brought into an order.
func TestCycles(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"demo.yaml": ""})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "tasks")
		blockedBy := make([][]int, n)
		var spec strings.Builder
		spec.WriteString("covey: 1\nlead: {model: {provider: script, script: demo.yaml}}\ntasks:\n")
		for i := range n {
			blockedBy[i] = rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, 2, rapid.ID).Draw(t, "blockers")
			names := make([]string, len(blockedBy[i]))
			for j, b := range blockedBy[i] {
				names[j] = fmt.Sprintf("t%d", b)
			}
			fmt.Fprintf(&spec, "  - {id: t%d, subject: S, blocked_by: [%s]}\n", i, strings.Join(names, ", "))
		}
		_, err := Parse(filepath.Join(dir, "team.yaml"), []byte(spec.String()))
		if want := hasOrder(blockedBy); (err == nil) != want {
			t.Fatalf("an order exists: %t, error: %v in\n%s", want, err, spec.String())
		}
		if err != nil && !strings.Contains(err.Error(), "wait for each other") && !strings.Contains(err.Error(), "by itself") {
			t.Fatalf("another error: %v", err)
		}
	})
}

// hasOrder takes away what nothing blocks until nothing is left, or nothing
// can be taken.
func hasOrder(blockedBy [][]int) bool {
	done := make([]bool, len(blockedBy))
	for range blockedBy {
		for i, blockers := range blockedBy {
			done[i] = !slices.ContainsFunc(blockers, func(b int) bool { return !done[b] })
		}
	}
	return !slices.Contains(done, false)
}

var nameForm = regexp.MustCompile(yaml.NamePattern)

// TestTaskIDs draws tasks with and without ids: all get one, no two the same,
// all fit to be named, and those that were given stay.
func TestTaskIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var specs []taskSpec
		used := map[string]bool{}
		for range rapid.IntRange(0, 12).Draw(t, "tasks") {
			var s taskSpec
			s.Subject = rapid.SampledFrom([]string{"Add it", "add it", "add-it", "", "!!", "Ünï",
				strings.Repeat("long ", 20)}).Draw(t, "subject")
			id := rapid.SampledFrom([]string{"", "", "add-it", "add-it-2", "task", "x"}).Draw(t, "id")
			if id != "" && !used[id] {
				used[id] = true
				s.ID = id
				s.at = &yaml.Node{Pairs: []yaml.Pair{{Key: &yaml.Node{Text: "id"}, Value: &yaml.Node{Text: id}}}}
			}
			specs = append(specs, s)
		}
		ids := (&taskRules{yaml.NewDecoder("t.yaml", []byte("a: 1\n"))}).taskIDs(specs)
		seen := map[string]bool{}
		for i, id := range ids {
			if !nameForm.MatchString(id) || seen[id] {
				t.Fatalf("ids %q", ids)
			}
			seen[id] = true
			if given := specs[i].ID; given != "" && given != id {
				t.Fatalf("task %d was called %q and is %q", i, given, id)
			}
		}
	})
}

// TestHookPlaces: a mistake that package hooks finds is shown where it stands,
// whatever the hooks around it.
func TestHookPlaces(t *testing.T) {
	const spec = `covey: 1
lead: {model: {provider: script, script: demo.yaml}}
hooks:
  Stop:
    - hooks: [{type: command, command: a}]
    - matcher: "("
      hooks:
        - {type: command, command: b}
        - type: command
          command: c
          timeout: 9999999
  PreToolUse:
    - {matcher: "(", hooks: [{type: command, command: d, if: "("}]}
`
	d := yaml.NewDecoder("t.yaml", []byte(spec))
	var s teamSpec
	d.Object(nil, d.Root, s.fields())
	if len(d.Problems) > 0 {
		t.Fatal(d.Problems)
	}
	for _, test := range []struct {
		p    hooks.Problem
		want yaml.Position
	}{
		{hooks.Problem{Event: hooks.Stop, Group: 1, Hook: -1, Field: "matcher"}, yaml.Position{Line: 6, Col: 16}},
		{hooks.Problem{Event: hooks.Stop, Group: 1, Hook: -1}, yaml.Position{Line: 6, Col: 7}},
		{hooks.Problem{Event: hooks.Stop, Group: 1, Hook: 0}, yaml.Position{Line: 8, Col: 11}},
		{hooks.Problem{Event: hooks.Stop, Group: 1, Hook: 1, Field: "timeout"}, yaml.Position{Line: 11, Col: 20}},
		{hooks.Problem{Event: hooks.Stop, Group: 1, Hook: 1, Field: "shell"}, yaml.Position{Line: 9, Col: 11}},
		{hooks.Problem{Event: hooks.Stop, Group: -1, Hook: -1}, yaml.Position{Line: 5, Col: 5}},
		{hooks.Problem{Event: hooks.Stop, Group: 7, Hook: 0}, yaml.Position{Line: 5, Col: 5}},
		{hooks.Problem{Event: hooks.PreToolUse, Group: 0, Hook: 0, Field: "if"}, yaml.Position{Line: 13, Col: 62}},
		{hooks.Problem{Event: hooks.SessionEnd, Group: 0, Hook: 0}, yaml.Position{Line: 4, Col: 3}},
	} {
		if n := s.hooks.node(test.p); n == nil || n.At != test.want {
			t.Errorf("%s is at %v, want %v", test.p.Path(), n, test.want)
		}
	}
	_, err := parse(t, spec)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"team.yaml:11:20: ", "team.yaml:13:62: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing at %s in\n%v", want, err)
		}
	}
}

// TestGatesCompile holds the hook that each form of a gate becomes.
func TestGatesCompile(t *testing.T) {
	for gate, want := range map[string]hooks.Handler{
		"go test ./...":                          {Type: "command", Command: "go test ./...", Gate: true},
		"{run: exit 1}":                          {Type: "command", Command: "exit 1", Gate: true},
		"{run: exit 1, timeout: 90s}":            {Type: "command", Command: "exit 1", Timeout: 90, Gate: true},
		"{run: exit 1, timeout: 0}":              {Type: "command", Command: "exit 1", Gate: true},
		"{policy: work-committed}":               {Policy: "work-committed", Gate: true},
		"{policy: report-sent, timeout: 1500ms}": {Policy: "report-sent", Timeout: 1.5, Gate: true},
	} {
		for key, event := range map[string]hooks.Event{"task": hooks.TaskCompleted, "idle": hooks.TeammateIdle,
			"stop": hooks.Stop} {
			team := mustParse(t, "covey: 1\nlead: {model: {provider: script, script: demo.yaml}}\ngates: {"+key+": ["+gate+"]}\n")
			if len(team.Gates) != 1 || len(team.Gates[event]) != 1 || team.Gates[event][0].Matcher != "" {
				t.Fatalf("%s: gates %+v", gate, team.Gates)
			}
			if got := team.Gates[event][0].Hooks; len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(want) {
				t.Errorf("%s on %s is %+v, want %+v", gate, event, got, want)
			}
		}
	}
}

// TestPoliciesAreKnown: each policy that the docs name can be named by a gate.
func TestPoliciesAreKnown(t *testing.T) {
	if want := []string{"no-open-tasks", "work-committed", "report-sent", "changed-something"}; !slices.Equal(Policies(), want) {
		t.Errorf("policies %v, want %v", Policies(), want)
	}
	Policies()[0] = "changed"
	if Policies()[0] == "changed" {
		t.Error("a caller can change the policies")
	}
}

// TestSchemaIsOurs: a caller cannot change the schema either.
func TestSchemaIsOurs(t *testing.T) {
	Schema()[0] = 'x'
	if Schema()[0] != '{' {
		t.Error("a caller can change the schema")
	}
}
