package agent

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestBlockUnknownType(t *testing.T) {
	if _, err := json.Marshal(Block{Type: "image"}); err == nil {
		t.Error("a block of unknown type was written")
	}
}

// Counts of tokens are added and taken away part by part.
func TestUsageArithmetic(t *testing.T) {
	count := rapid.Int64Range(0, 1e6)
	usage := rapid.Custom(func(t *rapid.T) Usage {
		return Usage{
			InputTokens: count.Draw(t, "in"), OutputTokens: count.Draw(t, "out"),
			CacheReadTokens: count.Draw(t, "read"), CacheWriteTokens: count.Draw(t, "write"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := usage.Draw(t, "a"), usage.Draw(t, "b")
		if a.Plus(b).Less(b) != a || a.Less(a.Plus(b)) != (Usage{}) || a.Plus(b).Total() != a.Total()+b.Total() {
			t.Fatalf("%+v and %+v", a, b)
		}
	})
}
