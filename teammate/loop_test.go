package teammate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/transcript"
)

func person(text, id string) agent.Input {
	return agent.Input{Kind: agent.FromPerson, Text: text, MessageID: id}
}

func mailed(text, id string) agent.Input {
	return agent.Input{Kind: agent.FromMail, Text: text, MessageID: id}
}

// ctxOf is an outcome that gives a context, as a real runner words it.
func ctxOf(event hooks.Event, text string) hooks.Outcome {
	return hooks.Outcome{AdditionalContext: []string{
		fmt.Sprintf("<system-reminder>\n%s hook additional context: %s\n</system-reminder>", event, text),
	}}
}

// What hooks give as context stands before the prompt (golden: ss_context,
// ups_context), and only prompts of people are submitted.
func TestPromptContexts(t *testing.T) {
	r := newRig(t)
	r.inbox.work = []Work{
		{Cause: events.ByGoal, Inputs: []agent.Input{person("ship it", "goal")}},
		{Cause: events.ByMessage, Inputs: []agent.Input{mailed("hi", "m1")}},
	}
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{
		hooks.SessionStart:     {ctxOf(hooks.SessionStart, "a")},
		hooks.UserPromptSubmit: {ctxOf(hooks.UserPromptSubmit, "b")},
	})
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{
		"user: <system-reminder>\nSessionStart hook additional context: a\n</system-reminder>",
		"user: <system-reminder>\nUserPromptSubmit hook additional context: b\n</system-reminder>",
		"user: ship it", "assistant: end 3", "user: hi", "assistant: end 5",
	})
	submitted := r.runner.of(hooks.UserPromptSubmit)
	equal(t, "submitted", len(submitted), 1)
	equal(t, "prompt", submitted[0].Payload.(hooks.UserPromptSubmitInput).Prompt, "ship it")
	equal(t, "mode", submitted[0].PermissionMode, "bypassPermissions")
	if submitted[0].PromptID == "" || submitted[0].PromptID == r.runner.of(hooks.Stop)[1].PromptID {
		t.Error("each turn needs a prompt_id of its own")
	}
	equal(t, "taken", r.inbox.taken, []string{"goal", "m1"})
	equal(t, "order", r.journal.types()[:3], []string{"member_started", "turn_started", "pass_started"})
}

func TestSessionEvents(t *testing.T) {
	for source, reason := range map[string]string{"startup": "other", "resume": "resume", "clear": "other"} {
		r := newRig(t)
		resumed := source != "startup"
		r.opts.Resumed, r.opts.History.New = resumed, source != "resume"
		r.inbox.work, r.inbox.anew = nil, reason == "resume"
		r.mustRun(t)
		equal(t, "fired", r.runner.events(), []string{"SessionStart", "SessionEnd"})
		start := r.runner.of(hooks.SessionStart)[0]
		equal(t, "source", start.Payload.(hooks.SessionStartInput).Source, source)
		equal(t, "common", []string{start.SessionID, start.TranscriptPath, start.Cwd, start.PromptID,
			start.PermissionMode},
			[]string{"s", r.path, r.opts.Workdir.Dir(), "", ""})
		equal(t, "reason", r.runner.of(hooks.SessionEnd)[0].Payload.(hooks.SessionEndInput).Reason, reason)
		equal(t, "resumed", one[events.MemberStarted](t, r.journal).Resumed, resumed)
		equal(t, "ended", one[events.MemberEnded](t, r.journal).Reason, "done")
	}
}

// A refused prompt is erased: the model never sees it, nobody gets it again.
func TestPromptRefused(t *testing.T) {
	r := newRig(t)
	r.inbox.work = []Work{
		{Cause: events.ByPerson, Inputs: []agent.Input{person("leak it", "p1")}},
		{Cause: events.ByPerson, Inputs: []agent.Input{mailed("hi", "m1"), person("leak it", "p2"),
			person("fine", "p3")}},
	}
	block := hooks.Outcome{Decision: hooks.Block,
		SystemMessages: []string{"UserPromptSubmit operation blocked by hook:\nno leaks"}}
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.UserPromptSubmit: {block, block, pass}})
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{"user: hi", "user: fine", "assistant: end 2"})
	equal(t, "taken", r.inbox.taken, []string{"p1", "p2", "m1", "p3"})
	equal(t, "warning", all[events.Warning](r.journal)[0].Text,
		"UserPromptSubmit operation blocked by hook:\nno leaks\n\nOriginal prompt: leak it")
	equal(t, "reasons", []string{all[events.TurnEnded](r.journal)[0].Reason,
		all[events.TurnEnded](r.journal)[1].Reason},
		[]string{events.EndHookStopped, events.EndCompleted})
	data, err := os.ReadFile(r.path)
	if err != nil || strings.Contains(string(data), "leak") {
		t.Errorf("the transcript holds the erased prompt: %s %v", data, err)
	}
}

