package teammate

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// closingTasks is a task list that hears which tasks have passed their gates.
type closingTasks struct {
	fakeTasks
	passed []string
}

func (c *closingTasks) Passed(_ context.Context, list []tasks.Task) error {
	for _, t := range list {
		c.passed = append(c.passed, t.ID)
	}
	return nil
}

// TestTurnEnd is all ways in which a turn ends, for a member with tasks 1 and 2 in
// progress: which gates are asked, what they decide together, and what comes of it.
func TestTurnEnd(t *testing.T) {
	no := func(event hooks.Event) hooks.Outcome { return refuse(string(event) + " says no") }
	stop, task, idle := hooks.Stop, hooks.TaskCompleted, hooks.TeammateIdle
	asked := []string{"Stop", "TaskCompleted 1", "TaskCompleted 2", "TeammateIdle"}
	for name, tc := range map[string]struct {
		set      func(*rig)
		refusals int // before this one, in a row
		stop     hooks.Outcome
		task     []hooks.Outcome
		idle     hooks.Outcome

		asked    []string
		decision Decision
		feedback []string
		why      string // for people
		passed   []string
		reason   string // of TurnEnded; empty: the agent goes on
		idles    string // of Idle
	}{
		"all pass, and the tasks are completed": {asked: asked, decision: Passed, passed: []string{"1", "2"},
			reason: events.EndCompleted, idles: events.IdleAvailable},
		"a lead has Stop alone": {set: func(r *rig) { r.opts.Lead = true }, asked: asked[:1], decision: Passed,
			reason: events.EndCompleted, idles: events.IdleAvailable},
		"no gate is asked about a member on hold": {set: func(r *rig) {
			r.opts.OnHold = func() string { return "the plan's approval" }
		}, decision: Awaits, why: "the plan's approval", reason: events.EndAwaiting, idles: events.IdleAwaiting},
		"Stop refuses, which skips the rest": {stop: no(stop), asked: asked[:1], decision: Refused,
			why: "Stop: ./gate.sh", feedback: []string{"Stop says no"}},
		"Stop awaits, which skips the rest": {stop: awaiting("wait"), asked: asked[:1], decision: Awaits,
			why: "ben's approval", reason: events.EndAwaiting, idles: events.IdleAwaiting},
		"Stop halts the turn, not the member": {stop: haltFor("enough"), asked: asked[:1], decision: Halted,
			why: "enough", reason: events.EndStopPrevented, idles: events.IdleStopped},
		"a refused task skips nothing": {task: []hooks.Outcome{no(task), pass}, idle: no(idle), asked: asked,
			decision: Refused, feedback: []string{"TaskCompleted says no", "TeammateIdle says no"},
			why: "TaskCompleted: ./gate.sh"},
		"one refusal keeps all tasks open": {task: []hooks.Outcome{pass, no(task)}, asked: asked, decision: Refused,
			why: "TaskCompleted: ./gate.sh", feedback: []string{"TaskCompleted says no"}},
		"a refusal outweighs a wait": {task: []hooks.Outcome{awaiting("wait"), pass}, idle: no(idle), asked: asked,
			decision: Refused, why: "TeammateIdle: ./gate.sh", feedback: []string{"TeammateIdle says no"}},
		"a wait keeps all tasks open": {task: []hooks.Outcome{pass, awaiting("wait")}, asked: asked, decision: Awaits,
			why: "ben's approval", reason: events.EndAwaiting, idles: events.IdleAwaiting},
		"a halt outweighs all and ends the member": {task: []hooks.Outcome{no(task), haltFor("enough")},
			idle: awaiting("wait"), asked: asked, decision: Halted, why: "enough",
			feedback: []string{"TaskCompleted says no"}, reason: events.EndStopPrevented},
		"the last refusal below the cap": {refusals: 7, stop: no(stop), asked: asked[:1], decision: Refused,
			why: "Stop: ./gate.sh", feedback: []string{"Stop says no"}},
		"one refusal more than the cap": {refusals: 8, stop: no(stop), asked: asked[:1], decision: Capped,
			why: "Stop: ./gate.sh", feedback: []string{"Stop says no"}, reason: events.EndCompleted, idles: events.IdleLimited},
		"covey cannot read the tasks": {set: func(r *rig) { r.tasks.err = errors.New("disk on fire") },
			asked: asked[:1], decision: Passed, reason: events.EndCompleted, idles: events.IdleAvailable},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.inProgress("1", "2")
			if tc.set != nil {
				tc.set(r)
			}
			list := &closingTasks{fakeTasks: fakeTasks{list: r.tasks.list, err: r.tasks.err}}
			r.opts.Tasks = list
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{stop: {tc.stop}, task: tc.task, idle: {tc.idle}})
			m := r.member(t)
			u := &turn{t: m, at: m.hookContext(1, ""), refusals: tc.refusals}
			v, err := u.endTurn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "asked", r.runner.events(), tc.asked)
			equal(t, "verdict", []any{v.Decision, v.Why}, []any{tc.decision, tc.why})
			equal(t, "feedback", agent.Texts(v.Feedback), append([]string{}, tc.feedback...))
			equal(t, "completed", list.passed, tc.passed)
			end, over := u.conclude(v)
			equal(t, "end", []any{over, end.reason, end.idle}, []any{tc.reason != "", tc.reason, tc.idles})
			equal(t, "member ends", end.err != nil, v.Decision == Halted && v.By != stop)
			equal(t, "stop_hook_active", u.refused, v.Decision == Refused || v.Decision == Capped)
		})
	}
}

