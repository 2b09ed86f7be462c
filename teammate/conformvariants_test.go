//go:build unix

package teammate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// variant is a near relative of a recording, with what HOOKS.md says of it.
type variant struct {
	name  string
	hooks string // event: what its one hook does, as REC has it
	tool  string // command of the one Bash call; empty: none
	seen  string // what the model sees after its first answer, parted by |; $ stands for the hook's command
	fired string
	end   string
}

func variants() []variant {
	const blocked = "<system-reminder>\n%s hook blocking error from command: \"$\": r\n</system-reminder>"
	inResult := "result: hi\n\n" + fmt.Sprintf(blocked, "PostToolUse:Bash")
	fed := "user: " + fmt.Sprintf(blocked, "Stop") + "|user: Stop hook feedback:\nr"
	block := `{"stdout":{"decision":"block","reason":"r"}}`
	halt := `{"stdout":{"continue":false,"stopReason":"enough"}}`
	return []variant{
		{"post_continue_false", `PostToolUse: ` + halt, "echo hi", "", "PostToolUse", events.EndHookStopped},
		{"postfail_continue_false", `PostToolUseFailure: ` + halt, "exit 3", "*", "PostToolUseFailure",
			"completed"},
		{"post_block", `PostToolUse: ` + block, "echo hi", inResult,
			"PostToolUse", "completed"},
		{"postbatch_exit2", `PostToolBatch: {"exit":2,"stderr":"no more"}`, "echo hi", "", "PostToolBatch",
			events.EndHookStopped},
		{"postbatch_continue_false", `PostToolBatch: ` + halt, "echo hi", "", "PostToolBatch", events.EndHookStopped},
		{"post_exit1_json_block", `PostToolUse: {"exit":1,"stdout":{"decision":"block","reason":"r"}}`, "echo hi",
			inResult,
			"PostToolUse", "completed"},
		{"pre_exit2_json_deny", `PreToolUse: {"exit":2,"stderr":"e","stdout":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"json says"}}}`,
			"echo hi", "error: PreToolUse:Bash hook error: json says", "PreToolUse", "completed"},
		{"pre_exit2_bad_schema", `PreToolUse: {"exit":2,"stderr":"e","stdout":{"continue":"no"}}`,
			"echo hi", "error: PreToolUse:Bash hook error: [$]: e", "PreToolUse", "completed"},
		{"pre_exit3", `PreToolUse: {"exit":3,"stderr":"e"}`, "echo hi", "result: hi", "PreToolUse", "completed"},
		{"pre_allow_and_block", `PreToolUse: {"stdout":{"decision":"block","reason":"no","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}}`,
			"echo hi", "error: PreToolUse:Bash hook error: no", "PreToolUse", "completed"},
		{"stop_exit1_json_block", `Stop: {"seq":[{"exit":1,"stdout":{"decision":"block","reason":"r"}}]}`, "",
			fed, "Stop Stop", "completed"},
		{"stop_exit2_bad_schema", `Stop: {"seq":[{"exit":2,"stderr":"e","stdout":{"decision":5}}]}`, "",
			"user: Stop hook feedback:\n[$]: e", "Stop Stop", "completed"},
		{"stop_exit2_json_block", `Stop: {"seq":[{"exit":2,"stderr":"e","stdout":{"decision":"block","reason":"r"}}]}`, "",
			fed, "Stop Stop", "completed"},
		{"stop_exit2_json_context", `Stop: {"seq":[{"exit":2,"stderr":"e","stdout":{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"ctx"}}}]}`, "",
			"user: <system-reminder>\nStop hook additional context: ctx\n</system-reminder>|user: Stop hook feedback:\n[$]: e", "Stop Stop", "completed"},
		{"stop_context_forever", `Stop: {"stdout":{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"ctx"}}}`, "",
			"*", strings.TrimSpace(strings.Repeat("Stop ", 9)), "completed"},
		{"stop_plain", `Stop: {"stdout":"words"}`, "", "", "Stop", "completed"},
		{"ss_plain", `SessionStart: {"stdout":"words"}`, "", "", "SessionStart", "completed"},
		{"ss_exit2", `SessionStart: {"exit":2,"stderr":"no"}`, "", "", "SessionStart", "completed"},
		{"ups_exit1", `UserPromptSubmit: {"exit":1,"stderr":"e","stdout":"words"}`, "", "",
			"UserPromptSubmit", "completed"},
	}
}

// TestConformanceVariants: what was not recorded goes by the rules of HOOKS.md.
func TestConformanceVariants(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			v.check(t)
		})
	}
}

func (v variant) check(t *testing.T) {
	event, spec, _ := strings.Cut(v.hooks, ": ")
	command := "REC h '" + spec + "'"
	handlers, err := json.Marshal(map[string]any{event: []any{map[string]any{"hooks": []any{
		map[string]string{"type": "command", "command": command}}}}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, say{text: "one"}, say{text: "two"})
	if v.tool != "" {
		r.agent.script[0].calls = []agent.ToolCall{callTool("c1", "Bash", fmt.Sprintf(`{"command":%q}`, v.tool))}
	}
	r.inbox.work = []Work{{Cause: events.ByGoal, Inputs: []agent.Input{person("go", "goal")}}}
	r.opts.Lead, r.opts.Hooks, r.opts.Tools = true, goldenRunner(t, goldenCase{Name: v.name,
		Hooks: handlers}), []agent.Tool{shellTool()}
	r.opts.Workdir = workspace.NewWorkdir(t.TempDir())
	r.mustRun(t)
	var fired []string
	for _, s := range all[events.HookStarted](r.journal) {
		fired = append(fired, s.Event)
	}
	equal(t, "fired", strings.Join(fired, " "), v.fired)
	equal(t, "end", one[events.TurnEnded](t, r.journal).Reason, v.end)
	_, after, _ := strings.Cut(strings.Join(r.agent.seen, "|"), "assistant: one")
	after, _, _ = strings.Cut(strings.Trim(after, "|"), "|assistant: two")
	if v.seen != "*" && v.end != events.EndHookStopped {
		equal(t, "model", after, strings.ReplaceAll(v.seen, "$", command))
	}
	if v.end == events.EndHookStopped && strings.Contains(after, "assistant:") {
		t.Errorf("the model was asked again: %q", r.agent.seen)
	}
}
