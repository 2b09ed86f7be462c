package teammate

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Several reasons to end a turn at once: the order of HOOKS.md section 9 decides. The journal
// and the transcript name the same one.
func TestOrderOfEnds(t *testing.T) {
	tooLong := &agent.APIError{Type: "invalid_request", Message: "too long", End: events.EndPromptTooLong}
	bash := []agent.ToolCall{callTool("c1", "Bash", `{}`)}
	halt := map[hooks.Event][]hooks.Outcome{hooks.PostToolUse: {haltFor("enough")}}
	for name, tc := range map[string]struct {
		answer    say // the first; a call of Bash is interrupted if interrupt is "in the tool"
		interrupt string
		hooks     map[hooks.Event][]hooks.Outcome
		maxTurns  int
		budget    bool
		want      string
		gates     string
	}{
		"abort before an error of the model": {answer: say{err: tooLong}, interrupt: "streaming", want: events.EndAbortedStreaming},
		"abort before a hook that stops": {answer: say{calls: bash}, interrupt: "in the tool", hooks: halt, maxTurns: 1, budget: true,
			want: events.EndAbortedTools},
		"a conversation that is too long before gates": {answer: say{err: tooLong}, maxTurns: 1, want: events.EndPromptTooLong,
			hooks: map[hooks.Event][]hooks.Outcome{hooks.Stop: {refuse("no")}}},
		"an error of the API before gates": {answer: say{err: &agent.APIError{Type: "overloaded"}}, maxTurns: 1, budget: true,
			hooks: map[hooks.Event][]hooks.Outcome{hooks.Stop: {refuse("no")}}, want: events.EndCompleted},
		"a hook that stops before max_turns": {answer: say{calls: bash}, hooks: halt, maxTurns: 1, budget: true, want: events.EndHookStopped},
		"gates before max_turns":             {answer: say{text: "done"}, maxTurns: 1, gates: "Stop TeammateIdle", want: events.EndCompleted},
		"a gate that stops before max_turns": {answer: say{text: "done"}, maxTurns: 1, budget: true, gates: "Stop",
			hooks: map[hooks.Event][]hooks.Outcome{hooks.Stop: {haltFor("enough")}}, want: events.EndStopPrevented},
		"max_turns after a refusal": {answer: say{text: "done"}, maxTurns: 1, budget: true, gates: "Stop",
			hooks: map[hooks.Event][]hooks.Outcome{hooks.Stop: {refuse("no")}}, want: events.EndMaxTurns},
		"max_turns before the budget": {answer: say{calls: bash}, maxTurns: 1, budget: true, want: events.EndMaxTurns},
		"the budget before the end":   {answer: say{calls: bash}, maxTurns: 2, budget: true, want: events.EndMaxTokens},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			var m *Teammate
			interrupt := func(ctx context.Context) {
				m.Interrupt("enough")
				<-ctx.Done()
			}
			if tc.interrupt == "streaming" {
				tc.answer.do = interrupt
			}
			if tc.interrupt == "in the tool" {
				r.opts.Tools = []agent.Tool{fakeTool{spec: agent.Spec{Name: "Bash"},
					run: func(ctx context.Context, _ agent.ToolCall) agent.ToolResult {
						interrupt(ctx)
						return agent.Failed("cut off")
					}}}
			}
			r.runner.answer = on(tc.hooks)
			r.opts.Limits.MaxTurns = tc.maxTurns
			if tc.budget {
				r.opts.Purse = &purse{limit: 1}
			}
			r.agent.script = []say{tc.answer, {text: "more"}}
			m = r.member(t)
			if err := m.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			equal(t, "journal", one[events.TurnEnded](t, r.journal).Reason, tc.want)
			equal(t, "transcript", endsIn(t, r.path), []string{tc.want})
			var gates []string
			for _, e := range []hooks.Event{hooks.Stop, hooks.TaskCompleted, hooks.TeammateIdle} {
				if len(r.runner.of(e)) > 0 {
					gates = append(gates, string(e))
				}
			}
			equal(t, "gates", strings.Join(gates, " "), tc.gates)
		})
	}
}

// endsIn returns the reasons of the ends of turns in a transcript.
func endsIn(t *testing.T, path string) (ends []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(data)) {
		var ln transcript.Line
		if err := json.Unmarshal([]byte(text), &ln); err != nil {
			t.Fatal(err)
		}
		if ln.Subtype == transcript.TurnEnded {
			ends = append(ends, ln.Reason)
		}
	}
	return ends
}
