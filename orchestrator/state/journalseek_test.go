package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSeekAmongDamage: a line is found by its number among short, long and damaged lines, and a
// damaged line is reported only if it comes after the line from which one reads.
func TestSeekAmongDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		last := uint64(0)
		for range rapid.IntRange(0, 40).Draw(t, "lines") {
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				text.WriteString(rapid.SampledFrom([]string{"damage\n", `{"seq":` + "\n", "\n", `{"time":1}` + "\n"}).Draw(t, "damage"))
				continue
			}
			last += uint64(rapid.IntRange(1, 3).Draw(t, "gap"))
			text.WriteString(lineText(last, rapid.SampledFrom([]int{0, 10, 1000, nearEnough, 20 * nearEnough}).Draw(t, "size")))
		}
		path := filepath.Join(dir, "journal")
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		all, _ := seqs(ReadJournal(path, 0))
		first, to := rapid.Uint64Range(0, last+1).Draw(t, "first"), rapid.Uint64Range(0, last+1).Draw(t, "to")
		want := slices.DeleteFunc(slices.Clone(all), func(s uint64) bool { return s < max(first, 1) || s > to })
		got, errs := seqs(JournalRange(path, first, to))
		if !slices.Equal(got, want) {
			t.Fatalf("from %d to %d of %v: %v", first, to, all, got)
		}
		for _, err := range errs {
			var line *LineError
			if !errors.As(err, &line) {
				t.Fatal(err)
			}
			before := text.String()[:line.Offset]
			if n := strings.Count(before, fmt.Sprintf(`{"seq":%d,`, max(first, 1)-1)); first > 1 && n == 0 && slices.Contains(all, first-1) {
				t.Fatalf("damage at byte %d is before line %d, from which on lines were read", line.Offset, first)
			}
		}
	})
}

// BenchmarkRange reads ten lines from the middle of a journal of 50 MB.
func BenchmarkRange(b *testing.B) {
	var text strings.Builder
	for seq := range uint64(100_000) {
		text.WriteString(lineText(seq+1, 400))
	}
	path := filepath.Join(b.TempDir(), "journal.jsonl")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if got, errs := seqs(JournalRange(path, 50_000, 50_009)); len(got) != 10 || len(errs) > 0 {
			b.Fatal(got, errs)
		}
	}
}