// The tests of the 24 rules of HOOKS.md section 8. Where a rule is about a
// part that covey does not have, the test holds covey to what the rule is for.

// Rule 1: the turn end comes only when an answer calls no tool; whether it
// does is seen from the calls themselves, text beside them or not.
func TestRule01(t *testing.T) {
	r := newRig(t,
		say{text: "I am done, I only run this", calls: []agent.ToolCall{callTool("c1", "Bash", `{}`)}},
		say{calls: []agent.ToolCall{callTool("c2", "Bash", `{}`)}},
		say{text: "done"})
	r.mustRun(t)
	equal(t, "fired", r.gates(),
		[]string{"PreToolUse", "PostToolUse", "PreToolUse", "PostToolUse", "Stop", "TeammateIdle"})
}

// Rule 2: an API error skips the whole turn end. StopFailure hooks are told,
// nobody waits for them or reads them, and the turn ends as completed.
func TestRule02(t *testing.T) {
	r := newRig(t, say{err: &agent.APIError{Type: "overloaded", Message: "busy", Details: "529"}})
	idle := make(chan struct{})
	r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
		if in.Payload.Event() != hooks.StopFailure {
			return pass, nil
		}
		<-idle // the turn does not wait for this hook, or Idle would never come
		return refuse("StopFailure hook feedback:\nretry"), nil
	}
	r.journal.watch = func(e events.Event) {
		if _, ok := e.Data.(events.Idle); ok {
			close(idle)
		}
	}
	r.mustRun(t)
	equal(t, "fired", r.gates(), []string{"StopFailure"})
	got := r.runner.of(hooks.StopFailure)[0]
	equal(t, "input", got.Payload.(hooks.StopFailureInput),
		hooks.StopFailureInput{Error: "overloaded", ErrorDetails: "529", LastAssistantMessage: "API Error: busy"})
	equal(t, "permission mode", got.PermissionMode, "")
	equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, "completed")
	equal(t, "feedback", len(all[events.HookFeedback](r.journal)), 0)
	equal(t, "idle", one[events.Idle](t, r.journal), events.Idle{Reason: "failed",
		LastText: "API error (overloaded): busy", TaskIDs: []string{}})
}

// Rule 3: the gates see the conversation with all messages of this turn.
func TestRule03(t *testing.T) {
	r := newRig(t, say{text: "working", calls: []agent.ToolCall{callTool("c1", "Bash", `{}`)}},
		say{text: " the end \n"})
	r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
		if in.Payload.Event() != hooks.Stop {
			return pass, nil
		}
		data, err := os.ReadFile(in.TranscriptPath)
		if err != nil {
			t.Error(err)
		}
		for _, part := range []string{`"text":"hello"`, `"text":"working"`, `"content":"ran"`,
			`"text":" the end \n"`} {
			if !bytes.Contains(data, []byte(part)) {
				t.Errorf("transcript without %s when Stop hooks run:\n%s", part, data)
			}
		}
		return pass, nil
	}
	r.mustRun(t)
	equal(t, "last message", r.runner.of(hooks.Stop)[0].Payload.(hooks.StopInput).LastAssistantMessage, "the end")
}

