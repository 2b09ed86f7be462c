//go:build unix

package builtin_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// mailer is the team's tool for messages.
type mailer struct{}

func (mailer) Spec() agent.Spec { return agent.Spec{Name: "SendMessage", Team: true} }

func (mailer) Run(_ context.Context, call agent.ToolCall) agent.ToolResult {
	return agent.ToolResult{Content: "sent " + string(call.Input)}
}

// first is the id of the helper that the first call of a script starts.
func first() string {
	sum := sha256.Sum256([]byte("s1\x00toolu_0_0_0"))
	return "a" + hex.EncodeToString(sum[:8])
}

// goesOn is a script whose member runs a helper and then sends a message.
func goesOn(ask, send string) []byte {
	return fmt.Appendf(nil, `
steps:
  - call: [{tool: Agent, input: {description: d, prompt: do it%s}}]
  - call: [{tool: SendMessage, input: %s}]
  - {say: main end, times: -1}
helpers:
  - when: do it
    steps:
      - {say: did it, delay: 20ms}
      - {when: more, call: [{tool: Bash, input: {command: echo more}}]}
      - say: did more
`, ask, send)
}

// A message to a helper that has ended resumes it with its conversation and its script,
// also after a restart of the member.
func TestMessageToHelper(t *testing.T) {
	m := newMember(t, goesOn("", `{to: `+first()+`, message: now more, summary: s}`))
	var fired []string
	m.runner = judge(func(in hooks.Input) hooks.Outcome {
		if in.AgentID != "" {
			fired = append(fired, string(in.Payload.Event())+" "+in.AgentID+" "+in.AgentType)
		}
		return hooks.Outcome{}
	})
	m.run(t, "go")
	want := "user: do it|assistant: did it|user: now more|assistant: [tool_use Bash] {\"command\":\"echo more\"}|user: [tool_result] more"
	if got := strings.Join(m.conversations()["sub"], "|"); got != want {
		t.Errorf("the helper was shown\n%s\nwant\n%s", got, want)
	}
	returned := all[events.ToolReturned](m)
	last := returned[len(returned)-1]
	if last.Name != "SendMessage" || last.IsError || !strings.Contains(last.Content,
		"\n  did more\nagentId: "+first()) {
		t.Errorf("the caller got %+v", last)
	}
	who := " " + first() + " general-purpose"
	if got := strings.Join(fired, ","); !strings.HasPrefix(got,
		"SubagentStart"+who+",SubagentStop"+who+",SubagentStart"+who) ||
		!strings.HasSuffix(got, "SubagentStop"+who) {
		t.Errorf("hooks ran %s", got)
	}
}

// A helper that cannot continue is reported; messages to others are sent.
func TestMessageToNoHelper(t *testing.T) {
	for _, test := range []struct{ name, ask, send, want string }{
		{"a member", "", `{to: api, message: hi}`, `sent {"to":"api","message":"hi"}`},
		{"nobody", "", `{to: a0123456789abcdef, message: hi}`, "there is no helper a0123456789abcdef"},
		{"no text", "", `{to: ` + first() + `, message: {type: x}}`, "message is a text for the helper"},
		{"one that works", ", run_in_background: true", `{to: ` + first() + `, message: hi}`, "is still running"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMember(t, goesOn(test.ask, test.send))
			m.run(t, "go")
			for _, r := range all[events.ToolReturned](m) {
				if r.Name == "SendMessage" && !strings.Contains(r.Content, test.want) {
					t.Errorf("the caller got %s, want %s", r.Content, test.want)
				}
			}
		})
	}
}

// A helper whose kind no longer exists cannot continue.
func TestMessageToHelperOfLostKind(t *testing.T) {
	m := newMember(t, goesOn(", subagent_type: foo", `{to: `+first()+`, message: more}`))
	m.types = append(m.types, fooType())
	m.watch = func(e events.Event) {
		if _, ok := e.Data.(events.HelperEnded); ok {
			m.types = nil
		}
	}
	m.run(t, "go")
	returned := all[events.ToolReturned](m)
	if last := returned[len(returned)-1]; !strings.Contains(last.Content,
		`cannot go on: there is no helper of type "foo"`) {
		t.Errorf("the caller got %+v", last)
	}
}

// Team tools run again after a crash, because the store recognizes their calls. It knows
// nothing of helpers, so a message to a helper must not be sent again.
func TestMessageToHelperCutOff(t *testing.T) {
	m := newMember(t, goesOn("", `{to: `+first()+`, message: now more}`))
	left := filepath.Join(m.dir, "left", "s1.jsonl")
	ended := 0
	m.watch = func(e events.Event) {
		if _, ok := e.Data.(events.HelperEnded); ok {
			if ended++; ended == 2 {
				m.copyTo(t, left)
			}
		}
	}
	m.run(t, "go")
	m.path, m.watch, m.events, m.seen = left, nil, nil, map[string][]string{}
	if err := m.live(t, t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if len(m.seen["sub"]) > 0 {
		t.Errorf("the helper was asked again: %q", m.seen["sub"])
	}
	returned := all[events.ToolReturned](m)
	if len(returned) != 1 || !returned[0].IsError || !strings.Contains(returned[0].Content, "interrupted") {
		t.Errorf("the caller got %+v", returned)
	}
}