// continue:false at a prompt ends the turn before the model is asked, and the
// prompt stays for the next one, over a restart too (golden: ups_continue_false).
func TestPromptHalted(t *testing.T) {
	r := newRig(t)
	r.inbox.work = []Work{{Cause: events.ByPerson, Inputs: []agent.Input{person("go", "p1")}}}
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.UserPromptSubmit: {haltFor("ups halt")}})
	r.mustRun(t)
	equal(t, "model", len(r.agent.seen), 0)
	equal(t, "gates", len(r.gates()), 0)
	equal(t, "taken", r.inbox.taken, []string{"p1"})
	equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, events.EndHookStopped)
	equal(t, "warning", one[events.Warning](t, r.journal).Text, "Operation stopped by hook: ups halt")

	r.reopen(t)
	r.inbox.work = []Work{{Cause: events.ByPerson, Inputs: []agent.Input{person("go on", "p2")}}}
	r.mustRun(t)
	equal(t, "model later", r.agent.seen, []string{"user: go", "user: go on", "assistant: end 2"})
}

// A prompt of a person that comes while the agent works is submitted, too.
func TestPromptAmongMail(t *testing.T) {
	for name, test := range map[string]struct {
		out  hooks.Outcome
		seen []string
		end  string
	}{
		"passes": {pass, []string{"user: hello", "user: faster", "assistant: end 2"}, events.EndCompleted},
		"refused": {hooks.Outcome{Decision: hooks.Block}, []string{"user: hello", "assistant: end 1"},
			events.EndCompleted},
		"halts": {haltFor("stop"), []string{"user: hello"}, events.EndHookStopped},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.inbox.waiting = []agent.Input{person("faster", "p1")}
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.UserPromptSubmit: {test.out}})
			r.mustRun(t)
			equal(t, "model", r.agent.seen, test.seen)
			equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, test.end)
			equal(t, "waiting", len(r.inbox.waiting), 0)
		})
	}
}

// golden: stop_cap_default_json, i_team_idle_block_forever.
func TestBlockCap(t *testing.T) {
	r := newRig(t)
	r.inbox.work = append(r.inbox.work, Work{Cause: events.ByMessage, Inputs: []agent.Input{mailed("next", "m2")}})
	no := refuse("Stop hook feedback:\nnever")
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {no, no, no, no, no, no, no, no, no, pass}})
	r.mustRun(t)
	equal(t, "Stop runs", len(r.runner.of(hooks.Stop)), 10)
	end := all[events.TurnEnded](r.journal)[0]
	equal(t, "end", []any{end.Reason, end.Passes}, []any{"completed", 9})
	equal(t, "attention", one[events.NeedsAttention](t, r.journal).Reason,
		"the gates refused its turn end 9 times in a row, the last time Stop: ./gate.sh (in "+r.opts.Workdir.Dir()+"): never")
	equal(t, "idle", all[events.Idle](r.journal)[0].Reason, events.IdleLimited)
	if w := one[events.Warning](t, r.journal).Text; !strings.Contains(w, "9 times in a row") ||
		!strings.Contains(w, "never") {
		t.Error(w)
	}
	n := len(r.agent.seen)
	equal(t, "next turn", r.agent.seen[n-3:n-1], []string{"user: Stop hook feedback:\nnever", "user: next"})
}

// golden: stop_cap_toolcalls_between. A tool call starts the count again, and
// stop_hook_active stays.
func TestBlockCapToolCallsBetween(t *testing.T) {
	r := newRig(t)
	for i := range 12 {
		r.agent.script = append(r.agent.script, say{text: "x"},
			say{calls: []agent.ToolCall{callTool(fmt.Sprintf("c%d", i), "Bash", `{}`)}})
	}
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {refuse("Stop hook feedback:\nnever")}})
	r.mustRun(t)
	stops := r.runner.of(hooks.Stop)
	equal(t, "Stop runs", len(stops), 12+9)
	for i, in := range stops {
		equal(t, "stop_hook_active", in.Payload.(hooks.StopInput).StopHookActive, i > 0)
	}
	data, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range strings.Split(string(data), "\n") { // a resumed turn counts from these
		if strings.Contains(raw, `"tool_result"`) && strings.Contains(raw, `"refusals"`) {
			t.Error("a result after a tool call carries an old count:", raw)
		}
	}
}

// Calls that an agent makes without the host count as well.
func TestBlockCapForeignToolCalls(t *testing.T) {
	r := newRig(t)
	runs := 0
	r.opts.Agent = agentFunc(func(context.Context, []agent.Input, agent.Host) (agent.Reply, error) {
		runs++
		return agent.Reply{Text: "x", ToolCalls: min(max(0, 5-runs), 1)}, nil
	})
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {refuse("Stop hook feedback:\nnever")}})
	r.mustRun(t)
	equal(t, "runs", runs, 4+8)
}

