package builtin

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// TestBrief: the brief is a request of its own, which leaves the conversation as it is. If the
// conversation is too long for it, the brief is of its last part.
func TestBrief(t *testing.T) {
	m := &smallModel{window: 1000, next: func(int, agent.Request) []agent.Block { return []agent.Block{says("done")} }}
	a, h := compacting(t, m), &fakeHost{}
	if b, err := a.Brief(t.Context(), h); err == nil {
		t.Errorf("a brief of an empty conversation: %+v", b)
	}
	for range 3 {
		if _, err := a.Run(t.Context(), prompt(strings.Repeat("word ", 190)), h); err != nil { // 240 tokens each
			t.Fatal(err)
		}
	}
	for _, overflows := range []int{0, 1} {
		before, recorded := len(a.conv.messages), len(h.records)
		b, err := a.Brief(t.Context(), h)
		if err != nil || b.Text != "what was done so far" || b.Usage.InputTokens == 0 {
			t.Errorf("the brief: %+v, %v", b, err)
		}
		if m.overflows != overflows || len(a.conv.messages) != before || len(h.records) != recorded {
			t.Errorf("%d overflows, %d messages, %d records", m.overflows, len(a.conv.messages), len(h.records))
		}
		m.window = 600
	}
}
