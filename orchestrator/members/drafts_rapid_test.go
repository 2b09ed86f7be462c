package members

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/events"
)

// paper is what a reader may see of a writer: its answer so far, and whether the journal gets it.
type paper struct {
	text     string
	recorded bool
}

// TestDraftsProperties: whatever members write, withdraw and end in which order, a reader sees of
// each the end of its present answer and of no other one, until the journal has its line; and the
// number grows with each change of what the reader asked for, and with nothing else.
func TestDraftsProperties(t *testing.T) {
	writers := []writer{{"api", ""}, {"dev", ""}, {"dev", "h1"}, {"dev", "h2"}}
	rapid.Check(t, func(t *rapid.T) {
		d := NewDrafts()
		want := map[writer]paper{}
		seq := uint64(0)
		for n := range rapid.IntRange(1, 40).Draw(t, "steps") {
			w := rapid.SampledFrom(writers).Draw(t, "writer")
			before := map[string]Drafting{"": d.Now(""), "dev": d.Now("dev"), "api": d.Now("api")}
			was, there := want[w]
			sees := func(data events.Data) { d.see(events.Event{Member: w.member, Helper: w.helper, Data: data}) }
			lines := func(kind string) {
				seq++
				d.Journaled(events.Line{Seq: seq, Member: w.member, Helper: w.helper, Type: kind})
			}
			switch rapid.SampledFrom([]string{"add", "add", "add", "withdraw", "text", "text line", "line", "end"}).Draw(t, "step") {
			case "add":
				// Each piece is another one, so that an end that is shown belongs to one answer only.
				piece := fmt.Sprintf("<%d %s>", n, strings.Repeat("é", rapid.SampledFrom([]int{0, 3, 700, draftTail}).Draw(t, "size")))
				d.Of(w.member, w.helper).Add(piece)
				if was.recorded {
					was = paper{}
				}
				want[w] = paper{text: was.text + piece}
			case "withdraw":
				d.Of(w.member, w.helper).Withdraw()
				delete(want, w)
			case "text":
				sees(events.TextSaid{Text: was.text})
				if there {
					want[w] = paper{was.text, true}
				}
			case "text line":
				lines("text")
				if was.recorded {
					delete(want, w)
				}
			case "line":
				lines("tool_call")
			case "end":
				sees(rapid.SampledFrom([]events.Data{
					events.PassStarted{}, events.TurnEnded{}, events.HelperEnded{}, events.MemberEnded{},
				}).Draw(t, "which"))
				delete(want, w)
			}
			for of, then := range before {
				reads(t, d.Now(of), of, want)
				if now := d.Now(of); now.Number < then.Number ||
					now.Number == then.Number && !slices.Equal(now.Drafts, then.Drafts) ||
					now.Number > then.Number && of != "" && of != w.member {
					t.Fatalf("of %q: %+v became %+v", of, then, now)
				}
			}
		}
		if now := d.Now(""); now.Seq != seq {
			t.Fatalf("line %d, want %d", now.Seq, seq)
		}
	})
}

// reads compares what a reader gets with what it may see.
func reads(t *rapid.T, got Drafting, member string, want map[writer]paper) {
	seen := 0
	for w, p := range want {
		if member != "" && w.member != member {
			continue
		}
		i := slices.IndexFunc(got.Drafts, func(d Draft) bool { return d.Member == w.member && d.Helper == w.helper })
		if i < 0 {
			t.Fatalf("nothing is shown of %v", w)
		}
		seen++
		d := got.Drafts[i]
		if !strings.HasSuffix(p.text, d.Text) || d.Text == "" || d.Cut != (d.Text != p.text) {
			t.Fatalf("of %v: %q (cut %v) of %q", w, d.Text, d.Cut, p.text)
		}
	}
	if seen != len(got.Drafts) {
		t.Fatalf("shown are %+v, and %d write", got.Drafts, seen)
	}
}
