package lives

import (
	"encoding/json"
	"testing"

	"github.com/coveyteam/covey/events"
)

// TestProgramStarts: a member does not think before its program is ready.
func TestProgramStarts(t *testing.T) {
	var w Watch
	for _, step := range []struct {
		event events.Data
		want  string
	}{
		{events.PassStarted{Pass: 1}, "thinking"},
		{events.ProgramStarts{Program: "codex-acp"}, "starting codex-acp"},
		{events.HeldUp{For: "the agent program"}, "the agent program"},
		{events.ProgramStarts{Program: "codex-acp", Ready: true}, "thinking"},
	} {
		w.Record("dev", events.Event{Data: step.event})
		if got := w.Of("dev").Doing; got != step.want {
			t.Errorf("after %T: %q, want %q", step.event, got, step.want)
		}
	}
}

// TestDoingNamesTheCommand: the current call is shown in one line, as the command even if
// the program sends more.
func TestDoingNamesTheCommand(t *testing.T) {
	for input, want := range map[string]string{
		`{"available_decisions":["approved"],"call_id":"c1","command":"go test ./..."}`: "Bash go test ./...",
		`{"b":"2","a":1}`:              "Bash a=1 b=2",
		`{"command":["sh","-c","ls"]}`: `Bash ["sh","-c","ls"]`,
		`not JSON`:                     "Bash not JSON",
		`{}`:                           "Bash",
	} {
		var w Watch
		w.Record("dev", events.Event{Data: events.ToolCalled{ID: "1", Name: "Bash", Input: json.RawMessage(input)}})
		if got := w.Of("dev").Doing; got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}
