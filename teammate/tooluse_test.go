package teammate

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// calls is a rig whose agent makes one call and stops.
func calls(tb testing.TB, c agent.ToolCall, tools ...agent.Tool) *rig {
	r := newRig(tb, say{calls: []agent.ToolCall{c}})
	if tools != nil {
		r.opts.Tools = tools
	}
	return r
}

const pathSchema = `{"type":"object","required":["file_path"],"additionalProperties":false,
	"properties":{"file_path":{"type":"string"},"limit":{"type":"integer"}}}`

// A call of a tool that is not there yet waits for it; if it does not come, the result says why.
func TestAwaitedTool(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"it comes":        {nil, "result: found"},
		"it does not":     {errors.New("it is being connected"), "error: <tool_use_error>Error: mcp__s__find cannot be used now: it is being connected"},
		"it is not there": {errNone, "error: <tool_use_error>Error: No such tool available: mcp__s__find."},
	} {
		t.Run(name, func(t *testing.T) {
			r := calls(t, callTool("c1", "mcp__s__find", `{}`))
			var others []agent.Tool
			r.opts.Others = func(context.Context) []agent.Tool { return others }
			r.opts.Await = func(_ context.Context, tool string) error {
				if tool != "mcp__s__find" {
					t.Errorf("it waits for %s", tool)
				}
				if test.err == nil {
					others = []agent.Tool{fakeTool{spec: agent.Spec{Name: tool, Schema: json.RawMessage(`{"type":"object"}`)},
						run: func(context.Context, agent.ToolCall) agent.ToolResult { return agent.ToolResult{Content: "found"} }}}
				}
				if test.err == errNone {
					return nil
				}
				return test.err
			}
			r.mustRun(t)
			if got := r.agent.seen[1]; !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s\nwant %s…", got, test.want)
			}
		})
	}
}

// errNone stands for a tool that will never be there.
var errNone = errors.New("none")

// Whatever is wrong with a call, it has a result, and the tool did not run.
func TestBadCalls(t *testing.T) {
	tests := map[string]struct {
		call agent.ToolCall
		want string // beginning of the result
	}{
		"unknown tool": {callTool("c1", "Glop", `{}`),
			"error: <tool_use_error>Error: No such tool available: Glop. " +
				"Glop is not among the tools available here. Continue with the tools you have.</tool_use_error>"},
		"not JSON": {callTool("c1", "Read", `{"file_path": "a`),
			"error: <tool_use_error>InputValidationError: the input of Read is not right: it is not JSON"},
		"more than JSON": {callTool("c1", "Read", `{"file_path": "a"} x`),
			"error: <tool_use_error>InputValidationError: the input of Read is not right: it is not JSON"},
		"an array": {callTool("c1", "Read", `["a"]`),
			"error: <tool_use_error>InputValidationError: the input of Read is not right: it is not a JSON object"},
		"null": {callTool("c1", "Read", `null`),
			"error: <tool_use_error>InputValidationError: the input of Read is not right: it is not a JSON object"},
		"nothing":       {callTool("c1", "Read", ``), "error: <tool_use_error>InputValidationError: "},
		"missing field": {callTool("c1", "Read", `{}`), "error: <tool_use_error>InputValidationError: "},
		"wrong type": {callTool("c1", "Read", `{"file_path":3}`),
			"error: <tool_use_error>InputValidationError: "},
		"unknown field": {callTool("c1", "Read", `{"file_path":"a","mode":"x"}`),
			"error: <tool_use_error>InputValidationError: "},
		"a field twice": {callTool("c1", "Read", `{"file_path":"a","file_path":"b"}`),
			`error: <tool_use_error>InputValidationError: the input of Read is not right: the field "file_path" is there twice`},
		"twice, but case": {callTool("c1", "Read", `{"file_path":"a","FILE_PATH":"b"}`),
			`error: <tool_use_error>InputValidationError: the input of Read is not right: the field "FILE_PATH" is there twice`},
		"a cut off object": {callTool("c1", "Read", `{"file_path":"a"`),
			"error: <tool_use_error>InputValidationError: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := calls(t, test.call, fakeTool{
				spec: agent.Spec{Name: "Read", Schema: json.RawMessage(pathSchema)},
				run: func(context.Context, agent.ToolCall) agent.ToolResult {
					t.Error("the tool ran")
					return agent.ToolResult{}
				},
			})
			r.mustRun(t)
			if got := r.agent.seen[1]; !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s\nwant %s…", got, test.want)
			}
			equal(t, "fired", r.gates(), []string{"Stop", "TeammateIdle"})
		})
	}
}

// fixing is a tool with the abilities to repair and to normalize its input.
type fixing struct{ fakeTool }

func (fixing) Repair(input json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.Replace(string(input), `"task_id"`, `"taskId"`, 1))
}

