package builtin

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

func picture() agent.ToolResult {
	i := agent.Image{Type: "image", Source: agent.ImageSource{Type: "base64", MediaType: "image/png", Data: []byte("x")}}
	return agent.ToolResult{Content: i.String(), Images: []agent.Image{i}}
}

// A model gets the image of a result until it refuses one: then the turn ends, and the next goes on
// without any, as does an agent that reads the transcript later.
func TestRefusedImage(t *testing.T) {
	refusal := &agent.APIError{Type: "invalid_request", End: events.EndImageError}
	m := &fakeModel{t: t, answers: []any{answer(calls("Read", "c1")), refusal, answer(says("on it"))}}
	h := &fakeHost{results: map[string]agent.ToolResult{"Read": picture()}}
	a := newAgent(t, m)
	var failed *agent.APIError
	if _, err := a.Run(t.Context(), prompt("look"), h); !errors.As(err, &failed) || failed.End != events.EndImageError {
		t.Fatal(err)
	}
	if reply, err := a.Run(t.Context(), prompt("go on"), h); err != nil || reply.Text != "on it" {
		t.Fatal(reply, err)
	}
	if !agent.HaveImages(m.requests[1].Messages) || agent.HaveImages(m.requests[2].Messages) {
		t.Errorf("%+v", m.requests)
	}
	result := m.requests[2].Messages[2].Content[0].Content
	if want := "[image/png, 1 kB]\n[not shown any more: " + agent.RefusedImages + "]"; result != want {
		t.Errorf("the result became %q", result)
	}
	if !agent.HaveImages(m.requests[1].Messages) {
		t.Error("a request that was made has been changed")
	}
}

// A conversation with an image goes through a transcript and back.
func TestResumeWithImage(t *testing.T) {
	m := &fakeModel{t: t, answers: []any{answer(calls("Read", "c1")), answer(says("seen")), answer(says("still seen"))}}
	h := &fakeHost{results: map[string]agent.ToolResult{"Read": picture()}}
	if _, err := newAgent(t, m).Run(t.Context(), prompt("look"), h); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(h.transcript())
	if err != nil {
		t.Fatal(err)
	}
	var history []agent.Message
	if err := json.Unmarshal(written, &history); err != nil {
		t.Fatal(err)
	}
	if _, err := newAgent(t, m, history...).Run(t.Context(), prompt("again"), h); err != nil {
		t.Fatal(err)
	}
	image := m.requests[2].Messages[2].Content[0].Images
	if len(image) != 1 || string(image[0].Source.Data) != "x" {
		t.Errorf("%+v", m.requests[2].Messages)
	}
}

// Old images collapse like other old results, and a summary is made without images.
func TestImagesAreCompacted(t *testing.T) {
	images, summarized := 0, false
	m := &smallModel{window: 12_000, tells: true, next: func(n int, r agent.Request) []agent.Block {
		images = 0
		for _, message := range r.Messages {
			for _, b := range message.Content {
				images += len(b.Images)
			}
		}
		if n > 12 {
			return []agent.Block{says("done")}
		}
		return []agent.Block{calls("Read", "c")}
	}}
	a := compacting(t, m)
	h := &compactingHost{fakeHost: fakeHost{results: map[string]agent.ToolResult{"Read": picture()}}}
	if _, err := a.Run(t.Context(), prompt("look"), h); err != nil {
		t.Fatal(err)
	}
	if images == 0 || images > 6 || m.summaries > 0 || m.overflows > 0 || len(h.seen) == 0 {
		t.Errorf("%d of 12 images are shown at the end; %d summaries; reports %+v", images, m.summaries, h.seen)
	}
	a.models[0] = &fakeModel{t: t, answers: []any{answer(says("short"))}, before: func() { summarized = true }}
	if _, err := a.Run(t.Context(), prompt("/compact"), h); err != nil || !summarized {
		t.Fatal(err)
	}
	for _, message := range a.models[0].(*fakeModel).requests[0].Messages {
		for _, b := range message.Content {
			if len(b.Images) > 0 || strings.HasPrefix(b.Content, "[image") && !strings.Contains(b.Content, "not shown") {
				t.Errorf("a request for a summary has %+v", b)
			}
		}
	}
}
