package state

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/events"
)

// TestTailAmongDamage: the last lines of a kind are the same from the end of a file as from its
// beginning, whatever damage lies between them.
func TestTailAmongDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for seq := range uint64(rapid.IntRange(0, 20).Draw(t, "lines")) {
			text.WriteString(rapid.SampledFrom([]string{"", "", "\n", "damage\n", `{"time":1}` + "\n", "\x00\x00\n"}).Draw(t, "damage"))
			text.WriteString(lineText(seq+1, rapid.SampledFrom([]int{0, 10, backChunk}).Draw(t, "size")))
		}
		text.WriteString(rapid.SampledFrom([]string{"", "\n", "torn", `{"seq":99,"type":"text"}`}).Draw(t, "end"))
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		every, n := uint64(rapid.IntRange(1, 4).Draw(t, "every")), rapid.IntRange(0, 8).Draw(t, "n")
		isWanted := func(l events.Line) bool { return l.Seq%every == 0 }
		var want []uint64
		for l, err := range ReadJournal(path, 0) {
			if err == nil && isWanted(l) {
				want = append(want, l.Seq)
			}
		}
		want = want[max(0, len(want)-n):]
		tail, err := JournalTail(path, n, isWanted)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, l := range tail {
			got = append(got, l.Seq)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the last %d of every %d: %v, want %v", n, every, got, want)
		}
	})
}