// A cap of 0 is none; then max_turns ends it.
func TestNoBlockCap(t *testing.T) {
	r := newRig(t)
	r.opts.Limits = Limits{MaxTurns: 40}
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {refuse("Stop hook feedback:\nnever")}})
	r.mustRun(t)
	equal(t, "Stop runs", len(r.runner.of(hooks.Stop)), 40)
	equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, events.EndMaxTurns)
}

// golden: max_turns. The results of the last pass are collected, no gate runs.
func TestMaxTurns(t *testing.T) {
	r := newRig(t)
	r.opts.Limits.MaxTurns = 2
	for i := range 3 {
		r.agent.script = append(r.agent.script, say{calls: []agent.ToolCall{callTool(fmt.Sprintf("c%d", i),
			"Bash", `{}`)}})
	}
	r.inbox.work = append(r.inbox.work, Work{Cause: events.ByNudge,
		Inputs: []agent.Input{{Kind: agent.FromCovey, Text: "go on"}}})
	r.mustRun(t)
	fired := slices.DeleteFunc(r.gates(), func(name string) bool { return name == "Notification" }) // beside the turn
	equal(t, "fired", fired, []string{"PreToolUse", "PostToolUse", "PreToolUse", "PostToolUse",
		"PreToolUse", "PostToolUse", "Stop", "TeammateIdle"})
	equal(t, "end", all[events.TurnEnded](r.journal)[0].Reason, "max_turns")
	equal(t, "attention", one[events.NeedsAttention](t, r.journal).Reason,
		"limits.max_turns reached: 2 passes in this turn")
	equal(t, "the next turn starts to count anew", all[events.TurnEnded](r.journal)[1].Reason, "completed")
}

func TestMaxTokens(t *testing.T) {
	r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Bash", `{}`)}}, say{text: "never"})
	r.opts.Purse = &purse{limit: 11}
	r.mustRun(t)
	equal(t, "end", one[events.TurnEnded](t, r.journal),
		events.TurnEnded{Reason: events.EndMaxTokens, Usage: agent.Usage{InputTokens: 10, OutputTokens: 1}, CostUSD: 11, Passes: 1})
	equal(t, "attention", one[events.NeedsAttention](t, r.journal).Reason,
		"limits.max_tokens reached: 11 of 11 tokens")
}

func TestTurnTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, say{do: func(ctx context.Context) { <-ctx.Done() }}, say{text: "better"})
		r.opts.Limits.TurnTimeout = 10 * time.Minute
		r.inbox.work = append(r.inbox.work, Work{Cause: events.ByMessage,
			Inputs: []agent.Input{mailed("again", "m2")}})
		r.mustRun(t)
		equal(t, "reason", all[events.TurnEnded](r.journal)[0].Reason, events.EndTurnTimeout)
		gates := slices.DeleteFunc(r.gates(), func(name string) bool { return name == "Notification" })
		equal(t, "gates", gates, []string{"Stop", "TeammateIdle"})
		equal(t, "model", r.agent.seen, []string{"user: hello", "user: [Turn ended after 10m0s, its time limit]",
			"user: again", "assistant: better"})
	})
}

// golden: interrupt_control.
func TestInterrupt(t *testing.T) {
	for name, inTool := range map[string]bool{"while the model answers": false, "in a tool": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			var m *Teammate
			wait := func(ctx context.Context) {
				m.Interrupt("enough")
				<-ctx.Done()
			}
			want, reason := []string{"user: hello"}, events.EndAbortedStreaming
			r.agent.script = []say{{do: wait}}
			if inTool {
				r.agent.script = []say{{calls: []agent.ToolCall{callTool("c1", "Slow", `{}`), callTool("c2",
					"Slow", `{}`)}}}
				r.opts.Tools = []agent.Tool{fakeTool{spec: agent.Spec{Name: "Slow"},
					run: func(ctx context.Context, _ agent.ToolCall) agent.ToolResult {
						wait(ctx)
						return agent.ToolResult{Content: "cut off", IsError: true}
					}}}
				want, reason = append(want, "error: cut off", "error: interrupted"), events.EndAbortedTools
			}
			r.inbox.work = append(r.inbox.work, Work{Cause: events.ByPerson,
				Inputs: []agent.Input{person("two", "p2")}})
			m = r.member(t)
			r.agent.script = append(r.agent.script, say{text: "after"})
			if err := m.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			equal(t, "model", r.agent.seen, append(want, "user: [Request interrupted by user]", "user: two",
				"assistant: after"))
			equal(t, "reason", all[events.TurnEnded](r.journal)[0].Reason, reason)
			equal(t, "idle", all[events.Idle](r.journal)[0].Reason, events.IdleInterrupted)
			equal(t, "attention", len(all[events.NeedsAttention](r.journal)), 0)
			equal(t, "people read", one[events.Warning](t, r.journal).Text, "the turn was interrupted: enough")
			if inTool {
				failure := r.runner.of(hooks.PostToolUseFailure)[0].Payload.(hooks.PostToolUseFailureInput)
				equal(t, "is_interrupt", failure.IsInterrupt, true)
			}
		})
	}
}

