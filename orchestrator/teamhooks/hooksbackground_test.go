//go:build unix

package teamhooks_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks/mail"
)

// behindSpec is a lead alone with one hook on an event.
func behindSpec(event, handler string) string {
	return testkit.SoloSpec + "hooks:\n  " + event + ":\n    - hooks: [" + handler + "]\n"
}

// A hook of the turn end that finds fault from the background wakes the lead, as
// recorded: with the same words, and stop_hook_active set.
func TestAsyncRewakeWakesAnIdleMember(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": behindSpec("Stop", "{type: command, command: ./review.sh, asyncRewake: true}"),
		"review.sh": "#!/bin/sh\ncat >> inputs\nif [ -e found ]; then exit 0; fi\nsleep 0.3\ntouch found\necho rewake text >&2\nexit 2\n",
		"lead.yaml": `steps:
  - {when: "^Ship it.$", say: first answer}
  - {when: "Stop hook feedback:\\n\\[./review.sh\\]: rewake text", say: second answer}
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	turns := teamtest.Of[events.TurnStarted](r, "turn_started")
	if len(turns) != 2 || turns[1].Cause != events.ByHook {
		t.Fatalf("turns %+v:\n%s", turns, teamtest.Show(r.Lines.All()))
	}
	inputs := strings.Split(strings.TrimSpace(r.Read("inputs")), "\n")
	if len(inputs) != 2 || !strings.Contains(inputs[0], `"stop_hook_active":false`) ||
		!strings.Contains(inputs[1], `"stop_hook_active":true`) || !strings.Contains(inputs[1], `"second answer"`) {
		t.Errorf("the hook got %q", inputs)
	}
	letters := teamtest.Of[mail.Message](r, "message")
	if len(letters) != 2 || letters[1].Kind != mail.HookMessage || letters[1].To != "lead" ||
		letters[1].Summary != "Stop hook feedback" {
		t.Errorf("mail %+v", letters)
	}
	done := teamtest.Of[events.HookFinished](r, "hook_finished")
	if len(done) != 2 || done[0].Outcome != "blocking" || done[0].ExitCode != 2 || done[1].Outcome != "success" {
		t.Errorf("hooks %+v", done)
	}
}

// One of another event wakes it with a notification, which reaches the model as it is;
// the Stop hooks of the turn that it causes see stop_hook_active.
func TestAsyncRewakeOfAnotherEvent(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": behindSpec("SessionStart", "{type: command, command: ./watch.sh, asyncRewake: true}") +
			"  Stop: [{hooks: [{type: command, command: 'cat >> inputs; touch ended'}]}]\n",
		"watch.sh": "#!/bin/sh\nwhile ! [ -e ended ]; do sleep 0.05; done\n" +
			"echo '{\"rewakeSummary\":\"a letter\"}'\necho new mail >&2\nexit 2\n",
		"lead.yaml": `steps:
  - {when: "^Ship it.$", say: first answer}
  - when: "^This is an automatic event [^<]*\\n\\n<task-notification>\\n<summary>a letter</summary>\\n</task-notification>\\n<system-reminder>\\n\
      Stop hook blocking error from command \"SessionStart:startup\": new mail\\n</system-reminder>$"
    say: second answer
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	inputs := strings.Split(strings.TrimSpace(r.Read("inputs")), "\n")
	if len(inputs) != 2 || !strings.Contains(inputs[0], `"stop_hook_active":false`) ||
		!strings.Contains(inputs[1], `"stop_hook_active":true`) || !strings.Contains(inputs[1], `"second answer"`) {
		t.Errorf("the hook got %q", inputs)
	}
}

// What such a hook of a tool finds comes between the tool calls of the same turn.
func TestAsyncRewakeInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": bypassing(behindSpec("PostToolUse",
			"{type: command, command: ./review.sh, once: true, asyncRewake: true, rewakeMessage: 'Review:', rewakeSummary: a review}")),
		"review.sh": "#!/bin/sh\necho two bugs >&2\nexit 2\n",
		"lead.yaml": `steps:
  - {call: [{tool: Bash, input: {command: echo hi}}]}
  - when: "(?s)<summary>a review</summary>.*<system-reminder>\nReview: two bugs\n</system-reminder>"
    say: I look at it.
  - {call: [{tool: Bash, input: {command: sleep 0.1}}], times: 40}
`,
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if ending := teamtest.Of[events.TurnStarted](r, "turn_started"); len(ending) != 1 {
		t.Errorf("%d turns:\n%s", len(ending), teamtest.Show(r.Lines.All()))
	}
	texts := teamtest.Of[events.TextSaid](r, "text")
	if len(texts) == 0 || texts[len(texts)-1].Text != "I look at it." {
		t.Errorf("texts %+v", texts)
	}
	heard := teamtest.Of[events.HookFeedback](r, "hook_feedback")
	if len(heard) != 1 || heard[0].Path != "tool" || heard[0].Event != "PostToolUse" {
		t.Errorf("feedback %+v", heard)
	}
}