func (fixing) Normalize(input json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.Replace(string(input), `#`, ``, 1))
}

// Repair comes before the schema, Normalize after it, both before the hooks.
func TestRepairAndNormalize(t *testing.T) {
	r := calls(t, callTool("c1", "TaskGet", `{"task_id":"#3"}`),
		fixing{fakeTool{spec: agent.Spec{Name: "TaskGet", Team: true,
			Schema: json.RawMessage(`{"type":"object","required":["taskId"],"additionalProperties":false,"properties":{"taskId":{"type":"string"}}}`)}}})
	r.mustRun(t)
	equal(t, "result", r.agent.seen[1], "result: ran")
	equal(t, "input", string(r.runner.of(hooks.PreToolUse)[0].Payload.(hooks.PreToolUseInput).ToolInput),
		`{"taskId":"3"}`)
	equal(t, "journal", string(one[events.ToolCalled](t, r.journal).Input), `{"task_id":"#3"}`)
}

// golden: pre_updated_input, pre_updated_input_nodecision.
func TestUpdatedInput(t *testing.T) {
	schema := agent.Spec{Name: "Read", Schema: json.RawMessage(pathSchema)}
	var got string
	tl := fakeTool{spec: schema, run: func(_ context.Context, call agent.ToolCall) agent.ToolResult {
		got = string(call.Input)
		return agent.ToolResult{Content: "ran"}
	}}
	r := calls(t, callTool("c1", "Read", `{"file_path":"a"}`), tl)
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.PreToolUse: {{UpdatedInput: json.RawMessage(`{"file_path":"b"}`)}}})
	r.mustRun(t)
	want := `{"file_path":"` + filepath.Join(r.opts.Workdir.Root(), "b") + `"}`
	equal(t, "tool", got, want)
	post := r.runner.of(hooks.PostToolUse)[0].Payload.(hooks.PostToolUseInput)
	equal(t, "PostToolUse", string(post.ToolInput), want)
	equal(t, "response", string(post.ToolResponse), `"ran"`)

	r = calls(t, callTool("c1", "Read", `{"file_path":"a"}`), tl)
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.PreToolUse: {{UpdatedInput: json.RawMessage(`{"x":1}`)}}})
	r.mustRun(t)
	if !strings.HasPrefix(r.agent.seen[1], "error: <tool_use_error>InputValidationError: the input of Read is not right: a PreToolUse hook changed it: ") {
		t.Error(r.agent.seen[1])
	}

	// A rule sees what will run, not what was asked for.
	r = calls(t, callTool("c1", "Read", `{"file_path":"a"}`), tl)
	r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModeBypass, Deny: ruleList(t, "Read(//etc/**)")}, nil)
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.PreToolUse: {{
		UpdatedInput: json.RawMessage(`{"file_path":"/etc/shadow"}`), Permission: hooks.Permission{Decision: "allow"},
	}}})
	r.mustRun(t)
	equal(t, "denied", r.agent.seen[1], "error: Permission to use Read has been denied.")
}

// golden: pre_additional_context, post_context, post_exit2, postfail_*: contexts
// of PreToolUse stand beside the result, what comes after the call below it.
func TestHookTextsAroundResult(t *testing.T) {
	blocking := "<system-reminder>\nPostToolUse:Bash hook blocking error from command: \"./p\": [./p]: post err\n</system-reminder>"
	for name, failed := range map[string]bool{"success": false, "failure": true} {
		t.Run(name, func(t *testing.T) {
			r := calls(t, callTool("c1", "Bash", `{}`), fakeTool{spec: agent.Spec{Name: "Bash"},
				run: func(context.Context, agent.ToolCall) agent.ToolResult {
					return agent.ToolResult{Content: "out", IsError: failed, Extra: []string{"of the tool"}}
				}})
			after := hooks.Outcome{Decision: hooks.Block, Feedback: []string{blocking},
				Messages: []string{blocking, "ctx"}}
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{
				hooks.PreToolUse:  {ctxOf("PreToolUse:Bash", "pre")},
				hooks.PostToolUse: {after}, hooks.PostToolUseFailure: {after},
			})
			r.mustRun(t)
			kind := map[bool]string{false: "result: ", true: "error: "}[failed]
			equal(t, "model", r.agent.seen[1:4], []string{
				kind + "out\n\n" + blocking + "\n\nctx",
				"user: <system-reminder>\nPreToolUse:Bash hook additional context: pre\n</system-reminder>",
				"user: of the tool",
			})
			f := one[events.HookFeedback](t, r.journal)
			equal(t, "journal", []string{f.Text, f.Path}, []string{blocking, "tool"})
		})
	}
}

