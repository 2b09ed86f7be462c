package teammate

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/teammate/agent"
)

// The tests in this file run real hook processes by the real runner. What the
// model sees in them is what the recordings in golden show.

// withHooks gives the rig a real runner: one shell command per event, each in
// its own folder, so that a command can remember that it ran.
func withHooks(t *testing.T, r *rig, commands map[hooks.Event]string) {
	t.Helper()
	section := hooks.Settings{}
	for event, command := range commands {
		section[event] = []hooks.Group{{Hooks: []hooks.Handler{{Type: "command", Command: command}}}}
	}
	hookRunner, err := runner.New([]settings.Source{{Name: "spec", Settings: section}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.opts.Hooks = hookRunner
}

// once is a command that does what, the first time only.
func once(name, what string) string {
	return "test -e " + name + " || { touch " + name + "; " + what + "; }"
}

// golden: ip_team_blocks, i_team_tc_and_idle_block. Stop refuses alone; then
// TaskCompleted and TeammateIdle refuse together; then all agree.
func TestRealGates(t *testing.T) {
	r := newRig(t, say{text: "one"}, say{text: "two"}, say{text: "three"})
	r.inProgress("1", "2")
	stop := once("stop", `echo "stop says no" >&2; exit 2`)
	task := once("task", `echo "tc says no" >&2; exit 2`)
	idle := once("idle", `echo "idle says no" >&2; exit 2`)
	withHooks(t, r, map[hooks.Event]string{hooks.Stop: stop, hooks.TaskCompleted: task, hooks.TeammateIdle: idle})
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{
		"user: hello", "assistant: one",
		"user: Stop hook feedback:\n[" + stop + "]: stop says no", "assistant: two",
		"user: TaskCompleted hook feedback:\n[" + task + "]: tc says no",
		"user: TeammateIdle hook feedback:\n[" + idle + "]: idle says no", "assistant: three",
	})
	var order []string
	ids := map[string]string{}
	for _, s := range all[events.HookStarted](r.journal) {
		order = append(order, s.Event)
		if err := uuid.Validate(s.ToolUseID); err != nil || ids[s.ToolUseID] != "" {
			t.Errorf("%s has id %q, which is no UUID or that of %s too", s.Event, s.ToolUseID, ids[s.ToolUseID])
		}
		ids[s.ToolUseID] = s.Event
	}
	chain := []string{"Stop", "TaskCompleted", "TaskCompleted", "TeammateIdle"}
	equal(t, "order", order, append(append([]string{"Stop"}, chain...), chain...))
	equal(t, "end", one[events.TurnEnded](t, r.journal).Reason, "completed")
}

// golden: stop_json_multiline, i_team_idle_block_json. A refusal by JSON shows
// twice: as a reminder that names the command, and as feedback.
func TestRealJSONRefusal(t *testing.T) {
	r := newRig(t, say{text: "one"}, say{text: "two"}, say{text: "three"})
	stop := once("stop", `echo '{"decision":"block","reason":"never <b>"}'`)
	idle := once("idle", `echo '{"decision":"block"}'`)
	withHooks(t, r, map[hooks.Event]string{hooks.Stop: stop, hooks.TeammateIdle: idle})
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{
		"user: hello", "assistant: one",
		"user: <system-reminder>\nStop hook blocking error from command: \"" + stop + "\": never <b>\n</system-reminder>",
		"user: Stop hook feedback:\nnever <b>", "assistant: two",
		"user: <system-reminder>\nTeammateIdle hook blocking error from command: \"" + idle + "\": Blocked by hook\n</system-reminder>",
		"user: TeammateIdle hook feedback:\nBlocked by hook", "assistant: three",
	})
	// Neither may look like the user's words (HOOKS.md section 12, point 1).
	for _, in := range r.agent.given[1:] {
		if !strings.HasPrefix(in.Text, "<system-reminder>\n") || (in.Kind == agent.FromHook) != (hooks.Unframed(in.Text) != in.Text) {
			t.Errorf("%s: %q", in.Kind, in.Text)
		}
	}
}

// A hook reads what the member's transcript and environment tell it, as hook
// scripts of other hosts do: the last answer by grep.
func TestRealHookReadsTranscript(t *testing.T) {
	r := newRig(t, say{text: "I <think> I am done"})
	out := filepath.Join(t.TempDir(), "out")
	withHooks(t, r, map[hooks.Event]string{hooks.Stop: `
		in=$(cat)
		path=$(printf %s "$in" | sed 's/.*"transcript_path":"\([^"]*\)".*/\1/')
		{ grep '"role":"assistant"' "$path" | tail -1; printf '%s\n' "$in"; } > ` + out})
	r.mustRun(t)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	var answer struct {
		Message struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(lines[0]), &answer); err != nil ||
		answer.Message.Content[0].Text != "I <think> I am done" {
		t.Errorf("the hook found %s (%v)", lines[0], err)
	}
	var in map[string]any
	if err := json.Unmarshal([]byte(lines[1]), &in); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]any{
		"session_id": "s", "hook_event_name": "Stop", "permission_mode": "bypassPermissions", "agent_id": "api@crew",
		"agent_type": "api", "teammate_name": "api", "team_name": "crew", "stop_hook_active": false,
		"last_assistant_message": "I <think> I am done", "cwd": r.opts.Workdir.Root(),
	} {
		equal(t, field, in[field], want)
	}
	if id, _ := in["prompt_id"].(string); uuid.Validate(id) != nil {
		t.Errorf("prompt_id is %q", id)
	}
	if tasks, ok := in["background_tasks"].([]any); !ok || len(tasks) > 0 {
		t.Errorf("background_tasks is %v", in["background_tasks"])
	}
}

