//go:build unix

package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

func TestRunMintsIDs(t *testing.T) {
	b := newBench(t)
	r := b.runner(t, on(hooks.Stop, ":"))
	first, second := b.fire(t, r, hooks.StopInput{}), b.fire(t, r, hooks.StopInput{})
	unheard := b.fire(t, r, hooks.TeammateIdleInput{})
	if first.ToolUseID == second.ToolUseID || unheard.ToolUseID == "" || len(first.ToolUseID) != 36 {
		t.Errorf("IDs %q, %q, %q", first.ToolUseID, second.ToolUseID, unheard.ToolUseID)
	}
	if got := b.fire(t, r, hooks.PreToolUseInput{ToolName: "Bash", ToolInput: []byte("{}"),
		ToolUseID: "toolu_7"}).ToolUseID; got != "toolu_7" {
		t.Errorf("a tool event has ID %q, not its call's", got)
	}
}

// TestDedupe: of equal hooks the one of the last layer runs, whichever of the
// groups they stand in; equal commands of two plugins are two hooks.
func TestDedupe(t *testing.T) {
	b := newBench(t)
	same := on(hooks.Stop, "REC same '{}'")
	twice := hooks.Settings{hooks.Stop: append(same[hooks.Stop], hooks.Group{Matcher: "x", Hooks: same[hooks.Stop][0].Hooks})}
	r := b.runnerWith(t, Options{}, settings.Source{Name: "user", Settings: twice}, settings.Source{Name: "project",
		Settings: same},
		settings.Source{Name: "p1", Root: "/p1", Settings: same}, settings.Source{Name: "p2", Root: "/p2", Settings: same})
	if out := b.fire(t, r, hooks.StopInput{}); out.Matched != 3 || len(out.Results) != 3 {
		t.Errorf("%d hooks ran, want 3", out.Matched)
	}
	variants := []hooks.Handler{{Command: ":"}, {Command: ":", Shell: "bash"}, {Command: ":", Args: []string{}},
		{Command: ":", Args: []string{"a"}}, {Command: ":", Args: []string{"a", "b"}}, {Command: ":",
			Gate: true}}
	for i := range variants {
		variants[i].Type = "command"
	}
	r = b.runner(t, hooks.Settings{hooks.Stop: {{Hooks: variants}, {Hooks: variants}}})
	if out := b.fire(t, r, hooks.StopInput{}); out.Matched != len(variants)-1 { // bash is no difference
		t.Errorf("%d hooks ran, want %d", out.Matched, len(variants)-1)
	}
}

func TestDedupeKeepsLastLayer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	layer := func(timeout float64) hooks.Settings { return limitTo(timeout, on(hooks.Stop, "sleep 0.4")) }
	r := b.runnerWith(t, Options{}, settings.Source{Name: "a", Settings: layer(0.05)}, settings.Source{Name: "b",
		Settings: layer(30)})
	if got := onlyResult(t, b.fire(t, r, hooks.StopInput{})).Outcome; got != hooks.Success {
		t.Errorf("the first layer's time-out held: %s", got)
	}
}

func TestOnce(t *testing.T) {
	b := newBench(t)
	settings := on(hooks.Stop, ":")
	settings[hooks.Stop][0].Hooks[0].Once = true
	r := b.runner(t, settings)
	in := b.input(hooks.StopInput{})
	for i, want := range []int{1, 0, 0} {
		if out, err := r.Run(t.Context(), in, nil); err != nil || out.Matched != want {
			t.Errorf("run %d: %d hooks, want %d, %v", i, out.Matched, want, err)
		}
	}
	in.SessionID = "another"
	if out, err := r.Run(t.Context(), in, nil); err != nil || out.Matched != 1 {
		t.Errorf("another session: %d hooks, %v", out.Matched, err)
	}
}

