//go:build unix

package runner

import (
	"context"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	settingspkg "github.com/coveyteam/covey/hooks/settings"
)

// completing runs the gates on TaskCompleted.
func completing(t *testing.T, o *Options, settings hooks.Settings) hooks.Outcome {
	t.Helper()
	r, err := New([]settingspkg.Source{{Name: "gates", Settings: settings}}, o)
	if err != nil {
		t.Fatal(err)
	}
	in := hooks.Input{Common: hooks.Common{SessionID: "s", Cwd: t.TempDir()},
		Payload: hooks.TaskCompletedInput{TaskInput: hooks.TaskInput{TaskID: "1"}}}
	out, err := r.Run(t.Context(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGatesAreAskedFor(t *testing.T) {
	var asked []string
	var heard []hooks.Result
	plan := GateRun{OnVerdict: func(r hooks.Result) { heard = append(heard, r) }}
	o := &Options{Gates: func(_ context.Context, _ hooks.Input, gate hooks.Handler) GateRun {
		asked = append(asked, gate.Command)
		return plan
	}}
	gates := gateOn(hooks.TaskCompleted, "echo no >&2; exit 1")

	out := completing(t, o, gates)
	if out.Decision != hooks.Block || len(heard) != 1 || heard[0].Outcome != hooks.Blocking || heard[0].Feedback == "" {
		t.Errorf("as configured: %+v, heard %+v", out, heard)
	}
	plan.Command = "true"
	out = completing(t, o, gates)
	if out.Decision != hooks.Pass || out.Results[0].Command != "echo no >&2; exit 1" {
		t.Errorf("another command in its place: %+v", out)
	}
	plan = GateRun{Known: &hooks.Result{Outcome: hooks.Success}, OnVerdict: plan.OnVerdict}
	heard = nil
	out = completing(t, o, gates)
	if out.Decision != hooks.Pass || len(heard) != 0 || out.Results[0].Type != "command" {
		t.Errorf("a verdict that is known: %+v, heard %+v", out, heard)
	}
	plan = GateRun{Fault: "no script"}
	out = completing(t, o, gates)
	if out.Decision != hooks.Block || !strings.Contains(out.Feedback[0], "no script") {
		t.Errorf("a gate that cannot run: %+v", out)
	}
	if got := strings.Join(asked, "|"); got != strings.Repeat("echo no >&2; exit 1|", 3)+"echo no >&2; exit 1" {
		t.Errorf("asked for %q", got)
	}
}

func TestSettledGateIsNotLocated(t *testing.T) {
	for _, settled := range []bool{true, false} {
		out := completing(t, &Options{
			Gates:  func(context.Context, hooks.Input, hooks.Handler) GateRun { return GateRun{Final: settled} },
			Locate: func(hooks.Input, hooks.Handler) (string, []string) { return "exit 1", nil },
		}, gateOn(hooks.TaskCompleted, "true"))
		if (out.Decision == hooks.Pass) != settled {
			t.Errorf("settled %v: %+v", settled, out)
		}
	}
}

func TestGateInExecFormIsReplaced(t *testing.T) {
	gates := hooks.Settings{hooks.TaskCompleted: {{Hooks: []hooks.Handler{
		{Type: "command", Command: "false", Args: []string{"a"}, Gate: true},
	}}}}
	out := completing(t, &Options{Gates: func(context.Context, hooks.Input, hooks.Handler) GateRun {
		return GateRun{Command: "sh", Args: []string{"-c", "exit 0"}}
	}}, gates)
	if out.Decision != hooks.Pass {
		t.Errorf("%+v", out)
	}
}

// Only gates that are commands have verdicts that belong to files: a policy or a
// hook may look at anything.
func TestOnlyCommandGatesAreAskedFor(t *testing.T) {
	policy := hooks.Settings{hooks.TaskCompleted: {{Hooks: []hooks.Handler{{Policy: "fine", Gate: true}}}}}
	for name, settings := range map[string]hooks.Settings{"hook": on(hooks.TaskCompleted, "true"), "policy": policy} {
		out := completing(t, &Options{
			Policies: named(map[string]Policy{"fine": func(context.Context, hooks.Input) hooks.Result { return hooks.Result{Outcome: hooks.Success} }}),
			Gates: func(context.Context, hooks.Input, hooks.Handler) GateRun {
				t.Errorf("a %s was taken for a gate with a command", name)
				return GateRun{}
			},
		}, settings)
		if out.Decision != hooks.Pass || out.Matched != 1 {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestAbortedGateHasSaidNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := New([]settingspkg.Source{{Name: "gates", Settings: gateOn(hooks.TaskCompleted, "sleep 60")}}, &Options{
		Gates: func(context.Context, hooks.Input, hooks.Handler) GateRun {
			cancel()
			return GateRun{OnVerdict: func(r hooks.Result) { t.Errorf("heard %+v", r) }}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(ctx, hooks.Input{Payload: hooks.TaskCompletedInput{}}, nil); err == nil {
		t.Error("the run was not ended")
	}
}
