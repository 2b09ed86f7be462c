//go:build unix

package runner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

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

// TestInspectProperties: for any layers and input, what Inspect says runs is what a Runner
// chooses; what it leaves open, a Runner may leave out.
func TestInspectProperties(t *testing.T) {
	pick := func(t *rapid.T, label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	rapid.Check(t, func(t *rapid.T) {
		var sources []settings.Source
		for n := range rapid.IntRange(0, 4).Draw(t, "layers") {
			s := settings.Source{Name: fmt.Sprint(n), Settings: hooks.Settings{}, Managed: rapid.Bool().Draw(t, "managed"),
				Member: pick(t, "member", "", "", "ana"), Helper: pick(t, "helper", "", "", "scout"), Skill: pick(t, "skill", "", "", "sew")}
			if rapid.IntRange(0, 9).Draw(t, "off") == 0 {
				off := true
				s.Restrictions.DisableAllHooks = &off
			}
			for range rapid.IntRange(0, 3).Draw(t, "groups") {
				group := hooks.Group{Matcher: pick(t, "matcher", "", "Bash", "Ba.*", "Write|Edit", "(")}
				for range rapid.IntRange(1, 3).Draw(t, "hooks") {
					group.Hooks = append(group.Hooks, hooks.Handler{Type: "command", Command: pick(t, "command", "a", "b"),
						If: pick(t, "if", "", "", "Bash(git push *)", "Edit(src/**)", "Bash", "Bash(")})
				}
				s.Settings[hooks.PreToolUse] = append(s.Settings[hooks.PreToolUse], group)
			}
			sources = append(sources, s)
		}
		opts := Options{ProjectDir: "/w"}
		if rapid.Bool().Draw(t, "knows skills") {
			loaded := rapid.Bool().Draw(t, "loaded")
			opts.Session = func(in hooks.Input) Session {
				_, member := in.Member()
				return Session{Member: member, Loaded: func(string) bool { return loaded }}
			}
		}
		in := hooks.Input{Common: hooks.Common{Cwd: "/w", AgentID: pick(t, "agent", "", "ana@crew", "ben@crew", "h1"),
			AgentType: pick(t, "type", "", "scout")}, Payload: hooks.PreToolUseInput{ToolName: pick(t, "tool", "Bash", "Edit", ""),
			ToolInput: json.RawMessage(pick(t, "input", "", `{"command": "git push x"}`, `{"file_path": "/w/src/x", "command": "ls"}`))}}
		r, err := New(sources, &opts)
		if err != nil {
			t.Fatal(err)
		}
		found, err := Inspect(sources, &in, &opts)
		if err != nil {
			t.Fatal(err)
		}
		name := func(layer, command, rule string) string { return layer + ": " + command + " if " + rule }
		var runs, may, ran []string
		for _, c := range found {
			if c.Runs() {
				may = append(may, name(c.Source.Name, c.Label, c.Handler.If))
				if c.Only == "" {
					runs = append(runs, name(c.Source.Name, c.Label, c.Handler.If))
				}
			}
		}
		chosen, _ := r.choose(t.Context(), r.listening(in), in)
		for _, h := range chosen {
			ran = append(ran, name(h.source.Name, h.Command, h.If))
		}
		// A hook that Inspect is sure of is replaced at most by an equal one that it is not sure of.
		for _, label := range ran {
			if !slices.Contains(may, label) {
				t.Fatalf("%q ran, Inspect says that %q may", ran, may)
			}
		}
		for _, label := range runs {
			_, what, _ := strings.Cut(label, ": ")
			if !slices.ContainsFunc(ran, func(other string) bool { return strings.HasSuffix(other, ": "+what) }) {
				t.Fatalf("%q ran, Inspect says that %q do", ran, runs)
			}
		}
	})
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