// Rule 4 keeps what a turn end saves from being overwritten by helpers. covey
// saves nothing there: gates that agree leave conversation and state as they
// were, and only a verdict changes anything.
func TestRule04(t *testing.T) {
	r := newRig(t)
	m := r.member(t)
	u := &turn{t: m, at: m.hookContext(1, ""), lastText: "done", refusals: 3, refused: true}
	before := *u
	v, err := u.endTurn(t.Context())
	if err != nil || v.Decision != Passed {
		t.Fatal(v, err)
	}
	equal(t, "turn", *u, before)
	data, err := os.ReadFile(r.path)
	if err != nil || len(data) > 0 {
		t.Errorf("the turn end wrote to the transcript: %q, %v", data, err)
	}
}

// Rule 5 bounds a classifier that runs before the gates. covey has none:
// nothing fires before Stop, and work beside the turn delays nothing.
func TestRule05(t *testing.T) {
	r := newRig(t)
	r.inbox.work = slices.Concat(r.inbox.work, []Work{{Cause: events.ByMessage,
		Inputs: []agent.Input{{Kind: agent.FromMail, Text: "more"}}}})
	r.agent.script = []say{{err: &agent.APIError{Type: "unknown", Message: "x"}}, {text: "done"}}
	second := make(chan struct{})
	r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
		switch in.Payload.Event() {
		case hooks.StopFailure:
			<-second // hangs until the next turn's gates have been asked
		case hooks.TeammateIdle:
			close(second)
		}
		return pass, nil
	}
	r.mustRun(t)
	gates := slices.DeleteFunc(r.gates(), func(n string) bool { return n == "StopFailure" })
	equal(t, "fired", gates, []string{"Stop", "TeammateIdle"})
}

// A model that has nothing more to answer with is no API that failed: the turn ends with
// model_error (docs/script-model.md). What follows is the same.
func TestFatalModel(t *testing.T) {
	r := newRig(t, say{err: &agent.APIError{Type: "unknown", Message: "the script ran out", End: events.EndModelError}})
	r.mustRun(t)
	equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, "model_error")
	equal(t, "idle", one[events.Idle](t, r.journal).Reason, events.IdleFailed)
	equal(t, "fired", r.gates(), []string{"StopFailure"})
}

// Rule 6 starts background work beside the gates. What runs aside in covey
// cannot change their verdict, whatever it answers or however it fails.
func TestRule06(t *testing.T) {
	for name, answer := range map[string]func() (hooks.Outcome, error){
		"halts":  func() (hooks.Outcome, error) { return haltFor("stop it all"), nil },
		"panics": func() (hooks.Outcome, error) { panic("broken") },
	} {
		r := newRig(t, say{err: &agent.APIError{Type: "unknown", Message: "x"}})
		r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
			if in.Payload.Event() == hooks.StopFailure {
				return answer()
			}
			return pass, nil
		}
		r.mustRun(t)
		equal(t, "stopped", len(all[events.HookStopped](r.journal)), 0)
		equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, "completed")
		if name == "panics" {
			equal(t, "warning", one[events.Warning](t, r.journal).Text, "StopFailure hook failed: panic: broken")
		}
	}
}

// Rule 7 releases what the turn held, and swallows errors of that. In covey
// that is the turn's context: once a turn is over nothing of it reaches the next.
func TestRule07(t *testing.T) {
	r := newRig(t, say{text: "one"}, say{text: "two"})
	r.inbox.work = append(r.inbox.work, Work{Cause: events.ByMessage,
		Inputs: []agent.Input{{Kind: agent.FromMail, Text: "again"}}})
	r.opts.Limits.TurnTimeout = time.Hour
	m := r.member(t)
	r.inbox.idle = func() { m.Interrupt("between turns") }
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, end := range all[events.TurnEnded](r.journal) {
		equal(t, "reason", end.Reason, "completed")
	}
	equal(t, "turns", len(all[events.TurnEnded](r.journal)), 2)
}

