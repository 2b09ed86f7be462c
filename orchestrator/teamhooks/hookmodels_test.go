package teamhooks_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// finished lists what became of the hooks of a member: outcome and what they printed.
func finished(r *teamtest.Rig, member string) (list []events.HookFinished) {
	for _, l := range r.Lines.All() {
		var h events.HookFinished
		if l.Type != "hook_finished" || l.Member != member {
			continue
		}
		if err := json.Unmarshal(l.Data, &h); err != nil {
			r.T.Fatal(err)
		}
		list = append(list, h)
	}
	return list
}

// settingsOf names a settings file in a spec that has none.
const settingsOf = "\nsettings: [settings.json]\n"

// TestPromptHook: a prompt hook asks the member's own script, sees the
// conversation, refuses, and agrees the second time; its model requests count.
func TestPromptHook(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.SoloSpec + settingsOf,
		"settings.json": `{"hooks": {"Stop": [{"hooks": [
			{"type": "prompt", "prompt": "Were the tests run? $ARGUMENTS"}]}]}}`,
		"lead.yaml": `steps:
  - say: I am done.
  - when: "Stop hook feedback:\\n\\[Were the tests run\\? \\$ARGUMENTS\\]: run the tests"
    say: Now I am.
helpers:
  - when: "(?s)stopping condition been satisfied.*Were the tests run"
    steps:
      - {say: '{"ok": false, "reason": "run the tests"}', usage: {input_tokens: 100, output_tokens: 7}}
      - {say: '{"ok": true}', when: '"stop_hook_active":true', usage: {input_tokens: 100, output_tokens: 3}}
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "")
	asked := teamtest.Of[events.ModelAsked](r, "hook_model")
	if len(asked) != 2 || asked[0].Usage.InputTokens != 100 || asked[1].Usage.OutputTokens != 3 ||
		asked[0].Event != "Stop" {
		t.Errorf("asked %+v", asked)
	}
	if fed := teamtest.Of[events.HookFeedback](r, "hook_feedback"); len(fed) != 1 {
		t.Errorf("feedback %+v", fed)
	}
	ends := teamtest.Of[events.TurnEnded](r, "turn_ended")
	if ends[0].Passes != 2 || ends[0].Usage.InputTokens != 0 {
		t.Errorf("the hook's requests are no passes of the member: %+v", ends[0])
	}
}

// TestAgentHook: its agent reads a file of the workspace, answers with the tool,
// and leaves no trace in the member's transcript. What the member may not read
// it may not read either.
func TestAgentHook(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.SoloSpec, "lead: {model: lead}",
			"lead: {model: lead, permissions: {deny: [\"Read(./secret.txt)\"]}}", 1) + settingsOf,
		"settings.json": `{"hooks": {
			"Stop": [{"hooks": [{"type": "agent", "prompt": "Verify: $ARGUMENTS"}]}],
			"PreToolUse": [{"matcher": "Grep", "hooks": [{"type": "command", "command": "echo no grep >&2; exit 2"}]}]}}`,
		"proof.txt": "all tests pass\n", "secret.txt": "hush\n",
		"lead.yaml": `steps: [{say: I am done.}]
helpers:
  - when: "^Verify: "
    steps:
      - call:
          - {tool: Read, input: {file_path: proof.txt}}
          - {tool: Read, input: {file_path: secret.txt}}
          - {tool: Grep, input: {pattern: tests}}
          - {tool: Bash, input: {command: touch made}}
          - {tool: Write, input: {file_path: made, content: x}}
      - when: all tests pass
        say: Let me think.
      - when: "^\\[structured-output-enforce\\] You MUST call"
        call: [{tool: StructuredOutput, input: {reason: I forgot}}]
      - when: "has no field ok: call StructuredOutput again"
        call: [{tool: StructuredOutput, input: {ok: true}}]
    `,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "")
	asked := teamtest.Of[events.ModelAsked](r, "hook_model")
	if len(asked) != 1 || !asked[0].Agent || asked[0].Passes != 4 {
		t.Errorf("asked %+v", asked)
	}
	done := finished(r, "lead")
	if last := done[len(done)-1]; last.Outcome != "success" || last.Stdout != `{"ok":true}` {
		t.Errorf("%+v", done)
	}
	if _, err := os.Stat(r.Dir + "/made"); err == nil {
		t.Error("the verifier wrote a file")
	}
	if calls := teamtest.Of[events.ToolCalled](r, "tool_call"); len(calls) != 0 {
		t.Errorf("calls in the member's name: %+v", calls)
	}
}

// TestHooksWithoutModel: what cannot be answered is counted, and the turn ends.
func TestHooksWithoutModel(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ hook, script, want string }{
		"no helper": {`{"type": "prompt", "prompt": "p"}`, "steps: [{say: Done.}]", "has no helper whose"},
		"garbage": {`{"type": "prompt", "prompt": "p"}`,
			"steps: [{say: Done.}]\nhelpers: [{when: p, steps: [{say: no idea}]}]", "not a JSON object"},
		"the model fails": {`{"type": "prompt", "prompt": "p"}`,
			"steps: [{say: Done.}]\nhelpers: [{when: p, steps: [{error: {type: overloaded}}]}]", "overloaded"},
		"an agent that says nothing": {`{"type": "agent", "prompt": "p"}`,
			"steps: [{say: Done.}]\nhelpers: [{when: p, steps: [{say: hm, times: -1}]}]", "fallen silent"},
		"an agent without end": {`{"type": "agent", "prompt": "p"}`,
			"steps: [{say: Done.}]\nhelpers: [{when: p, steps: [{call: [{tool: Glob, input: {pattern: x}}], times: -1}]}]",
			"not answered in 50"},
		"no server": {`{"type": "mcp_tool", "server": "rig", "tool": "ask"}`, "steps: [{say: Done.}]",
			"MCP server 'rig' not connected"},
	} {
		t.Run(name, func(t *testing.T) {
			r := teamtest.NewRig(t, map[string]string{
				"team.yaml":     testkit.SoloSpec + settingsOf,
				"settings.json": `{"hooks": {"Stop": [{"hooks": [` + tc.hook + `]}]}}`,
				"lead.yaml":     tc.script,
			})
			r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "")
			done := finished(r, "lead")
			if len(done) != 1 || !done[0].FailedOpen || !strings.Contains(done[0].Warning, tc.want) {
				t.Errorf("%+v, want %q", done, tc.want)
			}
		})
	}
}

// TestNamedModel: a hook may name a model of the spec, whose steps answer; a name
// that the spec does not have means the member's own.
func TestNamedModel(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.SoloSpec, "models: {",
			"models: {judge: {provider: script, script: judge.yaml}, ", 1) +
			settingsOf,
		"settings.json": `{"hooks": {"Stop": [{"hooks": [{"type": "prompt", "prompt": "named", "model": "judge"},
			{"type": "prompt", "prompt": "unknown", "model": "haiku"}]}]}}`,
		"judge.yaml": `steps: [{say: '{"ok":true}'}]`,
		"lead.yaml":  "steps: [{say: Done.}]\nhelpers: [{when: unknown, steps: [{say: '{\"ok\":true}'}]}]",
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "")
	for _, h := range finished(r, "lead") {
		note := ""
		if h.Command == "unknown" {
			note = "the spec has no model haiku: the model of lead answered"
		}
		if h.Outcome != "success" || h.Warning != note {
			t.Errorf("%+v", h)
		}
	}
}

// TestTeamToolHook: an mcp_tool hook acts on the team as the member that it runs
// for.
func TestTeamToolHook(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + settingsOf,
		"settings.json": `{"hooks": {"TeammateIdle": [{"hooks": [{"type": "mcp_tool", "server": "covey", "once": true,
			"tool": "SendMessage", "input": {"to": "lead", "message": "${teammate_name} of ${team_name} rests"}},
			{"type": "mcp_tool", "server": "covey", "tool": "SendMessage", "input": {"to": 7}},
			{"type": "mcp_tool", "server": "covey", "tool": "Fly"}]}]}}`,
		"lead.yaml": `steps:
  - call: [{tool: SendMessage, input: {to: dev, message: hello}}]
  - say: Sent.
  - {when: dev of crew rests, say: Good., times: -1}
exhausted: stop`,
		"dev.yaml": `{steps: [{say: Hello.}], exhausted: stop}`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "")
	var texts []string
	for _, l := range r.Lines.All() {
		if l.Type == "message" && strings.Contains(string(l.Data), "dev of crew rests") {
			texts = append(texts, string(l.Data))
		}
	}
	if len(texts) != 1 || !strings.Contains(texts[0], `"from":"dev"`) {
		t.Errorf("messages %v", texts)
	}
	var failed []string
	for _, h := range finished(r, "dev") {
		if h.FailedOpen {
			failed = append(failed, h.Stderr)
		}
	}
	if got := strings.Join(failed, "|"); len(failed) < 2 || !strings.Contains(got, "InputValidationError") ||
		!strings.Contains(got, `has no tool "Fly"`) {
		t.Errorf("failed %q", failed)
	}
}

// TestFunctionHooksOfAgents is about agents of the program's own: what one
// registers judges its own turns, and is gone when it ends.
func TestFunctionHooksOfAgents(t *testing.T) {
	t.Parallel()
	registry := &hooks.Registry{}
	id := ""
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.SoloSpec, "lead.yaml": `{steps: [{say: Done.}, {say: Again., when: "Stop hook feedback:\nonce more"}]}`,
	})
	_, err := registry.On(hooks.SessionStart, "", func(_ context.Context, in hooks.Input) (hooks.Answer, error) {
		id = in.SessionID
		refused := false
		_, err := registry.Session(id).AtStop("once", func(context.Context, hooks.Input) (hooks.Answer, error) {
			if refused {
				return hooks.Answer{}, nil
			}
			refused = true
			return hooks.Answer{Decision: hooks.Block, Reason: "once more"}, nil
		})
		return hooks.Answer{}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Want(r.Run(orchestrator.Options{Hooks: registry}), orchestrator.CodeDone, "")
	if said := teamtest.Of[events.TextSaid](r, "text"); len(said) != 2 || said[1].Text != "Again." {
		t.Errorf("said %+v", said)
	}
	hookRunner, err := runner.New(nil, &runner.Options{Callbacks: registry})
	if err != nil {
		t.Fatal(err)
	}
	out, err := hookRunner.Run(t.Context(), hooks.Input{Common: hooks.Common{SessionID: id},
		Payload: hooks.StopInput{}}, nil)
	if err != nil || out.Matched != 0 || id == "" {
		t.Errorf("the member has ended, its function has not: %+v, %v", out, err)
	}
}
