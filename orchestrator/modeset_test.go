package orchestrator

import (
	"errors"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/testkit"
)

// modal is a team whose dev runs a command each time that its mode changes, and whose lead
// gives it more and less when it is told to.
func modal(devMode string) map[string]string {
	lead := func(mode string) string {
		return "  - {when: give " + mode + ", call: [{tool: SendMessage, input: {to: dev, message: {type: mode_set_request, mode: " +
			mode + "}}}]}\n"
	}
	return map[string]string{
		"team.yaml": strings.Replace(livingSpec, "dev: {model: dev}", "dev: {model: dev, permission_mode: "+devMode+"}", 1),
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
func (l *living) result(member string, n int) string {
	l.t.Helper()
	var all []string
	l.lines.Wait(l.t, "a result", func(line events.Line) bool {
		if line.Type == "tool_result" && line.Member == member {
			all = append(all, string(line.Data))
		}
		return len(all) == n
	})
	return all[n-1]
}

// tell sends a text to a member.
func (l *living) tell(to, text string) error {
	l.t.Helper()
	_, err := l.client.Send(l.t.Context(), api.Send{To: to, Text: text})
	return err
}

// TestModeIsSet: a person gives a member any permission mode, the lead no more than its spec
// does; it counts from the next call on, and over a restart.
func TestModeIsSet(t *testing.T) {
	t.Parallel()
	l := newLiving(t, modal("default"))
	if err := l.tell("dev", `{"type":"mode_set_request","mode":"bypassPermissions"}`); err != nil {
		t.Fatal(err)
	}
	if got := l.result("dev", 1); strings.Contains(got, "not given") || l.made() != "ran\n" {
		t.Errorf("with all permissions: %s, made %q", got, l.made())
	}
	if err := l.tell("lead", "give bypassPermissions"); err != nil {
		t.Fatal(err)
	}
	if got := l.result("lead", 1); !strings.Contains(got, "only a person can give it bypassPermissions") {
		t.Errorf("the lead gave more than the spec does: %s", got)
	}
	l.stop(errors.New("enough"))
	l.end()
	again := &living{underway: start(l.rig, &handClock{})}
	again.until("member_started", 2)
	again.client = again.underway.client()
	if err := again.tell("dev", "Is it still the same?"); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "dev to run its command after a restart, too", func() bool { return l.made() == "ran\nran\n" })
	if err := again.tell("lead", "give dontAsk"); err != nil {
		t.Fatal(err)
	}
	again.lines.Wait(t, "dev to be refused", func(line events.Line) bool {
		return line.Type == "tool_result" && line.Member == "dev" && strings.Contains(string(line.Data), "dontAsk asks nobody")
	})
	again.stop(errors.New("enough"))
	again.end()
}