// Rule 8: everything is inside one try (rule 22), and what the gates are told
// of the member is what holds now, not when the turn began.
func TestRule08(t *testing.T) {
	r := newRig(t, say{text: "moved", do: nil})
	dir := t.TempDir()
	r.agent.script[0].do = func(context.Context) { r.opts.Workdir.Move(dir) }
	r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModeEdits}, nil)
	r.inProgress("1")
	r.mustRun(t)
	for _, event := range []hooks.Event{hooks.Stop, hooks.TaskCompleted, hooks.TeammateIdle} {
		in := r.runner.of(event)[0]
		equal(t, string(event)+" cwd", in.Cwd, dir)
		equal(t, string(event)+" mode", in.PermissionMode, "acceptEdits")
	}
}

// Rule 9: members fire Stop, told apart by agent_id, teammate_name and the like; an event
// without handlers returns at once, without progress; ids are the runner's.
func TestRule09(t *testing.T) {
	r := newRig(t)
	r.mustRun(t)
	in := r.runner.of(hooks.Stop)[0]
	equal(t, "agent_id", in.AgentID, "api@crew")
	equal(t, "agent_type", in.AgentType, "api")
	stop := in.Payload.(hooks.StopInput)
	equal(t, "teammate_name", stop.TeammateName, "api")
	equal(t, "team_name", stop.TeamName, "crew")
	if stop.BackgroundTasks == nil || stop.SessionCrons == nil {
		t.Error("background_tasks and session_crons have to be arrays, empty ones too")
	}
	for _, typ := range []string{"hook_started", "hook_finished", "hook_summary"} {
		if slices.Contains(r.journal.types(), typ) {
			t.Errorf("%s without a handler", typ)
		}
	}
	lead := newRig(t)
	lead.opts.Lead = true
	lead.mustRun(t)
	in = lead.runner.of(hooks.Stop)[0]
	equal(t, "the lead's ids", in.AgentID+in.AgentType+in.Payload.(hooks.StopInput).TeammateName, "")
}

// Rule 10: progress is passed on live, not when the hooks are done.
func TestRule10(t *testing.T) {
	r := newRig(t)
	seen := make(chan events.HookStarted, 1)
	r.journal.watch = func(e events.Event) {
		if d, ok := e.Data.(events.HookStarted); ok && d.Event == "Stop" {
			seen <- d
		}
	}
	r.opts.Hooks = runnerFunc(func(ctx context.Context, in hooks.Input,
		observe func(hooks.Progress)) (hooks.Outcome, error) {
		out := hooks.Outcome{Event: in.Payload.Event(), ToolUseID: "id", Decision: hooks.Pass}
		if out.Event == hooks.Stop {
			observe(hooks.Progress{Event: out.Event, ToolUseID: "id", Command: "./slow.sh"})
			<-seen // while the hook still runs
		}
		return out, nil
	})
	r.mustRun(t)
}

type runnerFunc func(context.Context, hooks.Input, func(hooks.Progress)) (hooks.Outcome, error)

func (f runnerFunc) Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error) {
	return f(ctx, in, observe)
}

// Rule 11: each handler's start is counted and listed.
func TestRule11(t *testing.T) {
	r := newRig(t)
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {{Results: []hooks.Result{
		{Command: "./a.sh", Outcome: hooks.Success}, {Command: "./b.sh", Outcome: hooks.Success},
	}}}})
	r.mustRun(t)
	s := one[events.HookSummary](t, r.journal)
	equal(t, "count", s.Count, 2)
	equal(t, "hooks", s.Hooks, []events.HookTiming{{Command: "./a.sh"}, {Command: "./b.sh"}})
	equal(t, "id", s.ToolUseID, all[events.HookStarted](r.journal)[0].ToolUseID)
}