// TestObserve: starts come in the order of configuration, ends in the order in
// which the hooks finished, which is that of Results and of the feedback.
func TestObserve(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner(t, on(hooks.Stop,
		"sleep 0.3; until test -e $REC_DIR/fast; do sleep 0.02; done; echo slow >&2; exit 2", "echo fast >&2; exit 2"))
	var log []string
	out, err := r.Run(t.Context(), b.input(hooks.StopInput{}), func(p hooks.Progress) {
		if p.Event != hooks.Stop || p.ToolUseID == "" {
			t.Errorf("progress %+v", p)
		}
		verb := "starts"
		if p.Result != nil {
			verb = "ends " + p.Result.Stderr
		}
		if verb == "ends fast\n" {
			if err := os.WriteFile(filepath.Join(b.dir, "fast"), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
		log = append(log, p.Command[:9]+" "+verb)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"sleep 0.3 starts", "echo fast starts", "echo fast ends fast\n", "sleep 0.3 ends slow\n"}
	if !slices.Equal(log, want) {
		t.Errorf("log %q, want %q", log, want)
	}
	if !strings.HasSuffix(out.Feedback[0], "fast") || !strings.HasSuffix(out.Feedback[1], "slow") ||
		out.Results[0].Stderr != "fast\n" || out.Results[1].Duration < 300*time.Millisecond {
		t.Errorf("outcome %+v", out)
	}
}

func TestCancel(t *testing.T) {
	b := newBench(t)
	for name, settings := range map[string]hooks.Settings{
		"hooks": on(hooks.Stop, "echo $$ >$REC_DIR/a; sleep 3600", "sleep 3600"),
		"gates": gateOn(hooks.Stop, "echo $$ >$REC_DIR/a; sleep 3600", "sleep 3600"),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		pidFile := filepath.Join(b.dir, "a")
		_ = os.Remove(pidFile)
		go func() { pidIn(t, pidFile); cancel() }()
		var out hooks.Outcome
		var err error
		returns(t, func() {
			out, err = b.runner(t, settings).Run(ctx, b.input(hooks.StopInput{}),
				nil)
		})
		if !errors.Is(err, context.Canceled) || len(out.Results) != 2 || out.Decision != hooks.Pass {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
		for _, result := range out.Results {
			if result.Outcome != hooks.Cancelled {
				t.Errorf("%s: %+v", name, result)
			}
		}
		if pid := pidIn(t, pidFile); !gone(pid) {
			t.Errorf("%s: process %d goes on", name, pid)
		}
	}
}

func TestCancelledBefore(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := b.runner(t, on(hooks.Stop, "REC s '{}'")).Run(ctx, b.input(hooks.StopInput{}), nil)
	if !errors.Is(err, context.Canceled) || len(b.tags(t)) != 0 || out.ToolUseID == "" {
		t.Errorf("%+v, %v, called %q", out, err, b.tags(t))
	}
	if out, err = b.runner(t, nil).Run(ctx, b.input(hooks.StopInput{}), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("without hooks: %+v, %v", out, err)
	}
}

// TestSessionEndBudget: the hooks of a session's end share a second and a half.
func TestSessionEndBudget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var out hooks.Outcome
	returns(t, func() {
		out = b.fire(t, b.runnerWith(t, Options{Parallel: 1}, settings.Source{Settings: on(hooks.SessionEnd, "sleep 3600",
			"sleep 3601")}),
			hooks.SessionEndInput{Reason: "other"})
	})
	if len(out.Results) != 2 || out.Results[0].Outcome != hooks.Cancelled || out.Results[1].Outcome != hooks.Cancelled {
		t.Errorf("outcome %+v", out)
	}
}

func TestBudgetOf(t *testing.T) {
	end := func(seconds float64) hooks.Settings { return limitTo(seconds, on(hooks.SessionEnd, ":")) }
	for want, sources := range map[time.Duration][]settings.Source{
		1500 * time.Millisecond: {{Settings: end(1)}, {Root: "/plugin", Settings: end(30)},
			{Settings: limitTo(9, on(hooks.Stop, ":"))}},
		10 * time.Second: {{Settings: end(3)}, {Settings: end(10)}},
		time.Minute:      {{Settings: end(900)}},
	} {
		if got := budgetOf(sources, nil); got != want {
			t.Errorf("budget %v, want %v", got, want)
		}
	}
	if got := budgetOf(nil,
		[]string{"CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS=250"}); got != 250*time.Millisecond {
		t.Errorf("budget %v, want 250ms", got)
	}
}

// TestEnvironment: hooks get the documented variables, about this run and no
// other, in a session of their own without a terminal.
func TestEnvironment(t *testing.T) {
	b := newBench(t)
	b.env = append(b.env, "OTEL_X=1", "CLAUDE_PLUGIN_ROOT=/stale", "COVEY_MEMBER=stale", "KEPT=yes")
	opts := Options{ProjectDir: b.cwd, Session: func(in hooks.Input) Session {
		return Session{Team: "crew", Member: in.AgentType, EnvFile: "/env/file"}
	}}
	r := b.runnerWith(t, opts, settings.Source{Name: "p", Root: "/plugin root", Data: "/data",
		Settings: on(hooks.SessionStart, `
		{ env; echo "tty:$(tty </dev/tty 2>&1)"; pwd; echo "arg:${CLAUDE_PLUGIN_ROOT}:'${CLAUDE_PROJECT_DIR}'"; } >$REC_DIR/env`)})
	in := b.input(hooks.SessionStartInput{Source: "startup"})
	in.AgentType, in.Effort = "backend", &hooks.Effort{Level: "high"}
	if _, err := r.Run(t.Context(), in, nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(b.dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for _, want := range []string{"CLAUDE_PROJECT_DIR=" + b.cwd, "CLAUDECODE=1",
		"CLAUDE_CODE_CHILD_SESSION=1",
		fmt.Sprintf("CLAUDE_PID=%d", os.Getpid()), "CLAUDE_CODE_SESSION_ID=" + in.SessionID,
		"CLAUDE_EFFORT=high",
		"CLAUDE_ENV_FILE=/env/file", "CLAUDE_PLUGIN_ROOT=/plugin root", "CLAUDE_PLUGIN_DATA=/data",
		"COVEY_TEAM=crew",
		"COVEY_MEMBER=backend", "COVEY_HOOK_DEPTH=1", "KEPT=yes", "PWD=" + b.cwd, b.cwd,
		"arg:/plugin root:" + "'" + b.cwd + "'"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, data)
		}
	}
	if strings.Contains(string(data), "OTEL_X") || strings.Contains(string(data), "stale") ||
		strings.Contains(string(data), "tty:/dev") {
		t.Errorf("what hooks must not have:\n%s", data)
	}
}

func TestEnvironmentOfPayload(t *testing.T) {
	b := newBench(t)
	r := b.runnerWith(t, Options{Session: func(in hooks.Input) Session {
		team, member := in.Member()
		return Session{Team: team, Member: member, EnvFile: "/env"}
	}},
		settings.Source{Settings: on(hooks.TeammateIdle,
			`echo "$COVEY_TEAM/$COVEY_MEMBER/${CLAUDE_ENV_FILE-none}" >&2; exit 2`)})
	out := b.fire(t, r, hooks.TeammateIdleInput{TeammateName: "backend", TeamName: "crew"})
	if !strings.HasSuffix(out.Feedback[0], ": crew/backend/none") {
		t.Errorf("feedback %q", out.Feedback)
	}
}

func TestDeletedFolder(t *testing.T) {
	b := newBench(t)
	gone := filepath.Join(b.cwd, "gone")
	r := b.runnerWith(t, Options{ProjectDir: b.cwd}, settings.Source{Settings: on(hooks.Stop, "pwd >&2; exit 2")})
	in := b.input(hooks.StopInput{})
	in.Cwd = gone
	out, err := r.Run(t.Context(), in, nil)
	if err != nil || !strings.HasSuffix(out.Feedback[0], ": "+b.cwd) {
		t.Errorf("%q, %v: want the project's folder %s", out.Feedback, err, b.cwd)
	}
	r = b.runnerWith(t, Options{ProjectDir: gone}, settings.Source{Settings: on(hooks.Stop, "pwd >&2; exit 2")})
	if out, err = r.Run(t.Context(), in, nil); err != nil || !strings.HasSuffix(out.Feedback[0], ": "+b.cwd) {
		t.Errorf("%q, %v: want home", out.Feedback, err)
	}
}

// TestPlaceholders: a folder's name never becomes a command.
func TestPlaceholders(t *testing.T) {
	b := newBench(t)
	evil := filepath.Join(b.cwd, "a b$(touch FLAG);c'd")
	if err := os.Mkdir(evil, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(evil, "hook"), []byte("#!/bin/sh\necho \"$1\" >&2; exit 2\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]hooks.Handler{
		"shell": {Command: `"${CLAUDE_PLUGIN_ROOT}/hook" "${CLAUDE_PROJECT_DIR}"`},
		"exec":  {Command: "${CLAUDE_PLUGIN_ROOT}/hook", Args: []string{"${CLAUDE_PROJECT_DIR}"}},
	} {
		h.Type = "command"
		r := b.runnerWith(t, Options{ProjectDir: evil}, settings.Source{Root: evil,
			Settings: hooks.Settings{hooks.Stop: {{Hooks: []hooks.Handler{h}}}}})
		out := b.fire(t, r, hooks.StopInput{})
		if len(out.Feedback) != 1 || !strings.HasSuffix(out.Feedback[0], "]: "+evil) {
			t.Errorf("%s: %+v", name, out)
		}
	}
	if _, err := os.Stat(filepath.Join(b.cwd, "FLAG")); err == nil {
		t.Error("the folder's name was run")
	}
	safe := b.runnerWith(t, Options{}, settings.Source{Root: "/p-1/x_y", Settings: on(hooks.Stop,
		`echo '${CLAUDE_PLUGIN_ROOT}/z' >&2; exit 2`)})
	if out := b.fire(t, safe, hooks.StopInput{}); !strings.HasSuffix(out.Feedback[0], ": /p-1/x_y/z") {
		t.Errorf("a plain path is filled in even where the shell would not: %q", out.Feedback)
	}
}

func TestExecForm(t *testing.T) {
	b := newBench(t)
	run := func(h hooks.Handler) hooks.Result {
		h.Type = "command"
		return onlyResult(t, b.fire(t, b.runner(t, hooks.Settings{hooks.Stop: {{Hooks: []hooks.Handler{h}}}}), hooks.StopInput{}))
	}
	if got := run(hooks.Handler{Command: "printf", Args: []string{"%s|", "a b", "$HOME",
		"*"}}); got.Stdout != "a b|$HOME|*|" {
		t.Errorf("arguments are passed on as they are: %+v", got)
	}
	if got := run(hooks.Handler{Command: "no-such-program", Args: []string{}}); got.Outcome != hooks.NonBlockingError ||
		got.ExitCode != -1 ||
		!strings.Contains(got.Warning, "cannot start no-such-program") {
		t.Errorf("missing: %+v", got)
	}
	file := filepath.Join(b.cwd, "plain")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(hooks.Handler{Command: file, Args: []string{}}); got.Outcome != hooks.NonBlockingError ||
		!strings.Contains(got.Warning, "permission denied (chmod +x") {
		t.Errorf("not executable: %+v", got)
	}
	script := filepath.Join(b.cwd, "script")
	if err := os.WriteFile(script, []byte("echo no first line\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := run(hooks.Handler{Command: script, Args: []string{}}); !strings.Contains(got.Warning, "(it lacks a first line like #!") {
		t.Errorf("no interpreter: %+v", got)
	}
	if got := run(hooks.Handler{Command: script}); got.Outcome != hooks.Success || got.Stdout != "no first line\n" {
		t.Errorf("the shell runs it all the same: %+v", got)
	}
	if got := run(hooks.Handler{Command: ":", Shell: "tcsh"}); !strings.Contains(got.Warning,
		`there is no shell "tcsh"`) {
		t.Errorf("unknown shell: %+v", got)
	}
	if got := run(hooks.Handler{Command: " "}); !strings.Contains(got.Warning, "no command") {
		t.Errorf("no command: %+v", got)
	}
	if got := run(hooks.Handler{Command: "shopt -q extglob; echo $BASH_VERSION | head -c 1; exit 0",
		Shell: "bash"}); got.Stdout == "" {
		t.Errorf("bash: %+v", got)
	}
}

// TestNothingToAsk: hooks that nobody here can answer say so in every result.
func TestNothingToAsk(t *testing.T) {
	b := newBench(t)
	settings := hooks.Settings{hooks.Stop: {{Hooks: []hooks.Handler{{Type: "prompt", Prompt: "ok?"},
		{Type: "agent", Prompt: "check"}, {Type: "mcp_tool", Server: "srv", Tool: "t"}}}}}
	out := b.fire(t, b.runner(t, settings), hooks.StopInput{})
	if out.Matched != 3 || out.Decision != hooks.Pass || out.FailedOpen() != 3 {
		t.Errorf("outcome %+v", out)
	}
	labels := []string{}
	for _, result := range out.Results {
		labels = append(labels, result.Type+" "+result.Command)
		if result.Outcome != hooks.NonBlockingError || !strings.Contains(result.Warning, "no model is available") &&
			result.Warning != "MCP server 'srv' not connected" {
			t.Errorf("result %+v", result)
		}
	}
	slices.Sort(labels)
	if want := []string{"agent check", "mcp_tool srv/t", "prompt ok?"}; !slices.Equal(labels, want) {
		t.Errorf("labels %q", labels)
	}
}

func TestSpill(t *testing.T) {
	b := newBench(t)
	spill := filepath.Join(b.cwd, "spill", "deep")
	r := b.runnerWith(t, Options{SpillDir: spill}, settings.Source{Settings: on(hooks.UserPromptSubmit,
		`REC u '{"big_stdout":50000}'`)})
	out := b.fire(t, r, hooks.UserPromptSubmitInput{Prompt: "p"})
	files, err := filepath.Glob(filepath.Join(spill, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	want := "<system-reminder>\nUserPromptSubmit hook success: <persisted-output>\nOutput too large (48.8KB). Full output saved to: " +
		files[0] + "\n\nPreview (first 2KB):\n" + strings.Repeat("O", 2000) +
		"\n...\n</persisted-output>\n</system-reminder>"
	if len(out.AdditionalContext) != 1 || out.AdditionalContext[0] != want {
		t.Errorf("context %q", out.AdditionalContext)
	}
	if data, err := os.ReadFile(files[0]); err != nil || string(data) != strings.Repeat("O", 50000) {
		t.Errorf("the file holds %d bytes, %v", len(data), err)
	}
	r = b.runnerWith(t, Options{SpillDir: "/dev/null/x"}, settings.Source{Settings: on(hooks.UserPromptSubmit,
		`REC u '{"big_stdout":50000}'`)})
	out = b.fire(t, r, hooks.UserPromptSubmitInput{Prompt: "p"})
	if result := onlyResult(t, out); !strings.Contains(result.Warning, "was cut") ||
		len(out.AdditionalContext[0]) > 3000 {
		t.Errorf("a spill that fails: %q, %d bytes", result.Warning, len(out.AdditionalContext[0]))
	}
}

// named gives policies by their names.
func named(policies map[string]Policy) func(string) Policy {
	return func(name string) Policy { return policies[name] }
}

func TestPolicies(t *testing.T) {
	b := newBench(t)
	policy := func(name string) hooks.Settings {
		return hooks.Settings{hooks.TeammateIdle: {{Hooks: []hooks.Handler{{Gate: true, Policy: name}}}}}
	}
	opts := Options{Policies: named(map[string]Policy{
		"ok": func(context.Context, hooks.Input) hooks.Result { return hooks.Result{Outcome: hooks.Success} },
		"no": func(_ context.Context, in hooks.Input) hooks.Result {
			return hooks.Result{Outcome: hooks.Blocking,
				Feedback: "no, " + in.Cwd}
		},
		"panic": func(context.Context, hooks.Input) hooks.Result { panic("ouch") },
		"error": func(context.Context, hooks.Input) hooks.Result { return hooks.Result{Outcome: hooks.NonBlockingError} },
	})}
	for name, want := range map[string]string{
		"ok": "", "no": "[no]: no, " + b.cwd, "panic": "[panic]: the policy panicked: ouch",
		"error":   "[error]: Blocked by hook",
		"missing": "[missing]: there is no policy of that name",
	} {
		out := b.fire(t, b.runnerWith(t, opts, settings.Source{Settings: policy(name)}), hooks.TeammateIdleInput{})
		result := onlyResult(t, out)
		if result.Type != "policy" || result.Command != name || (want == "") != (out.Decision == hooks.Pass) {
			t.Errorf("%s: %+v", name, out)
		}
		if want != "" && out.Feedback[0] != "TeammateIdle hook feedback:\n"+want {
			t.Errorf("%s: feedback %q, want %q", name, out.Feedback[0], want)
		}
	}
}

func TestGateFeedbackIsTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner(t, gateOn(hooks.TaskCompleted,
		`i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done; echo FAIL >&2; exit 1`))
	out := b.fire(t, r, hooks.TaskCompletedInput{TaskInput: hooks.TaskInput{TaskID: "1"}})
	text := out.Feedback[0]
	if !strings.HasSuffix(text, "\nline 2999\nFAIL") || !strings.Contains(text, "]: …\nline ") ||
		len(text) > tailCap+200 {
		t.Errorf("feedback of %d bytes: %q … %q", len(text), text[:200], text[len(text)-40:])
	}
	var limited hooks.Result
	untilEnough(func() bool { return limited.Stdout != "" }, func(seconds float64) {
		limited = onlyResult(t, b.fire(t, b.runner(t, limitTo(seconds, gateOn(hooks.Stop, "echo so far; sleep 600"))), hooks.StopInput{}))
	})
	if limited.Outcome != hooks.Blocking || !regexp.MustCompile(`timed out after \S+\nso far`).MatchString(limited.Feedback) {
		t.Errorf("a gate that hangs: %+v", limited)
	}
}

func TestSpawned(t *testing.T) {
	b := newBench(t)
	var told, released []int
	opts := Options{Spawned: func(pid int, s Spawn) func() {
		if s.Input.SessionID == "" || s.Depth != 1 || s.Hook.Command == "" {
			t.Errorf("told of %+v", s)
		}
		told = append(told, pid)
		return func() { released = append(released, pid) }
	}}
	b.fire(t, b.runnerWith(t, opts, settings.Source{Settings: on(hooks.Stop, "exit 2")}), hooks.StopInput{})
	if len(told) != 1 || !slices.Equal(told, released) {
		t.Errorf("told %v, released %v", told, released)
	}
}

// TestDepth: a hook within others needs no slot, knows how deep it is, and is not started when it
// would be one too many.
func TestDepth(t *testing.T) {
	b := newBench(t)
	deepest := 0
	opts := Options{Parallel: 1, Spawned: func(_ int, s Spawn) func() {
		deepest = s.Depth
		return func() {}
	}}
	r := b.runnerWith(t, opts, settings.Source{Settings: on(hooks.Stop, "echo depth=$COVEY_HOOK_DEPTH >&2; exit 2")})
	r.slots <- struct{}{} // the hook around it has the only one
	for depth := 1; depth < maxDepth; depth++ {
		out, err := r.Run(Inside(t.Context(), depth), b.input(hooks.StopInput{}), nil)
		if err != nil || deepest != depth+1 || !strings.Contains(strings.Join(out.Feedback, ""), fmt.Sprintf("depth=%d", depth+1)) {
			t.Errorf("within %d hooks: depth %d, %q, %v", depth, deepest, out.Feedback, err)
		}
	}
	out, err := r.Run(Inside(t.Context(), maxDepth), b.input(hooks.StopInput{}), nil)
	if err != nil || len(out.Results) != 1 || !strings.Contains(out.Results[0].Warning, "nested 4 deep") || deepest != maxDepth {
		t.Errorf("within %d hooks: %+v, %v", maxDepth, out, err)
	}
}

// TestBrokenConfiguration: one bad group does not take the others along, and
// each outcome of its event says what is wrong.
func TestBrokenConfiguration(t *testing.T) {
	b := newBench(t)
	hook := on(hooks.Stop, "REC good '{}'")[hooks.Stop][0].Hooks
	bad := on(hooks.Stop, "REC bad '{}'")[hooks.Stop][0].Hooks
	withIf := func(rule string) []hooks.Handler {
		return []hooks.Handler{{Type: "command", Command: "REC bad '{}'",
			If: rule}}
	}
	r := b.runnerWith(t, Options{}, settings.Source{Name: "a.json", Settings: hooks.Settings{
		hooks.PreToolUse: {{Matcher: "[", Hooks: bad}, {Hooks: withIf("Bash((")}, {Hooks: hook}},
		hooks.Stop:       {{Hooks: withIf("Bash(git *)")}},
	}})
	out := b.fire(t, r, hooks.PreToolUseInput{ToolName: "Bash", ToolInput: []byte(`{"command":"ls"}`)})
	if out.Matched != 1 || len(out.Warnings) != 2 || !strings.HasPrefix(out.Warnings[0],
		`a.json: matcher "["`) ||
		!strings.Contains(out.Warnings[1], "the hook never runs") {
		t.Errorf("%d matched, warnings %q", out.Matched, out.Warnings)
	}
	if out := b.fire(t, r, hooks.StopInput{}); out.Matched != 0 || len(out.Warnings) != 1 {
		t.Errorf("if on Stop: %d matched, warnings %q", out.Matched, out.Warnings)
	}
	if tags := b.tags(t); !slices.Equal(slices.Sorted(slices.Values(tags)), []string{"good"}) {
		t.Errorf("called %q", tags)
	}
}

func TestNewRunnerRefuses(t *testing.T) {
	for _, opts := range []Options{{OutputCap: -1}, {Parallel: -1}, {Grace: -1}} {
		if _, err := New(nil, &opts); err == nil {
			t.Errorf("%+v: no error", opts)
		}
	}
	r, err := New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := r.Run(t.Context(), hooks.Input{Payload: hooks.StopInput{}}, nil); err != nil ||
		out.Decision != hooks.Pass || out.ToolUseID == "" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestCustomIDsAndClock(t *testing.T) {
	b := newBench(t)
	now := time.Unix(0, 0)
	r := b.runnerWith(t, Options{NewID: func() string { return "id-1" },
		Now: func() time.Time { now = now.Add(time.Second); return now }},
		settings.Source{Settings: on(hooks.Stop, ":")})
	if out := b.fire(t, r, hooks.StopInput{}); out.ToolUseID != "id-1" || out.Results[0].Duration != time.Second {
		t.Errorf("%+v", out)
	}
}
