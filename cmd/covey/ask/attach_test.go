package ask

import (
	"bytes"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/teamtest"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/state"
)

// TestAttachmentOlder reads what is wanted from the journal, in its order.
func TestAttachmentOlder(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	var lines []events.Line
	for i := range 2 * olderLines {
		lines = append(lines, teamtest.Line(i, "api", "text", `{"text":"word."}`), teamtest.Line(0, "ben",
			"text", `{"text":"other"}`), teamtest.Line(0, "ana", "hook_summary", `{}`))
	}
	teamtest.WriteJournal(t, place, lines...)
	a := &attachment{place: place, path: place.Journal(), want: view.Concerns("api")}
	got, err := a.older(uint64(len(lines)) + 1)
	if err != nil || len(got) != olderLines || got[0].Seq >= got[1].Seq {
		t.Fatalf("%v with %d lines", err, len(got))
	}
	rest, err := a.older(got[0].Seq)
	if err != nil || len(rest) != olderLines || rest[len(rest)-1].Seq >= got[0].Seq {
		t.Fatalf("%v with %d lines", err, len(rest))
	}
	if none, err := a.older(rest[0].Seq); err != nil || len(none) != 0 {
		t.Errorf("before the beginning: %v", none)
	}
	a.path = "/nowhere"
	if _, err := a.older(1); err == nil {
		t.Error("a journal that is not there was read")
	}
}

// TestAttachmentLead: what is typed for the whole team goes to the lead.
func TestAttachmentLead(t *testing.T) {
	teamtest.StateHome(t)
	a := &attachment{place: teamtest.Place(t, "crew")}
	if got := a.lead(); got != "" {
		t.Errorf("of an unknown team: %q", got)
	}
	teamtest.WriteRun(t, a.place, func(*state.RunFile) {})
	if got := a.lead(); got != "lead" {
		t.Errorf("of a team: %q", got)
	}
}

// TestTailLength: as many entries as the screen has lines, or as were asked for.
func TestTailLength(t *testing.T) {
	c, _, _ := program()
	if got := (&attachment{env: c}).tailLength(); got != defaultTail {
		t.Errorf("on a pipe: %d", got)
	}
	if got := (&attachment{env: c, lines: 500}).tailLength(); got != 500 {
		t.Errorf("asked for 500: %d", got)
	}
}

// program is a program that prints to buffers.
func program() (*cli.Env, *bytes.Buffer, *bytes.Buffer) {
	var out, errOut bytes.Buffer
	return cli.New(strings.NewReader(""), &out, &errOut, "devel"), &out, &errOut
}