// Rule 12: what hooks printed and how they failed goes into the summary; a
// duration belongs to the first hook of that command that has none yet.
func TestRule12(t *testing.T) {
	tests := map[string]struct {
		results []hooks.Result
		errors  []string
		output  bool
	}{
		"silent":            {[]hooks.Result{{Outcome: hooks.Success, Stdout: " \n"}}, []string{}, false},
		"stdout":            {[]hooks.Result{{Outcome: hooks.Success, Stdout: "hi"}}, []string{}, true},
		"stderr of success": {[]hooks.Result{{Outcome: hooks.Success, Stderr: "hi"}}, []string{}, true},
		"error with stderr": {[]hooks.Result{{Outcome: hooks.NonBlockingError, ExitCode: 1,
			Stderr: "oops\n"}}, []string{"oops"}, true},
		"error without": {[]hooks.Result{{Outcome: hooks.NonBlockingError, ExitCode: 127}},
			[]string{"Exit code 127"}, true},
		"timed out": {[]hooks.Result{{Outcome: hooks.Cancelled, ExitCode: -1}}, []string{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {{Results: test.results}}})
			r.mustRun(t)
			s := one[events.HookSummary](t, r.journal)
			equal(t, "errors", s.Errors, test.errors)
			equal(t, "has output", s.HasOutput, test.output)
		})
	}
	s := &events.HookSummary{}
	for _, command := range []string{"a", "b", "a"} {
		addProgress(s, hooks.Progress{Command: command})
	}
	for _, took := range []struct {
		command string
		ms      int
	}{{"a", 5}, {"a", 7}, {"b", 9}} {
		addProgress(s, hooks.Progress{Command: took.command,
			Result: &hooks.Result{Outcome: hooks.Success, Duration: time.Duration(took.ms) * time.Millisecond}})
	}
	equal(t, "durations", s.Hooks, []events.HookTiming{{Command: "a", DurationMS: 5}, {Command: "b",
		DurationMS: 9}, {Command: "a", DurationMS: 7}})
}

// Rule 13: a refusal reaches the model as feedback, and the summary has the
// raw text.
func TestRule13(t *testing.T) {
	r := newRig(t, say{text: "one"}, say{text: "two"})
	blocked := refuse("Stop hook feedback:\n[./gate.sh]: run the tests")
	blocked.Results[0].Feedback = "[./gate.sh]: run the tests"
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {blocked, pass}})
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{
		"user: hello", "assistant: one",
		"user: Stop hook feedback:\n[./gate.sh]: run the tests", "assistant: two",
	})
	s := one[events.HookSummary](t, r.journal)
	equal(t, "errors", s.Errors, []string{"[./gate.sh]: run the tests"})
	equal(t, "has output", s.HasOutput, true)
	f := one[events.HookFeedback](t, r.journal)
	equal(t, "feedback", f, events.HookFeedback{Event: "Stop", ToolUseID: s.ToolUseID, Path: "turn_end",
		Text: "Stop hook feedback:\n[./gate.sh]: run the tests"})
}

// Rule 14: a halt is told with its reason, or with a standard one.
func TestRule14(t *testing.T) {
	for reason, want := range map[string]string{"enough": "enough", "": "Stop hook prevented continuation"} {
		r := newRig(t)
		r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {haltFor(reason)}})
		r.mustRun(t)
		s := one[events.HookSummary](t, r.journal)
		equal(t, "stopped", one[events.HookStopped](t, r.journal), events.HookStopped{Event: "Stop",
			ToolUseID: s.ToolUseID, Message: want})
		equal(t, "summary", []any{s.Prevented, s.StopReason}, []any{true, want})
		types := r.journal.types()
		if slices.Index(types, "hook_stopped_continuation") > slices.Index(types, "hook_summary") {
			t.Error("the summary comes after the halt:", types)
		}
	}
}

// Rule 15: an abort is seen after every result. After Stop it is told to the
// model, nothing more is asked, and there is no summary.
func TestRule15(t *testing.T) {
	r := newRig(t)
	r.inbox.work = append(r.inbox.work, Work{Cause: events.ByMessage,
		Inputs: []agent.Input{{Kind: agent.FromMail, Text: "next"}}})
	m := r.member(t)
	interrupted := false
	m.opts.Hooks = runnerFunc(func(ctx context.Context, in hooks.Input,
		observe func(hooks.Progress)) (hooks.Outcome, error) {
		out, err := r.runner.Run(ctx, in, observe)
		if in.Payload.Event() == hooks.Stop && !interrupted {
			interrupted = true
			m.Interrupt("enough")
			observe(hooks.Progress{Event: hooks.Stop, Command: "./gate.sh"})
			out.Decision, out.Feedback = hooks.Block, []string{"Stop hook feedback:\nno"}
		}
		return out, err // the hooks had ended when the interrupt came
	})
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "fired", r.gates(), []string{"Stop", "Stop", "TeammateIdle"})
	equal(t, "reasons", []string{all[events.TurnEnded](r.journal)[0].Reason, all[events.Idle](r.journal)[0].Reason},
		[]string{events.EndAbortedStreaming, events.IdleInterrupted})
	equal(t, "summaries and feedback", len(all[events.HookSummary](r.journal))+len(all[events.HookFeedback](r.journal)), 0)
	equal(t, "model", r.agent.seen, []string{
		"user: hello", "assistant: end 1", "user: [Request interrupted by user]", "user: next", "assistant: end 4",
	})
}

