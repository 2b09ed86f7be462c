package acp

import (
	"slices"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// contextHost is a host that keeps how full the conversation is after each message.
type contextHost struct {
	*host
	said []agent.ContextUse
}

// Record implements agent.Host.
func (h *contextHost) Record(m agent.Record) error {
	h.said = append(h.said, m.Context)
	return h.host.Record(m)
}

// TestContextOfPrompt: how full the program's context is comes with the last message of a prompt, with
// a text or without one, and not with those before it, of which the program has said nothing.
func TestContextOfPrompt(t *testing.T) {
	full := agent.ContextUse{Tokens: 40, Window: 200}
	for name, text := range map[string]string{"with a text": "That is done.", "without one": ""} {
		h := &contextHost{host: &host{tb: t}}
		r := newRecorder(h, naming{})
		if err := r.say(text, ""); err != nil {
			t.Fatal(err)
		}
		if err := r.Hear([]agent.Input{{Text: "news"}}); err != nil {
			t.Fatal(err)
		}
		if err := r.finish("", program.Spent{Context: full}, true); err != nil {
			t.Fatal(err)
		}
		if last := len(h.said) - 1; h.said[last] != full || slices.Contains(h.said[:last], full) {
			t.Errorf("%s: %v", name, h.said)
		}
	}
}
