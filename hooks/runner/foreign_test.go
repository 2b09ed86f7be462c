package runner

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// TestForeignAnswer: an answer in the words of another agent program decides nothing, which
// people are told; a hook or team that fails closed refuses. An answer that also decides in
// Claude Code's words counts.
func TestForeignAnswer(t *testing.T) {
	known := hooks.InfoOf(hooks.PreToolUse)
	for stdout, want := range map[string]string{
		`{"permission":"deny","userMessage":"no"}`: "open permission",
		`{"permissionDecision":"deny"}`:            "open permissionDecision",
		`{"followup_message":"more"}`:              "open followup_message",
		`{"modifiedArgs":{}}`:                      "open modifiedArgs",
		`{"permission":"deny","decision":"block"}`: "refused permission",
		`{"permission":"allow"}`:                   "",
		`{"permission":{"read":true}}`:             "",
		`{"unknown":"deny"}`:                       "",
		`{"permission":"deny","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}`: "refused permission",
	} {
		v := Judge(known, &hooks.Handler{Type: "command"}, Finding{Answer: Read(hooks.PreToolUse, stdout, false)})
		got := ""
		switch {
		case v.FailedOpen:
			got = "open "
		case v.Refused >= hooks.Refuses:
			got = "refused "
		}
		if want != "" && strings.Contains(v.Warning, `"`+want[strings.Index(want, " ")+1:]+`"`) {
			got += want[strings.Index(want, " ")+1:]
		}
		if got != want || want == "" && v.Warning != "" {
			t.Errorf("%s: %s, warning %q; want %s", stdout, got, v.Warning, want)
		}
	}
	answer := Read(hooks.PreToolUse, `{"permission":"deny"}`, false)
	for name, v := range map[string]Verdict{
		"onFailure":   Judge(known, &hooks.Handler{Type: "command", OnFailure: "block"}, Finding{Answer: answer}),
		"fail_closed": Judge(known, &hooks.Handler{Type: "command"}, Finding{Answer: answer, FailClosed: true}),
	} {
		if v.Refused < hooks.Refuses {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