// Rule 16: one summary if hooks ran, none otherwise, and a notification if
// something was wrong.
func TestRule16(t *testing.T) {
	tests := map[string]struct {
		out       hooks.Outcome
		summaries int
		notified  int
	}{
		"no hooks": {pass, 0, 0},
		"all well": {hooks.Outcome{Results: []hooks.Result{{Outcome: hooks.Success}}}, 1, 0},
		"an error": {hooks.Outcome{Results: []hooks.Result{{Outcome: hooks.NonBlockingError, ExitCode: 1}}}, 1, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {test.out},
				hooks.TeammateIdle: {test.out}})
			r.mustRun(t)
			equal(t, "summaries", len(all[events.HookSummary](r.journal)), test.summaries)
			equal(t, "notifications", len(all[events.Notification](r.journal)), test.notified)
		})
	}
}

// Rule 17: a halt of Stop outweighs its refusals; after either the teammate's
// own gates do not run.
func TestRule17(t *testing.T) {
	both := haltFor("enough")
	both.Feedback = []string{"Stop hook feedback:\nno"}
	r := newRig(t)
	r.inProgress("1")
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {both}})
	r.mustRun(t)
	equal(t, "fired after a halt", r.gates(), []string{"Stop"})
	equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, "stop_hook_prevented")

	r = newRig(t)
	r.inProgress("1")
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {refuse("Stop hook feedback:\nno"), pass}})
	r.mustRun(t)
	equal(t, "fired after a refusal", r.gates(), []string{"Stop", "Stop", "TaskCompleted 1", "TeammateIdle"})
}

// Rule 18: a teammate's tasks in progress are asked about one after another, in
// list order; a lead's are not.
func TestRule18(t *testing.T) {
	r := newRig(t)
	r.inProgress("3", "1", "2")
	var running atomic.Int32
	synctest.Test(t, func(t *testing.T) {
		r.runner.answer = func(context.Context, hooks.Input) (hooks.Outcome, error) {
			if running.Add(1) > 1 {
				t.Error("two gates at once")
			}
			time.Sleep(time.Second)
			running.Add(-1)
			return pass, nil
		}
		r.mustRun(t)
	})
	equal(t, "fired", r.gates(), []string{"Stop", "TaskCompleted 3", "TaskCompleted 1", "TaskCompleted 2",
		"TeammateIdle"})
	equal(t, "input", r.runner.of(hooks.TaskCompleted)[1].Payload.(hooks.TaskCompletedInput).TaskInput,
		hooks.TaskInput{
			TaskID: "1", TaskSubject: "subject 1", TaskDescription: "description 1", TeammateName: "api", TeamName: "crew",
		})

	lead := newRig(t)
	lead.opts.Lead = true
	lead.inProgress("1")
	lead.mustRun(t)
	equal(t, "fired by a lead", lead.gates(), []string{"Stop"})
}

// Rule 19: TeammateIdle runs exactly once, whatever became of the tasks.
func TestRule19(t *testing.T) {
	for name, out := range map[string]hooks.Outcome{
		"agreed": pass, "refused": refuse("TaskCompleted hook feedback:\nno"), "halted": haltFor("enough"),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.inProgress("1", "2")
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.TaskCompleted: {out, pass}})
			m := r.member(t)
			if _, err := (&turn{t: m, at: m.hookContext(1, "")}).endTurn(t.Context()); err != nil {
				t.Fatal(err)
			}
			equal(t, "fired", r.gates(), []string{"Stop", "TaskCompleted 1", "TaskCompleted 2", "TeammateIdle"})
		})
	}
}