// An interrupt at the prompt's hooks keeps the prompt.
func TestInterruptAtPrompt(t *testing.T) {
	r := newRig(t)
	r.inbox.work = []Work{
		{Cause: events.ByPerson, Inputs: []agent.Input{person("one", "p1")}},
		{Cause: events.ByPerson, Inputs: []agent.Input{person("two", "p2")}},
	}
	m := r.member(t)
	r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
		if p, ok := in.Payload.(hooks.UserPromptSubmitInput); ok && p.Prompt == "one" {
			m.Interrupt("enough")
		}
		return pass, nil
	}
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "model", r.agent.seen, []string{"user: one", "user: [Request interrupted by user]",
		"user: two", "assistant: end 3"})
	equal(t, "taken", r.inbox.taken, []string{"p1", "p2"})
}

// Interrupts may come at any time, from anywhere.
func TestInterruptAnyTime(t *testing.T) {
	r := newRig(t)
	for i := range 30 {
		r.inbox.work = append(r.inbox.work, Work{Cause: events.ByMessage, Inputs: []agent.Input{mailed("go",
			fmt.Sprint("n", i))}})
	}
	m := r.member(t)
	m.Interrupt("before Run")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				m.Interrupt("now")
			}
		}
	}()
	if err := m.Run(t.Context()); err != nil {
		t.Error(err)
	}
	close(stop)
	<-done
	m.Interrupt("after Run")
	equal(t, "turns", len(all[events.TurnEnded](r.journal)), 31)
	equal(t, "mail taken", len(r.inbox.taken), 31)
}

// A member that is told to stop leaves its turn open; the next life goes on
// with it, and no mail is shown twice.
func TestStopAndResume(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	told := errors.New("told to stop")
	r.agent.script = []say{
		{text: "one", calls: []agent.ToolCall{callTool("c1", "Bash", `{}`)}},
		{do: func(context.Context) { cancel(told) }},
	}
	if err := r.member(t).Run(ctx); !errors.Is(err, told) {
		t.Fatal(err)
	}
	equal(t, "end", one[events.MemberEnded](t, r.journal).Reason, "stopped")
	equal(t, "idle", len(all[events.Idle](r.journal)), 0)
	equal(t, "gates", r.gates(), []string{"PreToolUse", "PostToolUse"})

	r.reopen(t, say{text: "two"})
	r.inbox.work = []Work{{Cause: events.ByMessage, Inputs: []agent.Input{mailed("hello", "m1")}}} // as if never confirmed
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{"assistant: two"})
	equal(t, "cause", one[events.TurnStarted](t, r.journal), events.TurnStarted{Cause: events.ByResume})
	equal(t, "turn", r.journal.events[1].Turn, 1)
	equal(t, "pass", one[events.PassStarted](t, r.journal).Pass, 2)
	equal(t, "fired", r.gates(), []string{"Stop", "TeammateIdle"})
	equal(t, "taken again", r.inbox.taken, []string{"m1", "m1"})
	if r.runner.of(hooks.Stop)[0].PromptID == "" {
		t.Error("the turn lost its prompt_id")
	}
}

// A turn that was cut off between the agent's last word and the gates goes on
// with the gates, with the count of refusals it had.
func TestResumeAtGates(t *testing.T) {
	r := newRig(t)
	refused := spoken(agent.User, "Stop hook feedback:\nno")
	refused.Refusals = 8
	r.cutOff(t, 3, spoken(agent.User, "go"), spoken(agent.Assistant, "one"), refused, spoken(agent.Assistant, "two"))
	r.reopen(t)
	r.inbox.work = nil
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {refuse("Stop hook feedback:\nno")}})
	r.mustRun(t)
	equal(t, "model", len(r.agent.seen), 0)
	stop := r.runner.of(hooks.Stop)
	equal(t, "Stop runs", len(stop), 1)
	equal(t, "input", []any{stop[0].Payload.(hooks.StopInput).StopHookActive,
		stop[0].Payload.(hooks.StopInput).LastAssistantMessage},
		[]any{true, "two"})
	equal(t, "attention", one[events.NeedsAttention](t, r.journal).Reason,
		"the gates refused its turn end 9 times in a row, the last time Stop: ./gate.sh (in "+r.opts.Workdir.Dir()+"): no")
}

