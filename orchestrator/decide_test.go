package orchestrator_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestDecide: calls are decided as in a run by everything that may decide, and nothing is run for them: no
// tool, no session and no turn.
func TestDecide(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"silent.yaml": "steps: [{say: done, times: -1}]",
		"hook.sh":     "#!/bin/sh\ncase \"$(cat)\" in *secret*) echo 'not the secret' >&2; exit 2;; esac",
		"team.yaml": `covey: 1
goal: g
models: {m: {provider: script, script: silent.yaml}}
lead: {model: m, permission_mode: plan}
teammates:
  ana:
    model: m
    permission_mode: acceptEdits
    owns: [docs/**]
    permissions: {allow: ["Bash(touch *)", mcp__files__read], ask: ["Bash(touch asked)"], deny: ["Bash(touch denied)", mcp__files__write]}
  ben: {model: m, tools: [Read], permission_mode: dontAsk}
  eva: {agent: claude, permissions: {deny: ["Bash(git push*)"]}}
hooks:
  PreToolUse: [{matcher: Bash, hooks: [{type: command, command: ./hook.sh}]}]
  SessionStart: [{hooks: [{type: command, command: "touch began"}]}]
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	team, err := configs.Load(filepath.Join(dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	decided := map[string]events.PermissionDecided{}
	o, err := orchestrator.New(team, orchestrator.Options{StateHome: t.TempDir(), NoTurns: true, OnLine: func(l events.Line) {
		switch d := l.Event().Data.(type) {
		case events.PermissionDecided:
			decided[d.ID] = d
		case events.TurnStarted, events.MemberStarted:
			t.Errorf("a line %s", l.Type)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		member, tool, input, decision, by, denial string
	}
	rows := []row{
		{"ana", "Bash", `{"command": "touch a"}`, "allow", "rule", ""},
		{"ana", "Bash", `{"command": "touch denied"}`, "deny", "rule", "has been denied"},
		{"ana", "Bash", `{"command": "touch asked"}`, "deny", "nobody", "nobody can be asked"},
		{"ana", "Bash", `{"command": "touch secret"}`, "deny", "hook", "not the secret"},
		{"ana", "Bash", `{"command": "rm a"}`, "deny", "nobody", "nobody can be asked"},
		{"ana", "Write", `{"file_path": "docs/a", "content": ""}`, "allow", "mode", ""},
		{"ana", "Write", `{"file_path": "src/a", "content": ""}`, "deny", "rule", "docs/**"},
		{"ana", "mcp__files__read", `{}`, "allow", "rule", ""},
		{"ana", "mcp__files__write", `{}`, "deny", "rule", "has been denied"},
		{"ana", "Bash", `{"comand": "touch a"}`, "", "", "InputValidationError"},
		{"ben", "Bash", `{"command": "touch a"}`, "", "", "No such tool"},
		{"ben", "mcp__files__read", `{}`, "", "", "No such tool"},
		{"lead", "Bash", `{"command": "touch a"}`, "deny", "mode", "plan mode"},
		{"lead", "TaskCreate", `{"subject": "s", "description": "d"}`, "allow", "mode", ""},
		{"eva", "Bash", `{"command": "git push"}`, "deny", "rule", "has been denied"},
	}
	var calls []orchestrator.MadeCall
	for i, r := range rows {
		calls = append(calls, orchestrator.MadeCall{
			Member: r.member, Call: agent.ToolCall{ID: string(rune('a' + i)), Name: r.tool, Input: json.RawMessage(r.input)},
		})
	}
	decisions, err := o.Decide(t.Context(), calls)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		got, d := decided[calls[i].Call.ID], decisions[i]
		if got.Decision != r.decision || got.By != r.by || !strings.Contains(d.Denial, r.denial) || (d.Denial == "") != (r.denial == "") {
			t.Errorf("%s calls %s %s: %s by %s: %q; want %s by %s: %q", r.member, r.tool, r.input, got.Decision, got.By, d.Denial,
				r.decision, r.by, r.denial)
		}
		if wrong, none := strings.HasPrefix(r.denial, "InputV"), strings.HasPrefix(r.denial, "No such"); d.Wrong != wrong || d.NoTool != none {
			t.Errorf("%s calls %s: wrong %v, no tool %v; want %v and %v", r.member, r.tool, d.Wrong, d.NoTool, wrong, none)
		}
	}
	for _, file := range []string{"a", "docs/a", "began"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			t.Errorf("something was run: there is %s", file)
		}
	}
	if _, err := o.Decide(t.Context(), []orchestrator.MadeCall{{Member: "zoe"}}); err == nil {
		t.Error("a member that is not there was decided for")
	}
}
