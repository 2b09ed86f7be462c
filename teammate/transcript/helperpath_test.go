package transcript

import (
	"fmt"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/teammate/agent"
)

// TestOfHelper: each helper of each session has a file of its own, below that of its member.
func TestOfHelper(t *testing.T) {
	for member, want := range map[string]string{
		"/t/lead/abc.jsonl":     "/t/lead/abc/subagents/agent-a1.jsonl",
		"/t/lead/abc":           "/t/lead/abc/subagents/agent-a1.jsonl",
		"/t/a.jsonl/b.c.jsonl":  "/t/a.jsonl/b.c/subagents/agent-a1.jsonl",
		"lead.jsonl":            "lead/subagents/agent-a1.jsonl",
		"/t/lead/x.jsonl.jsonl": "/t/lead/x.jsonl/subagents/agent-a1.jsonl",
	} {
		if got := filepath.ToSlash(OfHelper(filepath.FromSlash(member), "a1")); got != want {
			t.Errorf("of %s: %s, want %s", member, got, want)
		}
	}
}

// TestHelperBesideMember: both transcripts can be written and read at once, and neither is in the
// other's history.
func TestHelperBesideMember(t *testing.T) {
	member := filepath.Join(t.TempDir(), "lead.jsonl")
	write(t, member, started(1), userSays("go", "m1"))
	write(t, OfHelper(member, "a1"), started(1), userSays("help", "m2"))
	write(t, OfHelper(member, "a2"), started(1))
	for path, want := range map[string]string{member: "m1", OfHelper(member, "a1"): "m2", OfHelper(member, "a2"): ""} {
		tr, h := openTranscript(t, path)
		if h.New || tr.Path() != path || len(h.Delivered) > 1 || h.Delivered[want] != (want != "") {
			t.Errorf("%s: new %v, shows %v", path, h.New, h.Delivered)
		}
	}
	if _, h := openTranscript(t, OfHelper(member, "a3")); !h.New {
		t.Error("a helper that never ran has a history")
	}
}

// TestShownGoesOn: whatever is added and confirmed in whatever order, a message is fresh until it
// is added, and all are confirmed if and only if the last word about each is that it is known.
func TestShownGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Shown
		added, unknown := map[string]bool{}, map[string]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			ids := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 3).Draw(t, "ids")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				s.Add(ids)
				for _, id := range ids {
					added[id] = true
				}
			case 1:
				s.Confirm(ids, false)
				for _, id := range ids {
					unknown[id] = true
				}
			default:
				s.Confirm(ids, true)
				for _, id := range ids {
					delete(unknown, id)
				}
			}
			inputs := []agent.Input{{Text: "no id"}}
			for _, id := range ids {
				inputs = append(inputs, agent.Input{MessageID: id})
			}
			fresh, shown := s.Split(inputs)
			if len(fresh)+len(shown) != len(inputs) || fresh[0].Text != "no id" {
				t.Fatalf("of %v fresh are %v, and shown %v", inputs, fresh, shown)
			}
			for _, in := range fresh[1:] {
				if added[in.MessageID] {
					t.Fatalf("%s is fresh again", in.MessageID)
				}
			}
			for _, id := range shown {
				if !added[id] || !s.Has(id) {
					t.Fatalf("%s was never added", id)
				}
			}
			if s.Confirmed() != (len(unknown) == 0) {
				t.Fatalf("confirmed: %v, unknown: %s", s.Confirmed(), fmt.Sprint(unknown))
			}
		}
	})
}
