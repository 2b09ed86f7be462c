package runner

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// TestOddEvents: the events that read a hook's output in a way of their own.
func TestOddEvents(t *testing.T) {
	accept := hso(hooks.Elicitation, `"action":"accept","content":{"a":1}`)
	tests := []struct {
		event          hooks.Event
		code           int
		stdout, stderr string
		decision       hooks.Decision
		output         string // name=value of the field that is set; only the name: it is not
	}{
		{hooks.PreCompact, 0, "keep the names\n", "", hooks.Pass, `customInstructions="keep the names"`},
		{hooks.PreCompact, 1, "keep the names\n", "", hooks.Pass, "customInstructions"},
		{hooks.PreCompact, 0, "", "", hooks.Pass, "customInstructions"},
		{hooks.PreCompact, 2, "keep", "no", hooks.Block, "customInstructions"},
		{hooks.PreCompact, 0, `{"decision":"block","reason":"r"}`, "", hooks.Block, "customInstructions"},
		{hooks.WorktreeCreate, 0, "making it\n\x1b[32m/w/t 1\x1b[0m\n\n", "", hooks.Pass, `worktreePath="/w/t 1"`},
		{hooks.WorktreeCreate, 0, hso(hooks.WorktreeCreate, `"worktreePath":"/w"`), "", hooks.Pass, `worktreePath="/w"`},
		{hooks.WorktreeCreate, 1, "/w\n", "disk full", hooks.Block, "worktreePath"},
		{hooks.WorktreeCreate, 2, "/w\n", "no", hooks.Block, "worktreePath"},
		{hooks.WorktreeCreate, 1, hso(hooks.WorktreeCreate, `"worktreePath":"/w"`), "", hooks.Block, `worktreePath="/w"`},
		{hooks.Elicitation, 0, accept, "", hooks.Pass, `action="accept"`},
		{hooks.Elicitation, 1, accept, "", hooks.Pass, `action="accept"`},
		{hooks.Elicitation, 2, accept, "no", hooks.Block, `action="decline"`},
		{hooks.Elicitation, 2, accept, "no", hooks.Block, "content"},
		{hooks.ElicitationResult, 2, "", "no", hooks.Block, `action="decline"`},
		{hooks.MessageDisplay, 0, hso(hooks.MessageDisplay, `"displayContent":"x"`), "", hooks.Pass, `displayContent="x"`},
		{hooks.MessageDisplay, 2, hso(hooks.MessageDisplay, `"displayContent":"x"`), "", hooks.Pass, "displayContent"},
	}
	for _, test := range tests {
		out := decide(test.event, test.code, test.stdout, test.stderr)
		name, want, _ := strings.Cut(test.output, "=")
		if out.Decision != test.decision || string(out.Output[name]) != want {
			t.Errorf("%s, exit %d, %q: %s, output %s, want %s, %s", test.event, test.code, test.stdout, out.Decision,
				out.Output, test.decision, test.output)
		}
	}
}

// TestOddEventsTogether: what several hooks say to one who sums up adds up.
func TestOddEventsTogether(t *testing.T) {
	known := hooks.InfoOf(hooks.PreCompact)
	var all []Verdict
	for _, text := range []string{"one", "two"} {
		all = append(all, Judge(known, &hooks.Handler{Type: "command"}, end(hooks.PreCompact, 0, text, "")))
	}
	if got := string(Merge(known, "PreCompact", all).Output["customInstructions"]); got != `"one\n\ntwo"` {
		t.Errorf("instructions %s", got)
	}
}

// TestTimeOutsThatRefuse: a change of the model and a worktree wait for a yes.
func TestTimeOutsThatRefuse(t *testing.T) {
	for event, want := range map[hooks.Event]hooks.Decision{hooks.PreModelSwitch: hooks.Block, hooks.WorktreeCreate: hooks.Block, hooks.Stop: hooks.Pass,
		hooks.PreToolUse: hooks.Pass, hooks.UserPromptSubmit: hooks.Pass, hooks.ConfigChange: hooks.Pass, hooks.PreCompact: hooks.Pass} {
		known := hooks.InfoOf(event)
		v := Judge(known, &hooks.Handler{Type: "command"}, Finding{Code: -1, TimedOut: true, Fault: "timed out after 1s"})
		if out := Merge(known, string(event), []Verdict{v}); out.Decision != want {
			t.Errorf("%s: %s, want %s", event, out.Decision, want)
		}
		v = Judge(known, &hooks.Handler{Type: "command"}, Finding{Code: -1, Aborted: true})
		if out := Merge(known, string(event), []Verdict{v}); out.Decision != hooks.Pass {
			t.Errorf("%s: a run that was broken off decided %s", event, out.Decision)
		}
	}
}
