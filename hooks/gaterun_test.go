//go:build unix

package hooks

import (
	"context"
	"strings"
	"testing"
)

// completing runs the gates on TaskCompleted.
func completing(t *testing.T, o *Options, settings Settings) Outcome {
	t.Helper()
	r, err := NewRunner([]Source{{Name: "gates", Settings: settings}}, o)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Common: Common{SessionID: "s", Cwd: t.TempDir()},
		Payload: TaskCompletedInput{TaskInput: TaskInput{TaskID: "1"}}}
	out, err := r.Run(t.Context(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGatesAreAskedFor(t *testing.T) {
	var asked []string
	var heard []Result
	plan := GateRun{Heard: func(r Result) { heard = append(heard, r) }}
	o := &Options{Gates: func(_ context.Context, _ Input, gate Handler) GateRun {
		asked = append(asked, gate.Command)
		return plan
	}}
	gates := gateOn(TaskCompleted, "echo no >&2; exit 1")

	out := completing(t, o, gates)
	if out.Decision != Block || len(heard) != 1 || heard[0].Outcome != Blocking || heard[0].Feedback == "" {
		t.Errorf("as configured: %+v, heard %+v", out, heard)
	}
	plan.Command = "true"
	out = completing(t, o, gates)
	if out.Decision != Pass || out.Results[0].Command != "echo no >&2; exit 1" {
		t.Errorf("another command in its place: %+v", out)
	}
	plan = GateRun{Known: &Result{Outcome: Success}, Heard: plan.Heard}
	heard = nil
	out = completing(t, o, gates)
	if out.Decision != Pass || len(heard) != 0 || out.Results[0].Type != "command" {
		t.Errorf("a verdict that is known: %+v, heard %+v", out, heard)
	}
	plan = GateRun{Fault: "no script"}
	out = completing(t, o, gates)
	if out.Decision != Block || !strings.Contains(out.Feedback[0], "no script") {
		t.Errorf("a gate that cannot run: %+v", out)
	}
	if got := strings.Join(asked, "|"); got != strings.Repeat("echo no >&2; exit 1|", 3)+"echo no >&2; exit 1" {
		t.Errorf("asked for %q", got)
	}
}

func TestSettledGateIsNotLocated(t *testing.T) {
	for _, settled := range []bool{true, false} {
		out := completing(t, &Options{
			Gates:  func(context.Context, Input, Handler) GateRun { return GateRun{Settled: settled} },
			Locate: func(Input, Handler) (string, []string) { return "exit 1", nil },
		}, gateOn(TaskCompleted, "true"))
		if (out.Decision == Pass) != settled {
			t.Errorf("settled %v: %+v", settled, out)
		}
	}
}

func TestGateInExecFormIsReplaced(t *testing.T) {
	gates := Settings{TaskCompleted: {{Hooks: []Handler{
		{Type: "command", Command: "false", Args: []string{"a"}, Gate: true},
	}}}}
	out := completing(t, &Options{Gates: func(context.Context, Input, Handler) GateRun {
		return GateRun{Command: "sh", Args: []string{"-c", "exit 0"}}
	}}, gates)
	if out.Decision != Pass {
		t.Errorf("%+v", out)
	}
}

// Only gates that are commands have verdicts that belong to files: a policy or a
// hook may look at anything.
func TestOnlyCommandGatesAreAskedFor(t *testing.T) {
	policy := Settings{TaskCompleted: {{Hooks: []Handler{{Policy: "fine", Gate: true}}}}}
	for name, settings := range map[string]Settings{"hook": on(TaskCompleted, "true"), "policy": policy} {
		out := completing(t, &Options{
			Policies: named(map[string]Policy{"fine": func(context.Context, Input) Result { return Result{Outcome: Success} }}),
			Gates: func(context.Context, Input, Handler) GateRun {
				t.Errorf("a %s was taken for a gate with a command", name)
				return GateRun{}
			},
		}, settings)
		if out.Decision != Pass || out.Matched != 1 {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestAbortedGateHasSaidNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := NewRunner([]Source{{Name: "gates", Settings: gateOn(TaskCompleted, "sleep 60")}}, &Options{
		Gates: func(context.Context, Input, Handler) GateRun {
			cancel()
			return GateRun{Heard: func(r Result) { t.Errorf("heard %+v", r) }}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(ctx, Input{Payload: TaskCompletedInput{}}, nil); err == nil {
		t.Error("the run was not ended")
	}
}
