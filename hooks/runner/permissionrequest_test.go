package runner

import (
	"encoding/json"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// answered is the verdict of a PermissionRequest hook that printed stdout.
func answered(t *testing.T, stdout string) Verdict {
	t.Helper()
	return Judge(hooks.InfoOf(hooks.PermissionRequest), &hooks.Handler{Type: "command"}, end(hooks.PermissionRequest, 0, stdout, ""))
}

const (
	allowsFirst = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow",
		"updatedInput":{"command":"first"},"updatedPermissions":[]}}}`
	allowsSecond = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow",
		"updatedInput":{"command":"second"}}}}`
	denies = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny",
		"message":"pr says no","interrupt":true}}}`
)

// A no beats every yes, and of several yes the first is taken whole.
func TestPermissionRequestsDisagree(t *testing.T) {
	known := hooks.InfoOf(hooks.PermissionRequest)
	out := Merge(known, "PermissionRequest:Bash",
		[]Verdict{answered(t, allowsFirst), answered(t, allowsSecond)})
	if out.Permission.Decision != "allow" || string(out.UpdatedInput) != `{"command":"first"}` {
		t.Errorf("two yes: %+v, input %s", out.Permission, out.UpdatedInput)
	}
	out = Merge(known, "PermissionRequest:Bash",
		[]Verdict{answered(t, allowsFirst), answered(t, denies), answered(t, allowsSecond)})
	if out.Permission != (hooks.Permission{Decision: "deny", Reason: "pr says no"}) {
		t.Errorf("yes and no: %+v", out.Permission)
	}
	var decision struct{ Interrupt bool }
	if err := json.Unmarshal(out.Output["decision"], &decision); err != nil || !decision.Interrupt {
		t.Errorf("the no lost what it says besides: %s, %v", out.Output["decision"], err)
	}
}

// Exit code 2 means nothing to a PermissionRequest, but a hook that is to
// refuse when it cannot judge does.
func TestPermissionRequestFault(t *testing.T) {
	known := hooks.InfoOf(hooks.PermissionRequest)
	for _, c := range []struct {
		onFailure string
		code      int
		want      string
	}{{"", 2, ""}, {"block", 2, ""}, {"", 1, ""}, {"block", 1, "deny"}, {"block", 127, "deny"}} {
		h := &hooks.Handler{Type: "command", OnFailure: c.onFailure}
		v := Judge(known, h, end(hooks.PermissionRequest, c.code, "", "broken"))
		if v.permission.Decision != c.want {
			t.Errorf("onFailure %q, exit %d: %q, want %q", c.onFailure, c.code, v.permission.Decision, c.want)
		}
	}
}

// The file that a member's shell reads is offered where recorded hosts offer it.
func TestEventsWithAnEnvFile(t *testing.T) {
	with := map[hooks.Event]bool{hooks.SessionStart: true, hooks.Setup: true, hooks.CwdChanged: true, hooks.FileChanged: true}
	for _, e := range hooks.Events() {
		if e.EnvFile() != with[e.Event] {
			t.Errorf("%s: %v", e.Event, e.EnvFile())
		}
	}
}
