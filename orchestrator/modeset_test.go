package orchestrator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// modal is a team whose dev runs a command each time that its mode changes, and whose lead
// gives it more and less when it is told to.
func modal(devMode string) map[string]string {
	lead := func(mode string) string {
		return "  - {when: give " + mode + ", call: [{tool: SendMessage, input: {to: dev, message: {type: mode_set_request, mode: " +
			mode + "}}}]}\n"
	}
	return map[string]string{
		"team.yaml": strings.Replace(teamtest.LivingSpec, "dev: {model: dev}", "dev: {model: dev, permission_mode: "+devMode+"}", 1),
		"lead.yaml": "steps:\n" + lead("bypassPermissions") + lead("dontAsk") + "  - {say: Fine., times: -1}\n",
		"dev.yaml": `steps:
  - when: mode_set_request|still the same
    call: [{tool: Bash, input: {command: "echo ran >>made"}}]
    times: -1
  - {say: Fine., times: -1}
`,
	}
}

// result waits for the n-th result of a member's tool calls.
func result(l *teamtest.Living, member string, n int) string {
	l.T.Helper()
	var all []string
	l.Lines.Wait(l.T, "a result", func(line events.Line) bool {
		if line.Type == "tool_result" && line.Member == member {
			all = append(all, string(line.Data))
		}
		return len(all) == n
	})
	return all[n-1]
}

// tell sends a text to a member.
func tell(l *teamtest.Living, to, text string) error {
	l.T.Helper()
	_, err := l.Client.Send(l.T.Context(), api.Send{To: to, Text: text})
	return err
}

// TestModeIsSet: a person gives a member any permission mode, the lead no more than its spec
// does; it counts from the next call on, and over a restart.
func TestModeIsSet(t *testing.T) {
	t.Parallel()
	l := teamtest.NewLiving(t, modal("default"))
	if err := tell(l, "dev", `{"type":"mode_set_request","mode":"bypassPermissions"}`); err != nil {
		t.Fatal(err)
	}
	if got := result(l, "dev", 1); strings.Contains(got, "not given") || l.Made() != "ran\n" {
		t.Errorf("with all permissions: %s, made %q", got, l.Made())
	}
	if err := tell(l, "lead", "give bypassPermissions"); err != nil {
		t.Fatal(err)
	}
	if got := result(l, "lead", 1); !strings.Contains(got, "only a person can give it bypassPermissions") {
		t.Errorf("the lead gave more than the spec does: %s", got)
	}
	l.Stop(errors.New("enough"))
	l.End()
	again := &teamtest.Living{Underway: teamtest.Start(l.Rig, &teamtest.HandClock{})}
	again.Until("member_started", 2)
	again.Client = again.Underway.Client()
	if err := tell(again, "dev", "Is it still the same?"); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "dev to run its command after a restart, too", func() bool { return l.Made() == "ran\nran\n" })
	if err := tell(again, "lead", "give dontAsk"); err != nil {
		t.Fatal(err)
	}
	again.Lines.Wait(t, "dev to be refused", func(line events.Line) bool {
		return line.Type == "tool_result" && line.Member == "dev" && strings.Contains(string(line.Data), "dontAsk asks nobody")
	})
	again.Stop(errors.New("enough"))
	again.End()
}
