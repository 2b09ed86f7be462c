package view

import (
	"fmt"
	"testing"

	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
)

// TestHookTroubleOfMembers counts by member what a person should know of hooks:
// those that had no say, and what those would have done that only observe.
func TestHookTroubleOfMembers(t *testing.T) {
	counted := &view.State{}
	seq := 0
	note := func(member, kind, data string) {
		seq++
		counted.Apply(teamtest.Line(seq, member, kind, data).Event())
	}
	on := func(event, member, command, more string) {
		note(member, "hook_finished", fmt.Sprintf(`{"event":%q,"command":%q%s}`, event, command, more))
	}
	finished := func(member, command, more string) { on("Stop", member, command, more) }
	finished("ben", "./fine", `,"outcome":"success"`)
	finished("ana", "./slow", `,"outcome":"cancelled","failed_open":true`)
	finished("ana", "./odd", `,"outcome":"success","failed_open":true,"warning":"its JSON\nis broken"`)
	on("TeammateIdle", "ana", "./slow", `,"outcome":"cancelled","failed_open":true`)
	finished("ana", "./no", `,"outcome":"blocking","exit_code":2`)
	finished("ana", "./new", `,"outcome":"blocking","exit_code":2,"observed":"block"`)
	finished("ana", "./new", `,"outcome":"blocking","exit_code":2,"observed":"block"`)
	finished("", "./gone$", `,"outcome":"non_blocking_error","exit_code":127,"failed_open":true`)
	note("ana", "text", `{"text":"x","failed_open":true}`)
	screen, out := teamtest.Screen()
	printHooks(screen, TroubleIn(counted))
	want := "! ana: 3 hooks failed open: ./slow (no answer in time) ×2, ./odd (its JSON is broken)\n" +
		"! team: 1 hook failed open: ./gone$ (exit 127)\n" +
		"  covey hooks doctor tells why\n" +
		"~ ana: only observed: ./new would have refused ×2\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}
