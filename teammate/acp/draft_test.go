package acp

import (
	"context"
	"slices"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// draftHost is a host with a Draft. A recorded message with text takes the draft's place.
type draftHost struct {
	*host
	text string
	took []string // the text at each record and withdrawal
	seen chan string
}

func (h *draftHost) Draft() agent.Draft { return h }

func (h *draftHost) Add(piece string) {
	h.text += piece
	if h.seen != nil {
		h.seen <- h.text
	}
}

func (h *draftHost) Withdraw() { h.took, h.text = append(h.took, "withdrawn: "+h.text), "" }

func (h *draftHost) Record(m agent.Record) error {
	if m.Message.Role == agent.Assistant && m.Message.Text() != "" {
		h.took, h.text = append(h.took, h.text), ""
	}
	return h.host.Record(m)
}

// TestDraftOfAProgram: what a program says piece by piece is shown before it is recorded.
func TestDraftOfAProgram(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{
		"say I look. ", "say Now.", "tool c1 ls", "say Meanwhile.", "done c1 a.go", "say All ", "say good.", "end end_turn",
	}}})
	r.start(t)
	h := &draftHost{host: r.host}
	if _, err := r.Run(t.Context(), goPrompt(), h); err != nil {
		t.Fatal(err)
	}
	if want := []string{"I look. Now.", "Meanwhile.All good."}; !slices.Equal(h.took, want) || h.text != "" {
		t.Errorf("drafts %q, want %q; %q is left", h.took, want, h.text)
	}
}

// TestDraftOfAStoppedProgram: covey stops in the middle of a text, which the next run does not
// have.
func TestDraftOfAStoppedProgram(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{"say Half", "cancelled", "end cancelled"}}})
	r.start(t)
	h := &draftHost{host: r.host, seen: make(chan string, 10)}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		<-h.seen
		stop()
	}()
	if _, err := r.Run(ctx, goPrompt(), h); err == nil {
		t.Fatal("no error")
	}
	if want := []string{"withdrawn: Half"}; !slices.Equal(h.took, want) {
		t.Errorf("drafts %q, want %q", h.took, want)
	}
}