// An agent that cannot resume is told what happened; its calls get a result.
func TestResumeWithoutResumer(t *testing.T) {
	r := newRig(t)
	calls := spoken(agent.Assistant, "one")
	calls.Message.Content = append(calls.Message.Content, agent.Block{Type: agent.ToolUseBlock, ID: "a", Name: "Bash"},
		agent.Block{Type: agent.ToolUseBlock, ID: "b", Name: "Bash"})
	answered := spoken(agent.User)
	answered.Message.Content = []agent.Block{{Type: agent.ToolResultBlock, ToolUseID: "a", Content: "ok"}}
	r.cutOff(t, 1, spoken(agent.User, "go"), calls, answered)
	r.reopen(t)
	r.inbox.work = nil
	var prompt []agent.Input
	r.opts.Agent = agentFunc(func(_ context.Context, p []agent.Input, h agent.Host) (agent.Reply, error) {
		prompt = p
		return agent.Reply{Text: "fine"}, nil
	})
	r.mustRun(t)
	equal(t, "prompt", agent.Texts(prompt), []string{transcript.CutNotice})
	equal(t, "result", one[events.ToolReturned](t, r.journal), events.ToolReturned{ID: "b", Name: "Bash",
		IsError: true, Content: "interrupted"})
	h := history(t, r.path)
	equal(t, "cut", h.Cut == nil, true)
	equal(t, "last", h.Messages[len(h.Messages)-1].Text(), "fine")
}

type agentFunc func(context.Context, []agent.Input, agent.Host) (agent.Reply, error)

func (f agentFunc) Run(ctx context.Context, prompt []agent.Input, h agent.Host) (agent.Reply, error) {
	return f(ctx, prompt, h)
}

// Mail that waits is shown with a request, and goes along with feedback, after it.
func TestMailInTheMiddle(t *testing.T) {
	r := newRig(t, say{text: "one", calls: []agent.ToolCall{callTool("c1", "Bash", `{}`)}},
		say{text: "two"}, say{text: "three"})
	r.inbox.waiting = []agent.Input{mailed("first", "m2")}
	r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
		if p, ok := in.Payload.(hooks.StopInput); ok && !p.StopHookActive {
			r.inbox.waiting = []agent.Input{mailed("second", "m3")}
			return refuse("Stop hook feedback:\nno"), nil
		}
		return pass, nil
	}
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{"user: hello", "user: first", "assistant: one", "result: ran",
		"assistant: two",
		"user: Stop hook feedback:\nno", "user: second", "assistant: three"})
	equal(t, "taken", r.inbox.taken, []string{"m1", "m2", "m3"})
}

// Mail is on the disk before it is confirmed, and is not shown twice when the
// confirmation fails.
func TestMailOnce(t *testing.T) {
	r := newRig(t, say{text: "one", calls: []agent.ToolCall{callTool("c1", "Bash", `{}`)}})
	r.inbox.waiting = []agent.Input{mailed("hello", "m1")}
	r.inbox.broken = errors.New("store is gone")
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{"user: hello", "assistant: one", "result: ran", "assistant: end 3"})
	if !slices.Contains(r.journal.types(), "warning") {
		t.Error("nobody was told")
	}
	r.inbox.broken = nil
	r.inbox.work = []Work{{Cause: events.ByMessage, Inputs: []agent.Input{mailed("hello", "m1")}}}
	r.reopen(t)
	r.mustRun(t)
	equal(t, "model later", len(r.agent.seen), 0)
	equal(t, "taken", r.inbox.taken, []string{"m1"})
}

// The same mail, worded anew by its inbox, is not given twice in one Run.
func TestMailGivenOnce(t *testing.T) {
	r := newRig(t)
	r.inbox.waiting = []agent.Input{mailed("2 new messages", "m2")}
	var given [][]agent.Input
	r.opts.Agent = agentFunc(func(ctx context.Context, _ []agent.Input, h agent.Host) (agent.Reply, error) {
		for range 2 {
			mail, err := h.Pass(ctx)
			if err != nil {
				return agent.Reply{}, err
			}
			given = append(given, mail)
			r.inbox.waiting = []agent.Input{mailed("3 new messages", "m2")}
		}
		return agent.Reply{}, nil
	})
	r.mustRun(t)
	equal(t, "mail", []int{len(given[0]), len(given[1])}, []int{1, 0})
}

// A halt at a prompt that came with a refusal ends the turn; the prompt and the
// feedback are for the next one.
func TestPromptHaltedAfterRefusal(t *testing.T) {
	r := newRig(t, say{text: "one"}, say{text: "two"})
	r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
		switch p := in.Payload.(type) {
		case hooks.StopInput:
			if p.LastAssistantMessage == "one" {
				r.inbox.waiting = []agent.Input{person("faster", "p1")}
				return refuse("Stop hook feedback:\nno"), nil
			}
		case hooks.UserPromptSubmitInput:
			r.inbox.work = []Work{{Cause: events.ByMessage, Inputs: []agent.Input{mailed("next", "m2")}}}
			return haltFor("not now"), nil
		}
		return pass, nil
	}
	r.mustRun(t)
	equal(t, "reason", all[events.TurnEnded](r.journal)[0].Reason, events.EndHookStopped)
	equal(t, "model", r.agent.seen, []string{"user: hello", "assistant: one", "user: faster",
		"user: Stop hook feedback:\nno", "user: next", "assistant: two"})
}

