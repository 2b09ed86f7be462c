//go:build unix

package runner

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// inspected lists the commands with what becomes of them.
func inspected(t *testing.T, sources []settings.Source, in *hooks.Input) []string {
	t.Helper()
	found, err := Inspect(sources, in, &Options{ProjectDir: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range found {
		lines = append(lines, strings.Join([]string{c.Label, c.Never, c.Not, c.Only}, "|"))
	}
	return lines
}

// TestInspect: what can never run is told of with the reason, without an input.
func TestInspect(t *testing.T) {
	yes := true
	stop := func(list ...hooks.Handler) hooks.Settings { return hooks.Settings{hooks.Stop: {{Hooks: list}}} }
	command := func(line string) hooks.Handler { return hooks.Handler{Type: "command", Command: line} }
	for _, tc := range []struct {
		name    string
		sources []settings.Source
		want    []string
	}{
		{"nothing", nil, nil},
		{"equal ones", []settings.Source{{Name: "a", Settings: stop(command("x"), command("y"))}, {Name: "b", Settings: stop(command("x"))}},
			[]string{"x|an equal hook of b runs in its place||", "y|||", "x|||"}},
		{"equal ones with other matchers", []settings.Source{{Name: "a", Settings: hooks.Settings{hooks.PreToolUse: {
			{Matcher: "Bash", Hooks: []hooks.Handler{command("x")}}, {Matcher: "Edit", Hooks: []hooks.Handler{command("x")}}}}}},
			[]string{"x|||", "x|||"}},
		{"equal ones of other events", []settings.Source{{Name: "a", Settings: hooks.Settings{
			hooks.PreToolUse: {{Hooks: []hooks.Handler{command("x")}}}, hooks.Stop: {{Hooks: []hooks.Handler{command("x")}}}}}}, []string{"x|||", "x|||"}},
		{"equal ones of other members", []settings.Source{{Name: "a", Member: "ana", Settings: stop(command("x"))},
			{Name: "b", Member: "ben", Settings: stop(command("x"))}}, []string{"x|||", "x|||"}},
		{"managed ones come last", []settings.Source{{Name: "m", Managed: true, Settings: stop(command("x"))},
			{Name: "a", Settings: stop(command("x"))}}, []string{"x|an equal hook of m runs in its place||", "x|||"}},
		{"switched off", []settings.Source{{Name: "a", Restrictions: settings.Restrictions{DisableAllHooks: &yes},
			Settings: stop(command("x"), hooks.Handler{Type: "command", Command: "g", Gate: true})}},
			[]string{"x|disableAllHooks in a||", "g|||"}},
		{"a gate that managed settings keep from running", []settings.Source{
			{Name: "a", Settings: stop(hooks.Handler{Type: "command", Command: "g", Gate: true})},
			{Name: "m", Managed: true, Restrictions: settings.Restrictions{AllowManagedHooksOnly: true}}},
			[]string{"g|allowManagedHooksOnly in m: it is binding, so it refuses||"}},
		{"an if that is never asked", []settings.Source{{Name: "a", Settings: stop(hooks.Handler{Type: "command", Command: "x", If: "Bash"})}},
			[]string{"x|`if` is only evaluated on tool events, and Stop is not one||"}},
		{"an if that is no rule", []settings.Source{{Name: "a", Settings: hooks.Settings{hooks.PreToolUse: {{Hooks: []hooks.Handler{
			{Type: "command", Command: "x", If: "Bash("}}}}}}}, []string{"x|its `if` is not a rule||"}},
		{"a URL that is not allowed", []settings.Source{{Name: "a", Restrictions: settings.Restrictions{AllowedHTTPHookURLs: []string{}},
			Settings: stop(hooks.Handler{Type: "http", URL: "http://localhost/x"})}},
			[]string{"http://localhost/x|the URL matches no pattern of allowedHttpHookUrls in a||"}},
		{"a matcher that is no expression", []settings.Source{{Name: "a", Settings: hooks.Settings{hooks.PreToolUse: {
			{Matcher: "(", Hooks: []hooks.Handler{command("x")}}}}}},
			[]string{`x|matcher "(" is not a JavaScript expression: missing closing )||`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := inspected(t, tc.sources, nil); !slices.Equal(got, tc.want) {
				t.Errorf("got\n%q\nwant\n%q", got, tc.want)
			}
		})
	}
}

// TestInspectAgrees: what Inspect says runs for an input is what a Runner runs.
func TestInspectAgrees(t *testing.T) {
	handler := func(line, rule string) hooks.Handler { return hooks.Handler{Type: "command", Command: line, If: rule} }
	sources := []settings.Source{
		{Name: "a", Settings: hooks.Settings{hooks.PreToolUse: {
			{Matcher: "Bash|Edit", Hooks: []hooks.Handler{handler("echo 1", ""), handler("echo 2", "Bash(git push *)")}},
			{Matcher: "^Ba", Hooks: []hooks.Handler{handler("echo 3", "Bash(ls *)"), handler("echo 4", "Edit")}},
			{Matcher: "Write", Hooks: []hooks.Handler{handler("echo 5", "")}}, {Hooks: []hooks.Handler{handler("echo 1", "")}},
		}, hooks.Stop: {{Hooks: []hooks.Handler{handler("echo 9", "")}}}}},
		{Name: "ana.md", Member: "ana", Settings: hooks.Settings{hooks.PreToolUse: {{Hooks: []hooks.Handler{handler("echo 6", "")}}}}},
	}
	r, err := New(sources, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"Bash", "Edit", "Write", "Read"} {
		for _, command := range []string{"git push x", "ls /", "make"} {
			for _, who := range []string{"ana@crew", "ben@crew"} {
				input, err := json.Marshal(map[string]string{"command": command, "file_path": "/w/x"})
				if err != nil {
					t.Fatal(err)
				}
				in := hooks.Input{Common: hooks.Common{Cwd: t.TempDir(), AgentID: who},
					Payload: hooks.PreToolUseInput{ToolName: tool, ToolInput: input, ToolUseID: "t"}}
				out, err := r.Run(t.Context(), in, nil)
				if err != nil {
					t.Fatal(err)
				}
				var ran, said []string
				for _, result := range out.Results {
					ran = append(ran, result.Command)
				}
				found, err := Inspect(sources, &in, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range found {
					if c.Event != hooks.PreToolUse {
						t.Errorf("a hook on %s", c.Event)
					}
					if c.Runs() {
						said = append(said, c.Label)
					}
				}
				slices.Sort(ran)
				slices.Sort(said)
				if !slices.Equal(ran, said) {
					t.Errorf("%s %q of %s: ran %q, Inspect says %q", tool, command, who, ran, said)
				}
			}
		}
	}
}

// TestInspectWithoutInput: a tool's name alone leaves open what an `if` would say.
func TestInspectWithoutInput(t *testing.T) {
	sources := []settings.Source{{Name: "a", Settings: hooks.Settings{hooks.PreToolUse: {{Hooks: []hooks.Handler{
		{Type: "command", Command: "1", If: "Bash(git *)"}, {Type: "command", Command: "2", If: "Bash"},
		{Type: "command", Command: "3", If: "Edit(x)"},
	}}}}}, {Name: "ana.md", Member: "ana", Settings: hooks.Settings{hooks.PreToolUse: {{Hooks: []hooks.Handler{{Type: "command", Command: "4"}}}}}}}
	in, err := hooks.ParseInput(hooks.PreToolUse, []byte(`{"tool_name": "Bash"}`), hooks.Common{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1|||if Bash(git *)", "2|||", "3||its `if` does not hold: Edit(x)|", "4|||for ana"}
	if got := inspected(t, sources, &in); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEventTable: each event says what it waits for, or fires, and names nothing
// twice.
func TestEventTable(t *testing.T) {
	infos := hooks.Events()
	if len(infos) != 33 {
		t.Errorf("%d events, want 33", len(infos))
	}
	for _, e := range infos {
		if e.Fires == (e.Requires != "") || len(e.Handlers) == 0 || e.Handlers[0] != "command" || e.Outputs == nil ||
			(e.Matcher == "" && len(e.Values) > 0) {
			t.Errorf("%+v", e)
		}
		if wants := e.Exit2 >= hooks.Refuses; wants != e.Blocks {
			t.Errorf("%s: exit 2 %s, blocks %t", e.Event, e.Exit2, e.Blocks)
		}
		if n := map[string]int{"A": 5, "B": 3, "C": 2}[e.Types]; n != len(e.Handlers) {
			t.Errorf("%s: types %s are %q", e.Event, e.Types, e.Handlers)
		}
	}
}

// TestRegistryList shows callbacks as configured hooks.
func TestRegistryList(t *testing.T) {
	var r hooks.Registry
	if _, err := r.Add(hooks.PreToolUse, hooks.Callback{Name: "b", Matcher: "^B", If: "Bash", Do: says(hooks.Answer{})}); err != nil {
		t.Fatal(err)
	}
	remove, err := r.Add(hooks.SessionStart, hooks.Callback{Name: "a", Matcher: "startup | resume", Do: says(hooks.Answer{})})
	if err != nil {
		t.Fatal(err)
	}
	list := Callbacks(&r)
	if len(list) != 2 || list[0].Event != hooks.SessionStart || list[0].Matcher != "startup|resume" ||
		list[0].Label != "callback a" || list[1].Matcher != "^B" || list[1].Handler.If != "Bash" {
		t.Errorf("%+v", list)
	}
	remove()
	if list := Callbacks(&r); len(list) != 1 || Callbacks(nil) != nil {
		t.Errorf("%+v", list)
	}
}