// Rule 20: the teammate's gates have ids and halt reasons of their own, no
// summary, and an abort among them is not told to the model. That no gate
// completes a task needs no test: a TaskLister has no way to.
func TestRule20(t *testing.T) {
	r := newRig(t)
	r.inProgress("1", "2")
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{
		hooks.TaskCompleted: {haltFor("")}, hooks.TeammateIdle: {haltFor("")},
	})
	if err := r.run(t); !errors.Is(err, ErrHalted) {
		t.Fatal(err)
	}
	stopped := all[events.HookStopped](r.journal)
	equal(t, "reasons", []string{stopped[0].Message, stopped[2].Message},
		[]string{"TaskCompleted hook prevented continuation", "TeammateIdle hook prevented continuation"})
	ids := map[string]bool{}
	for _, id := range r.runner.ids {
		ids[id] = true
	}
	equal(t, "ids", len(ids), len(r.runner.ids))
	equal(t, "first task's id", stopped[0].ToolUseID != stopped[1].ToolUseID, true)
	equal(t, "summaries", len(all[events.HookSummary](r.journal)), 0)

	for _, event := range []hooks.Event{hooks.TaskCompleted, hooks.TeammateIdle} {
		r := newRig(t)
		r.inProgress("1", "2")
		r.inbox.work = append(r.inbox.work, Work{Cause: events.ByMessage,
			Inputs: []agent.Input{{Kind: agent.FromMail, Text: "next"}}})
		m := r.member(t)
		done := false
		r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
			if in.Payload.Event() == event && !done {
				done = true
				m.Interrupt("enough")
			}
			return pass, nil
		}
		if err := m.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(r.agent.seen, "\n"); strings.Contains(text, "interrupted") {
			t.Errorf("%s: the model was told: %s", event, text)
		}
		equal(t, "reason", all[events.TurnEnded](r.journal)[0].Reason, events.EndAbortedStreaming)
	}
}

// Rule 21: a teammate's halt comes before refusals, refusals before rest; all
// feedback goes into one pass, the tasks' first.
func TestRule21(t *testing.T) {
	task, idle := refuse("TaskCompleted hook feedback:\ntests"), refuse("TeammateIdle hook feedback:\nwork")
	tests := map[string]struct {
		task, idle hooks.Outcome
		feedback   []string
		halted     hooks.Event
	}{
		"both refuse": {task, idle, []string{"TaskCompleted hook feedback:\ntests",
			"TeammateIdle hook feedback:\nwork"}, ""},
		"task halts":        {haltFor("x"), idle, nil, hooks.TaskCompleted},
		"idle halts":        {task, haltFor("x"), nil, hooks.TeammateIdle},
		"both halt":         {haltFor("x"), haltFor("y"), nil, hooks.TaskCompleted},
		"neither":           {pass, pass, nil, ""},
		"only idle refuses": {pass, idle, []string{"TeammateIdle hook feedback:\nwork"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.inProgress("1")
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{
				hooks.TaskCompleted: {test.task}, hooks.TeammateIdle: {test.idle},
			})
			m := r.member(t)
			v, err := (&turn{t: m, at: m.hookContext(1, "")}).endTurn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "halted by", v.By, test.halted)
			equal(t, "refused", v.Decision == Refused, test.feedback != nil)
			if v.Decision == Refused {
				equal(t, "feedback", agent.Texts(v.Feedback), test.feedback)
			}
		})
	}
}

// Rule 22: trouble in the machinery lets the turn end, with a warning for
// people that the model does not see.
func TestRule22(t *testing.T) {
	broken := errors.New("disk on fire")
	tests := map[string]struct {
		prepare func(*rig)
		want    string
	}{
		"task list": {func(r *rig) { r.tasks.err = broken }, "Stop hook failed: task list: disk on fire"},
		"runner": {func(r *rig) {
			r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
				if in.Payload.Event() == hooks.Stop {
					return refuse("Stop hook feedback:\nno"), broken
				}
				return pass, nil
			}
		}, "Stop hook failed: disk on fire"},
		"runner panics after a refused task": {func(r *rig) {
			r.inProgress("1")
			r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
				switch in.Payload.Event() {
				case hooks.TaskCompleted:
					return refuse("TaskCompleted hook feedback:\nno"), nil
				case hooks.TeammateIdle:
					panic("oh")
				}
				return pass, nil
			}
		}, "Stop hook failed: panic: oh"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			test.prepare(r)
			r.mustRun(t)
			equal(t, "warning", one[events.Warning](t, r.journal).Text, test.want)
			equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, "completed")
			equal(t, "model", r.agent.seen, []string{"user: hello", "assistant: end 1"})
		})
	}
}