// A member that was cut off counts on where it was.
func TestRefusalsSurvive(t *testing.T) {
	r := newRig(t)
	no := refuse("Stop hook feedback:\nno")
	r.opts.Limits.StopBlockCap = 2
	ctx, cancel := context.WithCancel(t.Context())
	r.agent.script = []say{{text: "one"}, {text: "two"}, {do: func(context.Context) { cancel() }}}
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {no}})
	if err := r.member(t).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r.reopen(t, say{text: "three"})
	r.inbox.work = nil
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {no}})
	r.mustRun(t)
	equal(t, "attention", one[events.NeedsAttention](t, r.journal).Reason,
		"the gates refused its turn end 3 times in a row, the last time Stop: ./gate.sh (in "+r.opts.Workdir.Dir()+"): no")
	equal(t, "active", r.runner.of(hooks.Stop)[0].Payload.(hooks.StopInput).StopHookActive, true)
}

// Trouble with the hooks of session and prompt is told to people, and no more.
func TestHookTrouble(t *testing.T) {
	for _, event := range []hooks.Event{hooks.SessionStart, hooks.SessionEnd, hooks.UserPromptSubmit} {
		r := newRig(t)
		r.inbox.work = []Work{{Cause: events.ByPerson, Inputs: []agent.Input{person("go", "p1")}}}
		r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
			if in.Payload.Event() == event {
				return pass, errors.New("no processes left")
			}
			return pass, nil
		}
		r.mustRun(t)
		equal(t, "warning", one[events.Warning](t, r.journal).Text, string(event)+" hook failed: no processes left")
		equal(t, "model", r.agent.seen, []string{"user: go", "assistant: end 1"})
	}
}

// An agent may hand a limit on wrapped, or find one by itself.
func TestAgentReportsLimit(t *testing.T) {
	r := newRig(t)
	r.opts.Agent = agentFunc(func(context.Context, []agent.Input, agent.Host) (agent.Reply, error) {
		return agent.Reply{}, fmt.Errorf("agent program: %w", agent.ErrMaxTokens)
	})
	r.mustRun(t)
	equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, events.EndMaxTokens)
}

// What is confirmed is on the disk itself.
func TestSyncBeforeTaken(t *testing.T) {
	r := newRig(t)
	r.inbox.waiting = []agent.Input{mailed("more", "m2")}
	confirmed := 0
	r.inbox.onTaken = func() {
		confirmed++
		equal(t, "bytes written since the last sync", r.unsynced.Load(), int64(0))
	}
	r.mustRun(t)
	equal(t, "confirmations", confirmed, 2)

	// Also what a life before this one wrote, and perhaps never synced.
	r.reopen(t)
	r.inbox.work = []Work{{Cause: events.ByMessage, Inputs: []agent.Input{mailed("hello", "m1")}}}
	r.mustRun(t)
	equal(t, "confirmations later", confirmed, 3)
}

// An agent that records nothing gets a transcript all the same.
func TestHostRecordsForAgent(t *testing.T) {
	r := newRig(t)
	r.inbox.waiting = []agent.Input{mailed("more", "m2")}
	r.opts.Agent = agentFunc(func(ctx context.Context, _ []agent.Input, h agent.Host) (agent.Reply, error) {
		if _, err := h.Pass(ctx); err != nil {
			return agent.Reply{}, err
		}
		result := h.Call(ctx, agent.ToolCall{Name: "Bash"})
		return agent.Reply{Text: "it says " + result.Content, ToolCalls: 1, Usage: agent.Usage{OutputTokens: 7}}, nil
	})
	r.mustRun(t)
	h := history(t, r.path)
	var got []string
	for _, m := range h.Messages {
		for _, b := range m.Content {
			got = append(got, string(m.Role)+" "+string(b.Type)+" "+b.Text+b.Name+b.Content)
		}
	}
	equal(t, "transcript", got, []string{"user text hello", "user text more", "assistant tool_use Bash",
		"user tool_result ran", "assistant text it says ran"})
	equal(t, "usage", h.Usage, agent.Usage{OutputTokens: 7})
	equal(t, "taken", r.inbox.taken, []string{"m1", "m2"})
	equal(t, "usage of the turn", one[events.TurnEnded](t, r.journal).Usage, agent.Usage{OutputTokens: 7})
}

