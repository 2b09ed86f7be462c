package teammate

import "testing"

// eyewitness keeps what it is told.
type eyewitness struct{ events []EventData }

func (w *eyewitness) Observe(d EventData) { w.events = append(w.events, d) }

// TestAfterwards: hooks alone cause so many prompts in a row, and mail begins the count
// again.
func TestAfterwards(t *testing.T) {
	hook, note := Input{Kind: FromHook, Text: "format it"}, Input{Kind: FromContext, Text: "by the way"}
	var a Afterwards
	eye := &eyewitness{}
	for i := range afterwardsCap {
		if a.Enough([]Input{hook, note}, eye) {
			t.Fatalf("enough after %d", i)
		}
	}
	if a.Enough([]Input{hook, {Kind: FromMail, Text: "hello"}}, eye) {
		t.Error("mail has to wait")
	}
	for i := range afterwardsCap {
		if a.Enough([]Input{note}, eye) {
			t.Fatalf("after mail enough after %d", i)
		}
	}
	if len(eye.events) != 0 || !a.Enough([]Input{hook}, eye) || len(eye.events) != 1 {
		t.Errorf("it goes on for ever, or nobody is told: %+v", eye.events)
	}
	if !a.Enough([]Input{hook}, nil) {
		t.Error("without anybody to tell it goes on")
	}
}
