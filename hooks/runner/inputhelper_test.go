package runner

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// Matchers of a helper's events are held against its kind.
func TestHelperSubject(t *testing.T) {
	for _, p := range []hooks.Payload{hooks.SubagentStartInput{}, hooks.SubagentStopInput{}} {
		in := hooks.Input{Common: hooks.Common{AgentID: "a0123456789abcdef", AgentType: "Explore"}, Payload: p}
		if got := in.Subject(); got != "Explore" {
			t.Errorf("%s is about %q", p.Event(), got)
		}
	}
}

// The bytes that hooks of helpers read, in the order of recorded hosts.
func TestHelperWire(t *testing.T) {
	common := hooks.Common{SessionID: "s", TranscriptPath: "/t", Cwd: "/w", PromptID: "p", PermissionMode: "plan",
		AgentID: "a1", AgentType: "foo"}
	for _, test := range []struct {
		payload hooks.Payload
		want    string
	}{
		{hooks.SubagentStartInput{}, `"agent_id":"a1","agent_type":"foo","hook_event_name":"SubagentStart"}`},
		{hooks.SubagentStopInput{AgentTranscriptPath: "/a", LastAssistantMessage: "<x>"},
			`"permission_mode":"plan","agent_id":"a1","agent_type":"foo","hook_event_name":"SubagentStop",` +
				`"stop_hook_active":false,"agent_transcript_path":"/a","last_assistant_message":"<x>",` +
				`"background_tasks":[],"session_crons":[]}`},
	} {
		wire, err := hooks.Input{Common: common, Payload: test.payload}.Wire()
		if err != nil || !strings.HasSuffix(string(wire), test.want+"\n") ||
			!strings.HasPrefix(string(wire), `{"session_id":"s","transcript_path":"/t","cwd":"/w","prompt_id":"p",`) {
			t.Errorf("%s\nwant …%s\n%v", wire, test.want, err)
		}
	}
}

// A layer for one kind of helper is for nobody else, least of all for a member
// that has the same name.
func TestLayersForHelpers(t *testing.T) {
	t.Parallel()
	layer := settings.Source{Name: "foo.md", Helper: "foo", Settings: hooks.Settings{hooks.Stop: nil, hooks.PreToolUse: []hooks.Group{{
		Hooks: []hooks.Handler{{Type: "command", Command: "true"}},
	}}}}
	runner, err := New([]settings.Source{layer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		who  hooks.Common
		want int
	}{
		{"that helper", hooks.Common{AgentID: "a0123456789abcdef", AgentType: "foo"}, 1},
		{"another helper", hooks.Common{AgentID: "a0123456789abcdef", AgentType: "bar"}, 0},
		{"the lead", hooks.Common{}, 0},
		{"a member of that name", hooks.Common{AgentID: "foo@crew", AgentType: "foo"}, 0},
		{"a session that began as foo", hooks.Common{AgentType: "foo"}, 0},
	} {
		out, err := runner.Run(t.Context(), hooks.Input{Common: test.who, Payload: hooks.PreToolUseInput{ToolName: "Bash"}}, nil)
		if err != nil || out.Matched != test.want {
			t.Errorf("%s: %d hooks ran, want %d (%v)", test.name, out.Matched, test.want, err)
		}
	}
}