// A broken agent ends its member, and says so; calls it left open get a result.
func TestBrokenAgent(t *testing.T) {
	for name, a := range map[string]agentFunc{
		"error": func(context.Context, []agent.Input, agent.Host) (agent.Reply, error) {
			return agent.Reply{}, errors.New("pipe closed")
		},
		"panic": func(context.Context, []agent.Input, agent.Host) (agent.Reply, error) { panic("pipe closed") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.opts.Agent = agentFunc(func(ctx context.Context, p []agent.Input, h agent.Host) (agent.Reply, error) {
				m := agent.Message{Role: agent.Assistant, Content: []agent.Block{{Type: agent.ToolUseBlock,
					ID: "c1", Name: "Bash"}}}
				if err := h.Record(agent.Record{Message: agent.TextMessage(agent.User, "hello"), Inputs: p}); err != nil {
					t.Error(err)
				}
				if err := h.Record(agent.Record{Message: m}); err != nil {
					t.Error(err)
				}
				return a(ctx, p, h)
			})
			err := r.run(t)
			if err == nil || !strings.Contains(err.Error(), `member "api": agent: `) ||
				!strings.Contains(err.Error(), "pipe closed") {
				t.Fatal(err)
			}
			equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, events.EndModelError)
			equal(t, "ended", strings.Contains(one[events.MemberEnded](t, r.journal).Reason, "pipe closed"), true)
			equal(t, "result", one[events.ToolReturned](t, r.journal).Content, "interrupted")
			h := history(t, r.path)
			equal(t, "the turn is open for the next life", h.Cut != nil && h.Cut.Point == transcript.CutAtPrompt, true)
			equal(t, "session end", r.runner.events()[len(r.runner.events())-1], "SessionEnd")
		})
	}
}

// A transcript whose disk is full ends the member: what it would do could not be resumed.
// Nothing is confirmed, and nothing of the half line is left to its next life.
func TestTranscriptCannotBeWritten(t *testing.T) {
	r := newRig(t)
	r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
		if in.Payload.Event() == hooks.SessionStart {
			r.full.Store(true)
		}
		return pass, nil
	}
	err := r.run(t)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), `member "api": transcript: `) {
		t.Fatal(err)
	}
	equal(t, "model", len(r.agent.seen), 0)
	equal(t, "taken", len(r.inbox.taken), 0)
	r.full.Store(false)
	r.reopen(t)
	r.inbox.work = []Work{{Cause: events.ByMessage, Inputs: []agent.Input{mailed("hello", "m1")}}} // it was not confirmed
	r.mustRun(t)
	equal(t, "model later", r.agent.seen, []string{"user: hello", "assistant: end 1"})
}

func TestInboxErrors(t *testing.T) {
	r := newRig(t)
	r.inbox.work = []Work{{Cause: events.ByNudge}}
	if err := r.run(t); err == nil || !strings.Contains(err.Error(), "work without inputs (nudge)") {
		t.Error(err)
	}
	r = newRig(t)
	r.opts.Inbox = brokenInbox{}
	if err := r.run(t); err == nil || !strings.Contains(err.Error(), `member "api": inbox: gone`) {
		t.Error(err)
	}
}

type brokenInbox struct{ Inbox }

func (brokenInbox) Next(context.Context) (Work, error) { return Work{}, errors.New("gone") }

func TestNewErrors(t *testing.T) {
	tests := map[string]func(*Options){
		"option Agent is missing": func(o *Options) { o.Agent = nil },
		"option Tasks is missing": func(o *Options) { o.Tasks = nil },
		"option Inbox is missing": func(o *Options) { o.Inbox = nil },
		`permission mode "yolo"`:  func(o *Options) { o.Rights = permission.NewRights(permission.Policy{Mode: "yolo"}, nil) },
		`tool name "A" is empty or`: func(o *Options) {
			o.Tools = []agent.Tool{fakeTool{spec: agent.Spec{Name: "A"}}, fakeTool{spec: agent.Spec{Name: "A"}}}
		},
		"schema of tool B: ": func(o *Options) {
			o.Tools = []agent.Tool{fakeTool{spec: agent.Spec{Name: "B", Schema: []byte(`{`)}}}
		},
		"schema of tool C: ": func(o *Options) {
			o.Tools = []agent.Tool{fakeTool{spec: agent.Spec{Name: "C", Schema: []byte(`{"$ref":"#/x"}`)}}}
		},
	}
	for want, breakIt := range tests {
		r := newRig(t)
		breakIt(&r.opts)
		if _, err := New(r.opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	r := newRig(t)
	r.opts.Lead, r.opts.Tasks = true, nil
	r.mustRun(t)
}

func TestRunTwice(t *testing.T) {
	r := newRig(t)
	m := r.member(t)
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Error(err)
	}
}

// Hooks at the end of a session hold up a member that was told to stop for a
// moment only.
func TestSessionEndIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.inbox.work, r.inbox.hold = nil, true
		r.runner.answer = func(ctx context.Context, in hooks.Input) (hooks.Outcome, error) {
			if in.Payload.Event() == hooks.SessionEnd {
				<-ctx.Done()
			}
			return pass, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		if err := r.member(t).Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		equal(t, "time", time.Since(began), time.Hour+shutdownLimit)
		equal(t, "reason", one[events.MemberEnded](t, r.journal).Reason, "stopped")
	})
}

