//go:build unix

package hooks

import (
	"context"
	"slices"
	"testing"
)

// TestAwait: a gate that waits is neither a yes nor a no. Its question is put once
// nothing else refuses, and no text of another gate is taken for it.
func TestAwait(t *testing.T) {
	const quotes = "echo 'this task waits for the approval of rev' >&2; exit 1"
	const refuses1 = "echo no >&2; exit 1"
	const halts = `echo '{"continue": false, "stopReason": "enough"}'`
	waiting := Handler{Policy: "approve:rev", Gate: true}
	command := func(line string) Handler { return Handler{Type: "command", Command: line, Gate: true} }
	said := Result{Outcome: Awaiting, Wait: &Wait{For: "the approval of rev"}, Feedback: "end your turn"}
	for name, tc := range map[string]struct {
		gates    []Handler
		answer   Result // what putting the question comes to
		want     Decision
		feedback []string
		awaits   string
		asked    int
	}{
		"alone": {[]Handler{waiting}, said, Await, []string{"end your turn"}, "the approval of rev", 1},
		"beside one that agrees": {[]Handler{waiting, command("true")}, said, Await, []string{"end your turn"},
			"the approval of rev", 1},
		"beside one that refuses": {[]Handler{waiting, command(refuses1)}, said, Block,
			[]string{"TaskCompleted hook feedback:\n[" + refuses1 + "]: no"}, "", 0},
		"beside one that quotes it": {[]Handler{waiting, command(quotes)}, said, Block,
			[]string{"TaskCompleted hook feedback:\n[" + quotes + "]: this task waits for the approval of rev"}, "", 0},
		"a quotation alone": {[]Handler{command(quotes)}, said, Block,
			[]string{"TaskCompleted hook feedback:\n[" + quotes + "]: this task waits for the approval of rev"}, "", 0},
		"beside one that halts": {[]Handler{waiting, command(halts)}, said, Halt,
			[]string{"TaskCompleted hook feedback:\n[" + halts + "]: enough"}, "", 0},
		"nobody can be asked": {[]Handler{waiting}, Result{Outcome: Blocking, Feedback: "rev has left"}, Block,
			[]string{"TaskCompleted hook feedback:\nrev has left"}, "", 1},
		"answered meanwhile": {[]Handler{waiting}, Result{Outcome: Success}, Pass, nil, "", 1},
		"only observed":      {[]Handler{{Policy: "approve:rev", Gate: true, Mode: Observe}}, said, Pass, nil, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			opts := &Options{Policies: func(string) Policy {
				return func(context.Context, Input) Result {
					first := said
					first.Wait = &Wait{For: said.Wait.For, Ask: func(context.Context) Result { asked++; return tc.answer }}
					return first
				}
			}}
			out := completing(t, opts, Settings{TaskCompleted: {{Hooks: tc.gates}}})
			if out.Decision != tc.want || !slices.Equal(out.Feedback, tc.feedback) || out.Awaits != tc.awaits || asked != tc.asked {
				t.Errorf("%s, feedback %q, awaits %q, asked %d times", out.Decision, out.Feedback, out.Awaits, asked)
			}
			if out.Continues() != (tc.want == Block) {
				t.Errorf("continues: %v", out.Continues())
			}
		})
	}
}
