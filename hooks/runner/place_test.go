package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// runOne runs the hooks of an event with one handler and gives its outcome.
func runOne(t *testing.T, source settings.Source, h hooks.Handler, opts Options) hooks.Outcome {
	t.Helper()
	source.Settings = hooks.Settings{hooks.PreToolUse: {{Hooks: []hooks.Handler{h}}}}
	r, err := New([]settings.Source{source}, &opts)
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Run(t.Context(), hooks.Input{Common: hooks.Common{Cwd: t.TempDir()},
		Payload: hooks.PreToolUseInput{ToolName: "Bash", ToolInput: []byte(`{"command":"ls"}`)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPluginPlaceholders: a plugin's hook finds its folder, its data and what the
// user has set, in both forms of commands and by variables.
func TestPluginPlaceholders(t *testing.T) {
	root, data := filepath.Join(t.TempDir(), "a b; touch x"), t.TempDir()
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	source := settings.Source{Name: "p", Root: root, Data: data, Options: map[string]string{"api-url": "$(touch y)"}}
	for name, c := range map[string]struct {
		h    hooks.Handler
		want string
	}{
		"exec": {hooks.Handler{Command: "/bin/echo", Args: []string{"${CLAUDE_PLUGIN_ROOT}", "${CLAUDE_PLUGIN_DATA}",
			"${user_config.api-url}", "${HOME}"}}, root + " " + data + " $(touch y) ${HOME}\n"},
		"shell": {hooks.Handler{Command: `printf '%s|%s' "${CLAUDE_PLUGIN_ROOT}" "$CLAUDE_PLUGIN_OPTION_API_URL"`},
			root + "|$(touch y)"},
		"cwd": {hooks.Handler{Command: "pwd", Cwd: "${CLAUDE_PLUGIN_ROOT}"}, root + "\n"},
		"env": {hooks.Handler{Command: `echo "$WHERE"`, Env: map[string]string{"WHERE": "${CLAUDE_PLUGIN_ROOT}/x"}},
			root + "/x\n"},
		"cache": {hooks.Handler{Command: `printf '%s' "$PYTHONPYCACHEPREFIX"`}, filepath.Join(data, "pycache")},
	} {
		c.h.Type = "command"
		out := runOne(t, source, c.h, Options{})
		if got := out.Results[0].Stdout; got != c.want {
			t.Errorf("%s: %q, want %q (%+v)", name, got, c.want, out.Results[0])
		}
	}
	for _, h := range []hooks.Handler{
		{Type: "command", Command: "echo ${user_config.api-url}"},
		{Type: "command", Command: "echo", Args: []string{"${user_config.other}"}},
	} {
		out := runOne(t, source, h, Options{})
		if r := out.Results[0]; r.Outcome != hooks.NonBlockingError || r.Stdout != "" || !strings.Contains(r.Warning, "option") &&
			!strings.Contains(r.Warning, "CLAUDE_PLUGIN_OPTION_API_URL") {
			t.Errorf("%s: %+v", h.Command, r)
		}
	}
	out := runOne(t, settings.Source{Name: "s"}, hooks.Handler{Type: "command", Command: "echo", Args: []string{"${user_config.x}"}}, Options{})
	if got := out.Results[0].Stdout; got != "${user_config.x}\n" {
		t.Errorf("no plugin's: %q", got)
	}
}

// TestHookEnv: a hook's own variables cannot hide what covey knows its processes
// by.
func TestHookEnv(t *testing.T) {
	h := hooks.Handler{Type: "command", Command: `echo "$COVEY_HOOK_DEPTH,$CLAUDECODE,$MINE"; env | grep -c '^COVEY_HOOK_RUN='`,
		Env: map[string]string{"COVEY_HOOK_DEPTH": "0", "CLAUDECODE": "7", "COVEY_HOOK_RUN": "x", "MINE": "m", "": "x", "A=B": "x",
			"NUL": "a\x00b"}}
	if got := runOne(t, settings.Source{Name: "s"}, h, Options{}).Results[0].Stdout; got != "1,1,m\n1\n" {
		t.Errorf("%q", got)
	}
}

// TestHookCwd: a folder that a hook names is from the project's, and is not
// replaced by another if it is not there.
func TestHookCwd(t *testing.T) {
	project := t.TempDir()
	if err := os.Mkdir(filepath.Join(project, "web"), 0o700); err != nil {
		t.Fatal(err)
	}
	opts := Options{ProjectDir: project}
	if got := runOne(t, settings.Source{}, hooks.Handler{Type: "command", Command: "pwd", Cwd: "web"}, opts).Results[0].Stdout; got !=
		filepath.Join(project, "web")+"\n" {
		t.Errorf("runs in %q", got)
	}
	out := runOne(t, settings.Source{}, hooks.Handler{Type: "command", Command: "pwd", Cwd: "none"}, opts)
	if r := out.Results[0]; r.Stdout != "" || !r.FailedOpen || !strings.Contains(r.Warning, "none") {
		t.Errorf("%+v", r)
	}
}

// TestObserveMode: a hook that observes decides nothing, whatever it says, and its
// Result keeps that.
func TestObserveMode(t *testing.T) {
	for command, want := range map[string]string{
		"echo no >&2; exit 2": "block", `echo '{"decision": "block", "reason": "no"}'`: "block",
		`echo '{"continue": false, "stopReason": "no"}'`:                                                                          "stop",
		`echo '{"systemMessage": "no", "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}'`:     "block",
		`echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"a": 1}}}'`: "allow",
		"exit 1": "block",
	} {
		h := hooks.Handler{Type: "command", Command: command, Mode: "observe", OnFailure: "block"}
		out := runOne(t, settings.Source{}, h, Options{FailClosed: true})
		if out.Decision != hooks.Pass || len(out.Feedback)+len(out.Messages)+len(out.SystemMessages)+len(out.Output) != 0 ||
			out.Permission.Decision != "" || out.UpdatedInput != nil || out.StopReason != "" {
			t.Errorf("%s: %+v", command, out)
		}
		r := out.Results[0]
		if r.Observed != want || r.Outcome != hooks.Success || !strings.Contains(r.Warning, "only observed") || r.Stdout+r.Stderr == "" &&
			command != "exit 1" {
			t.Errorf("%s: %+v", command, r)
		}
		if out := runOne(t, settings.Source{}, hooks.Handler{Type: "command", Command: command}, Options{}); out.Results[0].Observed != "" {
			t.Errorf("%s: observed without the mode", command)
		}
	}
}

// TestFailClosed: with it a hook without a verdict refuses, also at turn ends, and
// one that has a verdict decides as before.
func TestFailClosed(t *testing.T) {
	for command, want := range map[string]hooks.Decision{
		"exit 0": hooks.Pass, "exit 1": hooks.Block, "exit 127": hooks.Block, "kill -9 $$": hooks.Block, "echo '{\"a\":'": hooks.Block, "echo '{\"decision\": 7}'": hooks.Block,
		"echo plain": hooks.Pass, "exit 2": hooks.Block,
	} {
		for _, payload := range []hooks.Payload{
			hooks.StopInput{}, hooks.PreToolUseInput{ToolName: "Bash"}, hooks.TeammateIdleInput{}, hooks.PermissionRequestInput{ToolName: "Bash"},
		} {
			if payload.Event() == hooks.PermissionRequest && command == "exit 2" {
				continue // a verdict without effect there
			}
			source := []settings.Source{{Settings: hooks.Settings{payload.Event(): {{Hooks: []hooks.Handler{{Type: "command", Command: command}}}}}}}
			for _, closed := range []bool{true, false} {
				r, err := New(source, &Options{FailClosed: closed})
				if err != nil {
					t.Fatal(err)
				}
				out, err := r.Run(t.Context(), hooks.Input{Payload: payload}, nil)
				if err != nil {
					t.Fatal(err)
				}
				expected := want
				if !closed && command != "exit 2" {
					expected = hooks.Pass
				}
				if out.Decision != expected || closed && out.FailedOpen() != 0 {
					t.Errorf("%s on %s, closed %v: %s, %+v", command, payload.Event(), closed, out.Decision, out.Results[0])
				}
			}
		}
	}
	r, err := New([]settings.Source{{Settings: hooks.Settings{hooks.Notification: {{Hooks: []hooks.Handler{{Type: "command", Command: "exit 1"}}}}}}},
		&Options{FailClosed: true})
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := r.Run(t.Context(), hooks.Input{Payload: hooks.NotificationInput{}}, nil); out.Decision != hooks.Pass || out.FailedOpen() != 1 {
		t.Errorf("where nothing can be refused: %+v", out)
	}
}

// TestMemberLayers: a layer of one member runs for that member alone.
func TestMemberLayers(t *testing.T) {
	layer := func(member string) settings.Source {
		return settings.Source{Name: "head of " + member, Member: member,
			Settings: hooks.Settings{hooks.Stop: {{Hooks: []hooks.Handler{{Type: "command", Command: "echo " + member + "; true"}}}}}}
	}
	sources := []settings.Source{layer("a"), layer("b"), layer("")}
	byWho, err := New(sources, &Options{Session: func(in hooks.Input) Session { return Session{Team: "t", Member: in.SessionID} }})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := New(sources, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r    *Runner
		in   hooks.Input
		want int
	}{
		{byWho, hooks.Input{Common: hooks.Common{SessionID: "a"}, Payload: hooks.StopInput{}}, 2},
		{byWho, hooks.Input{Common: hooks.Common{SessionID: "c"}, Payload: hooks.StopInput{TeammateName: "a"}}, 1},
		{plain, hooks.Input{Payload: hooks.StopInput{TeammateName: "b"}}, 2},
		{plain, hooks.Input{Common: hooks.Common{AgentID: "b@team"}, Payload: hooks.StopInput{}}, 2},
		{plain, hooks.Input{Payload: hooks.StopInput{}}, 1},
	} {
		if out, _ := c.r.Run(t.Context(), c.in, nil); out.Matched != c.want {
			t.Errorf("%+v: %d hooks, want %d", c.in, out.Matched, c.want)
		}
	}
}

// TestRenew: another state of the sources counts from the next event on, and what
// has run once does not run again.
func TestRenew(t *testing.T) {
	layer := func(commands ...string) []settings.Source {
		var group hooks.Group
		for _, c := range commands {
			group.Hooks = append(group.Hooks, hooks.Handler{Type: "command", Command: c, Once: strings.HasPrefix(c, ": once")})
		}
		return []settings.Source{{Name: "s", Settings: hooks.Settings{hooks.Stop: {group}}}}
	}
	r, err := New(layer(": once", ": a"), nil)
	if err != nil {
		t.Fatal(err)
	}
	matched := func(r *Runner) int {
		out, err := r.Run(t.Context(), hooks.Input{Payload: hooks.StopInput{}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out.Matched
	}
	if n := matched(r); n != 2 {
		t.Fatalf("%d hooks", n)
	}
	next := r.Renew(layer(": once", ": b", ": once more"))
	if n := matched(next); n != 2 {
		t.Errorf("after the change %d hooks, want b and what is new", n)
	}
	if n := matched(r); n != 1 {
		t.Errorf("the old one runs %d hooks", n)
	}
	if cap(next.slots) != cap(r.slots) || next.slots != r.slots {
		t.Error("the two do not share their slots")
	}
}

// TestLayerOrder: of equal hooks in several layers the last merged one runs, and
// managed layers merge behind all others; others all run.
func TestLayerOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var sources []settings.Source
		type copyOf struct {
			order   int
			managed bool
		}
		last := map[string]copyOf{}
		for i := range rapid.IntRange(1, 6).Draw(rt, "layers") {
			s := settings.Source{Name: fmt.Sprint(i), Managed: rapid.Bool().Draw(rt, "managed"),
				Root: rapid.SampledFrom([]string{"", "/p", "/q"}).Draw(rt, "root")}
			h := hooks.Handler{Type: "command", Command: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "command"),
				Mode: rapid.SampledFrom([]string{"", "observe"}).Draw(rt, "mode"), Timeout: float64(i + 1)}
			s.Settings = hooks.Settings{hooks.Stop: {{Hooks: []hooks.Handler{h}}}}
			sources = append(sources, s)
			key := s.Root + h.Command + h.Mode
			if was, there := last[key]; !there || s.Managed || !was.managed {
				last[key] = copyOf{i + 1, s.Managed}
			}
		}
		r, err := New(sources, nil)
		if err != nil {
			rt.Fatal(err)
		}
		in := hooks.Input{Payload: hooks.StopInput{}}
		chosen, _ := r.choose(t.Context(), r.listening(in), in)
		var got, want []int
		for _, h := range chosen {
			got = append(got, int(h.Timeout))
		}
		for _, c := range last {
			want = append(want, c.order)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			rt.Fatalf("layers %v run, want %v", got, want)
		}
	})
}
