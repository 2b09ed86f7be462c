//go:build unix

package runner

import (
	"context"
	"slices"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// TestAwait: a gate that waits is neither a yes nor a no. Its question is put once
// nothing else refuses, and no text of another gate is taken for it.
func TestAwait(t *testing.T) {
	const quotes = "echo 'this task waits for the approval of rev' >&2; exit 1"
	const refuses1 = "echo no >&2; exit 1"
	const halts = `echo '{"continue": false, "stopReason": "enough"}'`
	waiting := hooks.Handler{Policy: "approve:rev", Gate: true}
	command := func(line string) hooks.Handler { return hooks.Handler{Type: "command", Command: line, Gate: true} }
	said := hooks.Result{Outcome: hooks.Awaiting, Wait: &hooks.Wait{For: "the approval of rev"}, Feedback: "end your turn"}
	for name, tc := range map[string]struct {
		gates    []hooks.Handler
		answer   hooks.Result // what putting the question comes to
		want     hooks.Decision
		feedback []string
		awaits   string
		asked    int
	}{
		"alone": {[]hooks.Handler{waiting}, said, hooks.Await, []string{"end your turn"}, "the approval of rev", 1},
		"beside one that agrees": {[]hooks.Handler{waiting, command("true")}, said, hooks.Await, []string{"end your turn"},
			"the approval of rev", 1},
		"beside one that refuses": {[]hooks.Handler{waiting, command(refuses1)}, said, hooks.Block,
			[]string{"TaskCompleted hook feedback:\n[" + refuses1 + "]: no"}, "", 0},
		"beside one that quotes it": {[]hooks.Handler{waiting, command(quotes)}, said, hooks.Block,
			[]string{"TaskCompleted hook feedback:\n[" + quotes + "]: this task waits for the approval of rev"}, "", 0},
		"a quotation alone": {[]hooks.Handler{command(quotes)}, said, hooks.Block,
			[]string{"TaskCompleted hook feedback:\n[" + quotes + "]: this task waits for the approval of rev"}, "", 0},
		"beside one that halts": {[]hooks.Handler{waiting, command(halts)}, said, hooks.Halt,
			[]string{"TaskCompleted hook feedback:\n[" + halts + "]: enough"}, "", 0},
		"nobody can be asked": {[]hooks.Handler{waiting}, hooks.Result{Outcome: hooks.Blocking, Feedback: "rev has left"}, hooks.Block,
			[]string{"TaskCompleted hook feedback:\nrev has left"}, "", 1},
		"answered meanwhile": {[]hooks.Handler{waiting}, hooks.Result{Outcome: hooks.Success}, hooks.Pass, nil, "", 1},
		"only observed":      {[]hooks.Handler{{Policy: "approve:rev", Gate: true, Mode: hooks.Observe}}, said, hooks.Pass, nil, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			opts := &Options{Policies: func(string) Policy {
				return func(context.Context, hooks.Input) hooks.Result {
					first := said
					first.Wait = &hooks.Wait{For: said.Wait.For, Ask: func(context.Context) hooks.Result { asked++; return tc.answer }}
					return first
				}
			}}
			out := completing(t, opts, hooks.Settings{hooks.TaskCompleted: {{Hooks: tc.gates}}})
			if out.Decision != tc.want || !slices.Equal(out.Feedback, tc.feedback) || out.Awaits != tc.awaits || asked != tc.asked {
				t.Errorf("%s, feedback %q, awaits %q, asked %d times", out.Decision, out.Feedback, out.Awaits, asked)
			}
			if out.Continues() != (tc.want == hooks.Block) {
				t.Errorf("continues: %v", out.Continues())
			}
		})
	}
}