// golden: pre_continue_false. The call runs, the batch is finished, then the
// turn ends without gates.
func TestToolHookHalts(t *testing.T) {
	for _, event := range []hooks.Event{hooks.PreToolUse, hooks.PostToolUse} {
		for reason, want := range map[string]string{"enough": "enough",
			"": "Execution stopped by " + string(event) + " hook"} {
			r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Bash", `{}`), callTool("c2", "Bash",
				`{}`)}}, say{text: "never"})
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{event: {haltFor(reason), pass}})
			r.mustRun(t)
			equal(t, "model", r.agent.seen, []string{"user: hello", "result: ran", "result: ran"})
			equal(t, "fired", r.gates(), []string{"PreToolUse", "PostToolUse", "PreToolUse", "PostToolUse"})
			equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, "hook_stopped")
			equal(t, "stopped", one[events.HookStopped](t, r.journal).Message, want)
			equal(t, "idle", one[events.Idle](t, r.journal).Reason, events.IdleStopped)
		}
	}
}

// An agent that goes on after a halt is refused another pass.
func TestPassAfterHalt(t *testing.T) {
	r := newRig(t)
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.PreToolUse: {haltFor("enough")}})
	r.opts.Agent = agentFunc(func(ctx context.Context, _ []agent.Input, h agent.Host) (agent.Reply, error) {
		if got := h.Call(ctx, agent.ToolCall{Name: "Bash"}); got.Halted != "enough" {
			t.Error(got)
		}
		_, err := h.Pass(ctx)
		if !errors.Is(err, errHookStopped) {
			t.Error(err)
		}
		return agent.Reply{}, err
	})
	r.mustRun(t)
	equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, "hook_stopped")
}

func TestToolPanics(t *testing.T) {
	r := calls(t, callTool("c1", "Bash", `{}`), fakeTool{spec: agent.Spec{Name: "Bash"},
		run: func(context.Context, agent.ToolCall) agent.ToolResult { panic("nil map") }})
	r.mustRun(t)
	equal(t, "model", r.agent.seen[1], "error: <tool_use_error>Error: internal error in Bash: nil map</tool_use_error>")
	equal(t, "warning", one[events.Warning](t, r.journal).Text, "tool Bash panicked: nil map")
}

// When the hooks that guard a call cannot run, neither does the call; when
// those after it cannot, its result stands.
func TestToolHooksBroken(t *testing.T) {
	for event, want := range map[hooks.Event]string{
		hooks.PreToolUse:  "error: The hooks that guard Bash could not run, so it was not run.",
		hooks.PostToolUse: "result: ran",
	} {
		r := calls(t, callTool("c1", "Bash", `{}`))
		r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
			if in.Payload.Event() == event {
				return pass, errors.New("no processes left")
			}
			return pass, nil
		}
		r.mustRun(t)
		equal(t, string(event), r.agent.seen[1], want)
		equal(t, "warning", strings.HasPrefix(one[events.Warning](t, r.journal).Text,
			string(event)+" hook failed"), true)
	}
}

// rendering is a tool that can show another response.
type rendering struct{ fakeTool }

func (rendering) Render(response json.RawMessage) (agent.ToolResult, error) {
	var r struct{ Stdout *string }
	if err := json.Unmarshal(response, &r); err != nil || r.Stdout == nil {
		return agent.ToolResult{}, errors.New("no stdout in it")
	}
	return agent.ToolResult{Content: *r.Stdout}, nil
}

// golden: post_updated_output; a response of another shape is ignored.
func TestUpdatedOutput(t *testing.T) {
	plain := fakeTool{spec: agent.Spec{Name: "Bash"}}
	for name, test := range map[string]struct {
		tool    agent.Tool
		updated string
		want    string
		warned  int
	}{
		"rendered":    {rendering{plain}, `{"stdout":"CHANGED"}`, "result: CHANGED", 0},
		"other shape": {rendering{plain}, `[1]`, "result: ran", 1},
		"no renderer": {plain, `{"stdout":"CHANGED"}`, "result: ran", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := calls(t, callTool("c1", "Bash", `{}`), test.tool)
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.PostToolUse: {{
				Output: map[string]json.RawMessage{"updatedToolOutput": json.RawMessage(test.updated)},
			}}})
			r.mustRun(t)
			equal(t, "model", r.agent.seen[1], test.want)
			equal(t, "warnings", len(all[events.Warning](r.journal)), test.warned)
		})
	}
}

func TestPostToolUseInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("ä", 12_000)
		r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Good", `{"a":1}`), callTool("c2", "Bad", `{}`)}})
		r.opts.Tools = []agent.Tool{
			fakeTool{spec: agent.Spec{Name: "Good"}, run: func(context.Context, agent.ToolCall) agent.ToolResult {
				time.Sleep(42 * time.Millisecond)
				return agent.ToolResult{Content: "a\xff", Response: json.RawMessage(`{"n":1}`)}
			}},
			fakeTool{spec: agent.Spec{Name: "Bad"}, run: func(context.Context, agent.ToolCall) agent.ToolResult {
				return agent.ToolResult{Content: "first" + long + "last", IsError: true}
			}},
		}
		r.mustRun(t)
		good := r.runner.of(hooks.PostToolUse)[0]
		equal(t, "success", good.Payload.(hooks.PostToolUseInput), hooks.PostToolUseInput{ToolName: "Good",
			ToolInput: json.RawMessage(`{"a":1}`), ToolResponse: json.RawMessage(`{"n":1}`), ToolUseID: "c1", DurationMS: 42})
		equal(t, "mode", good.PermissionMode, "bypassPermissions")
		equal(t, "bytes that are no text", r.agent.seen[1], "result: a\uFFFD")
		bad := r.runner.of(hooks.PostToolUseFailure)[0].Payload.(hooks.PostToolUseFailureInput)
		if n := utf8.RuneCountInString(bad.Error); n > maxFailure || n < maxFailure-100 {
			t.Errorf("error of %d characters", n)
		}
		if !strings.HasPrefix(bad.Error, "firstä") || !strings.HasSuffix(bad.Error, "älast") ||
			!strings.Contains(bad.Error, "[2069 characters left out]") {
			t.Errorf("cut badly: %.20s … %s", bad.Error, bad.Error[len(bad.Error)-20:])
		}
		equal(t, "not an interrupt", bad.IsInterrupt, false)
	})
}

// An agent may not leave the conversation in disorder: Record says so.
func TestRecordKeepsOrder(t *testing.T) {
	r := newRig(t)
	m := r.member(t)
	run := &agentRun{u: &turn{t: m, at: m.hookContext(1, "")}}
	call := agent.Message{Role: agent.Assistant, Content: []agent.Block{{Type: agent.ToolUseBlock, ID: "a",
		Name: "X"}, {Type: agent.ToolUseBlock, ID: "b", Name: "X"}}}
	answer := func(ids ...string) agent.Message {
		m := agent.Message{Role: agent.User}
		for _, id := range ids {
			m.Content = append(m.Content, agent.Block{Type: agent.ToolResultBlock, ToolUseID: id})
		}
		return m
	}
	steps := []struct {
		m    agent.Message
		want string
	}{
		{agent.Message{Role: "system"}, `role "system"`},
		{answer("a"), `result for tool call "a", which waits for none`},
		{agent.Message{Role: agent.Assistant, Content: []agent.Block{{Type: agent.ToolUseBlock,
			Name: "X"}}}, `id "" is empty`},
		{agent.Message{Role: agent.Assistant, Content: slicesRepeat(agent.Block{Type: agent.ToolUseBlock,
			ID: "a", Name: "X"}, 2)}, `id "a" is empty or there twice`},
		{call, ""},
		{agent.TextMessage(agent.User, "hi"), `user message while tool call "a" waits`},
		{agent.TextMessage(agent.Assistant, "hi"), `assistant message while tool call "a" waits`},
		{answer("a", "a"), `result for tool call "a", which waits for none`},
		{answer("b"), ""},
		{answer("b"), `result for tool call "b", which waits for none`},
		{answer("a"), ""},
		{agent.TextMessage(agent.Assistant, "done"), ""},
		{call, ""},
	}
	for i, step := range steps {
		err := run.Record(agent.Record{Message: step.m})
		switch {
		case step.want == "" && err != nil:
			t.Errorf("step %d: %v", i, err)
		case step.want != "" && (err == nil || !strings.Contains(err.Error(), step.want)):
			t.Errorf("step %d: %v, want %s", i, err, step.want)
		}
	}
	h := history(t, r.path)
	equal(t, "messages", len(h.Messages), 5)
}

func slicesRepeat(b agent.Block, n int) []agent.Block {
	var all []agent.Block
	for range n {
		all = append(all, b)
	}
	return all
}

// Fire is for what happens to a member outside of its loop (golden:
// task_completed_block_json has no permission_mode there).
func TestFire(t *testing.T) {
	r := newRig(t)
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{
		hooks.TaskCompleted: {refuse("TaskCompleted hook feedback:\nno"), haltFor("enough")},
	})
	m := r.member(t)
	in := hooks.TaskCompletedInput{TaskInput: hooks.TaskInput{TaskID: "1"}}
	out, err := m.Fire(t.Context(), in)
	if err != nil || out.Decision != hooks.Block {
		t.Fatal(out, err)
	}
	if _, err := m.Fire(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	fired := r.runner.of(hooks.TaskCompleted)[0]
	equal(t, "common", []string{fired.AgentID, fired.PermissionMode}, []string{"api@crew", ""})
	equal(t, "feedback", one[events.HookFeedback](t, r.journal).Path, "tool")
	equal(t, "stopped", one[events.HookStopped](t, r.journal).Message, "enough")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Fire(ctx, in); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
