package hooks

import (
	"strings"
	"testing"
)

// TestOddEvents: the events that read a hook's output in a way of their own.
func TestOddEvents(t *testing.T) {
	accept := hso(Elicitation, `"action":"accept","content":{"a":1}`)
	tests := []struct {
		event          Event
		code           int
		stdout, stderr string
		decision       Decision
		output         string // name=value of the field that is set; only the name: it is not
	}{
		{PreCompact, 0, "keep the names\n", "", Pass, `customInstructions="keep the names"`},
		{PreCompact, 1, "keep the names\n", "", Pass, "customInstructions"},
		{PreCompact, 0, "", "", Pass, "customInstructions"},
		{PreCompact, 2, "keep", "no", Block, "customInstructions"},
		{PreCompact, 0, `{"decision":"block","reason":"r"}`, "", Block, "customInstructions"},
		{WorktreeCreate, 0, "making it\n\x1b[32m/w/t 1\x1b[0m\n\n", "", Pass, `worktreePath="/w/t 1"`},
		{WorktreeCreate, 0, hso(WorktreeCreate, `"worktreePath":"/w"`), "", Pass, `worktreePath="/w"`},
		{WorktreeCreate, 1, "/w\n", "disk full", Block, "worktreePath"},
		{WorktreeCreate, 2, "/w\n", "no", Block, "worktreePath"},
		{WorktreeCreate, 1, hso(WorktreeCreate, `"worktreePath":"/w"`), "", Block, `worktreePath="/w"`},
		{Elicitation, 0, accept, "", Pass, `action="accept"`},
		{Elicitation, 1, accept, "", Pass, `action="accept"`},
		{Elicitation, 2, accept, "no", Block, `action="decline"`},
		{Elicitation, 2, accept, "no", Block, "content"},
		{ElicitationResult, 2, "", "no", Block, `action="decline"`},
		{MessageDisplay, 0, hso(MessageDisplay, `"displayContent":"x"`), "", Pass, `displayContent="x"`},
		{MessageDisplay, 2, hso(MessageDisplay, `"displayContent":"x"`), "", Pass, "displayContent"},
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
	known := InfoOf(PreCompact)
	var all []verdict
	for _, text := range []string{"one", "two"} {
		all = append(all, judge(known, &Handler{Type: "command"}, end(PreCompact, 0, text, "")))
	}
	if got := string(merge(known, "PreCompact", all).Output["customInstructions"]); got != `"one\n\ntwo"` {
		t.Errorf("instructions %s", got)
	}
}

// TestTimeOutsThatRefuse: a change of the model and a worktree wait for a yes.
func TestTimeOutsThatRefuse(t *testing.T) {
	for event, want := range map[Event]Decision{PreModelSwitch: Block, WorktreeCreate: Block, Stop: Pass,
		PreToolUse: Pass, UserPromptSubmit: Pass, ConfigChange: Pass, PreCompact: Pass} {
		known := InfoOf(event)
		v := judge(known, &Handler{Type: "command"}, finding{code: -1, timedOut: true, fault: "timed out after 1s"})
		if out := merge(known, string(event), []verdict{v}); out.Decision != want {
			t.Errorf("%s: %s, want %s", event, out.Decision, want)
		}
		v = judge(known, &Handler{Type: "command"}, finding{code: -1, aborted: true})
		if out := merge(known, string(event), []verdict{v}); out.Decision != Pass {
			t.Errorf("%s: a run that was broken off decided %s", event, out.Decision)
		}
	}
}