// Rule 23: a refusal goes on with the same conversation and stop_hook_active,
// nothing else starts anew: the passes of the turn go on counting
// (every model request is a pass), and the prompt is the same prompt.
func TestRule23(t *testing.T) {
	r := newRig(t, say{text: "one"}, say{text: "two"}, say{text: "three"})
	no := refuse("Stop hook feedback:\nno")
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {no, no, pass}})
	r.mustRun(t)
	stops := r.runner.of(hooks.Stop)
	var active []bool
	for _, in := range stops {
		active = append(active, in.Payload.(hooks.StopInput).StopHookActive)
		equal(t, "prompt id", in.PromptID, stops[0].PromptID)
	}
	equal(t, "stop_hook_active", active, []bool{false, true, true})
	var passes []int
	for _, p := range all[events.PassStarted](r.journal) {
		passes = append(passes, p.Pass)
	}
	equal(t, "passes", passes, []int{1, 2, 3})
	end := one[events.TurnEnded](t, r.journal)
	equal(t, "end", end, events.TurnEnded{Reason: "completed", Passes: 3, Usage: agent.Usage{InputTokens: 30,
		OutputTokens: 3}})

	halted := newRig(t)
	halted.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {haltFor("enough")}})
	halted.mustRun(t) // the turn ends, the member stays
	equal(t, "reason", one[events.TurnEnded](t, halted.journal).Reason, "stop_hook_prevented")
}

// Rule 24: continue:false of a teammate's own gates ends the teammate; a
// refusal keeps it working.
func TestRule24(t *testing.T) {
	for _, event := range []hooks.Event{hooks.TaskCompleted, hooks.TeammateIdle} {
		r := newRig(t)
		r.inProgress("1")
		r.inbox.work = append(r.inbox.work, Work{Cause: events.ByMessage,
			Inputs: []agent.Input{{Kind: agent.FromMail, Text: "never read"}}})
		r.runner.answer = on(map[hooks.Event][]hooks.Outcome{event: {haltFor("budget is gone")}})
		err := r.run(t)
		if !errors.Is(err, ErrHalted) || !strings.Contains(err.Error(), "budget is gone") {
			t.Fatalf("%s: %v", event, err)
		}
		equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, "stop_hook_prevented")
		equal(t, "idle", len(all[events.Idle](r.journal)), 0)
		equal(t, "turns", len(all[events.TurnStarted](r.journal)), 1)
		if reason := one[events.MemberEnded](t, r.journal).Reason; !strings.Contains(reason, "budget is gone") {
			t.Errorf("member ended: %s", reason)
		}
	}
	r := newRig(t)
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.TeammateIdle: {refuse("TeammateIdle hook feedback:\nno"), pass}})
	r.mustRun(t)
	equal(t, "fired", r.gates(), []string{"Stop", "TeammateIdle", "Stop", "TeammateIdle"})
	equal(t, "idle", one[events.Idle](t, r.journal).Reason, events.IdleAvailable)
}

// A gate that hangs is ended by the turn's time limit, not by a person.
func TestTurnEndTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.opts.Limits.TurnTimeout = time.Minute
		r.runner.answer = func(ctx context.Context, in hooks.Input) (hooks.Outcome, error) {
			if in.Payload.Event() == hooks.Stop {
				<-ctx.Done()
			}
			return pass, nil
		}
		r.mustRun(t)
		equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, events.EndTurnTimeout)
		equal(t, "attention", one[events.NeedsAttention](t, r.journal).Reason, "limits.turn_timeout reached: 1m0s")
		equal(t, "fired", r.gates(), []string{"Stop", "Notification"})
	})
}