// A member that has nothing more to do does not wait long for hooks beside it.
func TestAsideIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, say{err: &agent.APIError{Type: "unknown"}})
		r.runner.answer = func(ctx context.Context, in hooks.Input) (hooks.Outcome, error) {
			if in.Payload.Event() == hooks.StopFailure {
				<-ctx.Done()
			}
			return pass, nil
		}
		began := time.Now()
		r.mustRun(t)
		equal(t, "time", time.Since(began), agent.BackgroundLimit)
		equal(t, "warnings", len(all[events.Warning](r.journal)), 0)
	})
}

// A hook beside a turn outlives the turn, also where the turn's own context
// began it, and is ended at once when the member is told to stop.
func TestAsideOutlivesTurn(t *testing.T) {
	r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Bash", `{}`)}})
	r.opts.Rights, r.opts.Asker = permission.NewRights(permission.Policy{Mode: permission.ModeDefault}, nil), &asker{yes: true, by: "person"}
	r.inbox.hold = true
	ctx, cancel := context.WithCancel(t.Context())
	idle, done := make(chan struct{}), make(chan error, 1)
	r.runner.answer = func(ctx context.Context, in hooks.Input) (hooks.Outcome, error) {
		if in.Payload.Event() == hooks.Notification {
			<-idle
			done <- ctx.Err()
			cancel()
			<-ctx.Done()
		}
		return pass, nil
	}
	r.journal.watch = func(e events.Event) {
		if _, ok := e.Data.(events.Idle); ok {
			close(idle)
		}
	}
	if err := r.member(t).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error("the turn's end reached the hook beside it:", err)
	}
}

// A Stop hook's halt ends the turn; what it says the model sees in the next.
func TestHaltIsKept(t *testing.T) {
	r := newRig(t)
	r.inbox.work = append(r.inbox.work, Work{Cause: events.ByMessage, Inputs: []agent.Input{mailed("next", "m2")}})
	out := haltFor("enough")
	out.Messages = []string{"<system-reminder>\nStop hook stopped continuation: enough\n</system-reminder>"}
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {out, pass}})
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{"user: hello", "assistant: end 1",
		"user: <system-reminder>\nStop hook stopped continuation: enough\n</system-reminder>", "user: next", "assistant: end 4"})
}

// golden: stop_json_hso_additional_context. A Stop hook's context sends the
// agent on; that of the other gates does not.
func TestStopContext(t *testing.T) {
	r := newRig(t)
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{
		hooks.Stop: {ctxOf(hooks.Stop, "think"), pass}, hooks.TeammateIdle: {ctxOf(hooks.TeammateIdle, "x")},
	})
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{"user: hello", "assistant: end 1",
		"user: <system-reminder>\nStop hook additional context: think\n</system-reminder>", "assistant: end 3"})
	equal(t, "active", r.runner.of(hooks.Stop)[1].Payload.(hooks.StopInput).StopHookActive, true)
	equal(t, "feedback", len(all[events.HookFeedback](r.journal)), 1)
}

// Warnings about the configuration come once, messages of hooks every time.
func TestPeopleAreTold(t *testing.T) {
	r := newRig(t)
	out := hooks.Outcome{SystemMessages: []string{"hello user"}, Warnings: []string{"hook 3 never runs"}}
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {out}, hooks.TeammateIdle: {out}})
	r.mustRun(t)
	var got []string
	for _, w := range all[events.Warning](r.journal) {
		got = append(got, w.Text)
	}
	equal(t, "warnings", got, []string{"Stop says: hello user", "hook 3 never runs", "TeammateIdle says: hello user"})
}

func TestIdleTells(t *testing.T) {
	r := newRig(t, say{text: "all done"})
	r.inProgress("4", "7")
	r.mustRun(t)
	equal(t, "idle", one[events.Idle](t, r.journal), events.Idle{Reason: "available", LastText: "all done",
		TaskIDs: []string{"4", "7"}})
	r = newRig(t)
	r.opts.Background = func() []hooks.BackgroundTask { return []hooks.BackgroundTask{{ID: "b1"}} }
	r.tasks.err = errors.New("gone")
	r.mustRun(t)
	equal(t, "idle without a list", one[events.Idle](t, r.journal).TaskIDs, []string{})
	equal(t, "background", r.runner.of(hooks.Stop)[0].Payload.(hooks.StopInput).BackgroundTasks[0].ID, "b1")
}