// golden: pre_exit2_nostderr, pre_updated_input, pre_additional_context, post_exit2.
func TestRealToolHooks(t *testing.T) {
	post := "echo 'post err' >&2; exit 2"
	blocking := "\n\n<system-reminder>\nPostToolUse:Bash hook blocking error from command: \"" + post + "\": [" + post +
		"]: post err\n</system-reminder>"
	tests := map[string]struct {
		event   hooks.Event
		command string
		want    []string
	}{
		"exit 2": {hooks.PreToolUse, "exit 2",
			[]string{"error: PreToolUse:Bash hook error: [exit 2]: No stderr output"}},
		"deny": {hooks.PreToolUse, `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",` +
			`"permissionDecisionReason":"denied by hook"}}'`, []string{"error: PreToolUse:Bash hook error: denied by hook"}},
		"input": {hooks.PreToolUse, `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"new"}}}'`,
			[]string{"result: ran new"}},
		"context": {hooks.PreToolUse, `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"ctx"}}'`,
			[]string{"result: ran old", "user: <system-reminder>\nPreToolUse:Bash hook additional context: ctx\n</system-reminder>"}},
		"after": {hooks.PostToolUse, post, []string{"result: ran old" + blocking}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := calls(t, callTool("c1", "Bash", `{"command":"old"}`), fakeTool{spec: agent.Spec{Name: "Bash"},
				run: func(_ context.Context, call agent.ToolCall) agent.ToolResult {
					var in struct{ Command string }
					if err := json.Unmarshal(call.Input, &in); err != nil {
						t.Error(err)
					}
					return agent.ToolResult{Content: "ran " + in.Command}
				}})
			withHooks(t, r, map[hooks.Event]string{test.event: test.command})
			r.mustRun(t)
			equal(t, "model", r.agent.seen[1:1+len(test.want)], test.want)
			equal(t, "tool_use_id", all[events.HookStarted](r.journal)[0].ToolUseID, "c1")
		})
	}
}

// golden: ups_json_block_suppress, ups_plain_stdout.
func TestRealPromptHooks(t *testing.T) {
	r := newRig(t)
	r.inbox.work = []Work{{Cause: events.ByPerson, Inputs: []agent.Input{person("go", "p1")}}}
	withHooks(t, r, map[hooks.Event]string{hooks.UserPromptSubmit: `echo '{"decision":"block","reason":"not now"}'`})
	r.mustRun(t)
	equal(t, "model", len(r.agent.seen), 0)
	equal(t, "warning", one[events.Warning](t, r.journal).Text,
		"UserPromptSubmit operation blocked by hook:\nnot now\n\nOriginal prompt: go")

	r = newRig(t)
	r.inbox.work = []Work{{Cause: events.ByPerson, Inputs: []agent.Input{person("go", "p1")}}}
	withHooks(t, r, map[hooks.Event]string{hooks.UserPromptSubmit: "echo plain ctx"})
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{
		"user: <system-reminder>\nUserPromptSubmit hook success: plain ctx\n</system-reminder>", "user: go", "assistant: end 2"})
}

// An interrupt ends a gate that hangs, children and all, and at once.
func TestRealGateInterrupted(t *testing.T) {
	r := newRig(t)
	withHooks(t, r, map[hooks.Event]string{hooks.Stop: "sleep 600 & sleep 600; wait"})
	m := r.member(t)
	r.journal.watch = func(e events.Event) {
		if _, ok := e.Data.(events.HookStarted); ok {
			m.Interrupt("enough")
		}
	}
	began := time.Now()
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, events.EndAbortedStreaming)
	equal(t, "hook", one[events.HookFinished](t, r.journal).Outcome, "cancelled")
	equal(t, "summaries", len(all[events.HookSummary](r.journal)), 0)
}

// golden: stop_command_not_found. A hook that cannot run lets the turn end; a
// gate that cannot run refuses.
func TestRealGateMissing(t *testing.T) {
	for name, gate := range map[string]bool{"hook": false, "gate": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.opts.Limits.StopBlockCap = 1
			handler := hooks.Handler{Type: "command", Command: "/no/such/bin", Gate: gate}
			hookRunner, err := runner.New([]settings.Source{{Settings: hooks.Settings{
				hooks.Stop: {{Hooks: []hooks.Handler{handler}}},
			}}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.opts.Hooks = hookRunner
			r.mustRun(t)
			equal(t, "refusals", len(all[events.HookFeedback](r.journal)), map[bool]int{false: 0, true: 2}[gate])
			equal(t, "summary", len(all[events.HookSummary](r.journal)[0].Errors), 1)
			equal(t, "stop-hook-error", all[events.Notification](r.journal)[0].Kind, "stop-hook-error")
		})
	}
}
