package program

import (
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// eyewitness keeps what it is told.
type eyewitness struct{ events []events.Data }

func (w *eyewitness) Observe(d events.Data) { w.events = append(w.events, d) }

// TestAfterwards: hooks alone cause so many prompts in a row, and mail begins the count
// again.
func TestAfterwards(t *testing.T) {
	hook, note := agent.Input{Kind: agent.FromHook, Text: "format it"}, agent.Input{Kind: agent.FromContext,
		Text: "by the way"}
	var a Afterwards
	eye := &eyewitness{}
	for i := range afterwardsCap {
		if a.Enough([]agent.Input{hook, note}, eye) {
			t.Fatalf("enough after %d", i)
		}
	}
	if a.Enough([]agent.Input{hook, {Kind: agent.FromMail, Text: "hello"}}, eye) {
		t.Error("mail has to wait")
	}
	for i := range afterwardsCap {
		if a.Enough([]agent.Input{note}, eye) {
			t.Fatalf("after mail enough after %d", i)
		}
	}
	if len(eye.events) != 0 || !a.Enough([]agent.Input{hook}, eye) || len(eye.events) != 1 {
		t.Errorf("it goes on for ever, or nobody is told: %+v", eye.events)
	}
	if !a.Enough([]agent.Input{hook}, events.ObserverOf(nil)) {
		t.Error("without anybody to tell it goes on")
	}
}