// bypassing lets the lead run commands.
func bypassing(spec string) string {
	return strings.Replace(spec, "lead: {model: lead}", "lead: {model: lead, permission_mode: bypassPermissions}", 1)
}

// A hook that finds fault with every turn end, late, is overridden as one that is
// waited for is.
func TestAsyncRewakeIsCapped(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(behindSpec("Stop",
			"{type: command, command: 'echo again >&2; exit 2', asyncRewake: true}"),
			"lead: {model: lead}", "lead: {model: lead, limits: {stop_block_cap: 3}}", 1),
		"lead.yaml": "steps: [{say: done, times: -1}]",
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeUnfinished, "the gates refused its turn end 4 times in a row")
	if turns := teamtest.Of[events.TurnStarted](r, "turn_started"); len(turns) != 5 {
		t.Errorf("%d turns", len(turns))
	}
	if passes := teamtest.Of[events.PassStarted](r, "pass_started"); len(passes) != 4 { // the last turn begins none
		t.Errorf("%d passes", len(passes))
	}
}

// What a hook with async says is for whenever the member has its next request; it
// neither wakes the member nor decides anything.
func TestAsyncContextWaitsForTheNextRequest(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": bypassing(behindSpec("PostToolUse",
			"{type: command, command: ./late.sh, once: true, async: true}")),
		"late.sh": "#!/bin/sh\ncat > /dev/null\n" + `echo '{"decision":"block","systemMessage":"late sys",` +
			`"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"late ctx"}}'` + "\ntouch ended\n",
		"lead.yaml": `steps:
  - {call: [{tool: Bash, input: {command: echo hi}}]}
  - when: "<system-reminder>\nPostToolUse:Bash hook additional context: late ctx\n</system-reminder>"
    say: I know now.
  - {call: [{tool: Bash, input: {command: sleep 0.1}}], times: 40}
`,
	})
	ending := r.Run(orchestrator.Options{})
	r.Want(ending, orchestrator.CodeDone, "all work is done")
	if ending.Answer != "I know now." || len(teamtest.Of[events.TurnStarted](r, "turn_started")) != 1 {
		t.Errorf("answer %q:\n%s", ending.Answer, teamtest.Show(r.Lines.All()))
	}
	told := 0
	for _, w := range teamtest.Of[events.Warning](r, "warning") {
		if w.Text == "PostToolUse:Bash says: late sys" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("people were told %d times", told)
	}
}

// When all is done, hooks that nobody waits for get their time; what still runs
// then is ended, and the journal tells of it before the team's end.
func TestAsyncHooksGetTheirTimeAtTheEnd(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(behindSpec("Stop", "{type: command, command: ./slow.sh, async: true}"),
			"]\n", ", {type: command, command: ./endless.sh, async: true}]\n", 1) +
			"  SessionEnd:\n    - hooks: [{type: command, command: ./last.sh, async: true}]\n",
		"slow.sh":    "#!/bin/sh\nsleep 0.3\ntouch slow\n",
		"endless.sh": "#!/bin/sh\nsleep 300\n",
		"last.sh":    "#!/bin/sh\nsleep 0.2\ntouch last\n",
		"lead.yaml":  "steps: [{say: done}]",
	})
	start := time.Now()
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if took := time.Since(start); took < 4*time.Second || took > testkit.Patience {
		t.Errorf("it took %v", took)
	}
	outcomes := map[string]string{}
	for _, h := range teamtest.Of[events.HookFinished](r, "hook_finished") {
		outcomes[h.Command] = h.Outcome
	}
	want := map[string]string{"./slow.sh": "success", "./endless.sh": "cancelled", "./last.sh": "success"}
	if !maps.Equal(outcomes, want) {
		t.Errorf("hooks ended as %v, want %v", outcomes, want)
	}
	for _, name := range []string{"slow", "last"} {
		if _, err := os.Stat(filepath.Join(r.Dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// ps shows what runs behind a member that rests.
func TestStatusShowsHooksInTheBackground(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(behindSpec("Stop", "{type: command, command: 'sleep 301', async: true}"),
			"]\n", ", {type: command, command: './watch.sh 1', asyncRewake: true}]\n", 1),
		"watch.sh":  "#!/bin/sh\nexec sleep 302\n",
		"lead.yaml": "steps: [{say: done, times: -1}]",
	})
	c := r.Up()
	r.Lines.Wait(t, "the lead to be idle", func(l events.Line) bool { return l.Type == "idle" })
	var m api.MemberStatus
	testkit.Eventually(t, "the lead to rest", func() bool { // between the journal's line and its waiting for work
		st, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m = st.Members[0]
		return m.State == api.Resting
	})
	if want := []string{"./watch.sh 1", "sleep 301"}; m.WaitsFor != "hook ./watch.sh 1" ||
		!slices.Equal(m.Background, want) {
		t.Errorf("%+v", m)
	}
}
