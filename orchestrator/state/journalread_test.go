package state

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/events"
)

// lineText is a journal line of roughly this size.
func lineText(seq uint64, size int) string {
	return fmt.Sprintf(`{"seq":%d,"time":"2026-11-21T07:00:00Z","team":"crew","member":"api","turn":1,"type":"text","data":{"text":%q}}`,
		seq, strings.Repeat("x", size)) + "\n"
}

// journalOf writes a journal file.
func journalOf(t *testing.T, text ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(text, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// seqs gathers the numbers of the lines, and the errors.
func seqs(lines iter.Seq2[events.Line, error]) (out []uint64, errs []error) {
	for l, err := range lines {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, l.Seq)
	}
	return out, errs
}

func wantSeqs(t *testing.T, lines iter.Seq2[events.Line, error], want ...uint64) {
	t.Helper()
	got, errs := seqs(lines)
	if !slices.Equal(got, want) || len(errs) > 0 {
		t.Errorf("got lines %v, %v; want %v", got, errs, want)
	}
}

func TestReadJournal(t *testing.T) {
	path := journalOf(t, lineText(1, 5), lineText(2, 200_000), lineText(5, 0), lineText(6, 1))
	wantSeqs(t, ReadJournal(path, 0), 1, 2, 5, 6)
	wantSeqs(t, ReadJournal(path, 2), 5, 6)
	wantSeqs(t, ReadJournal(path, 4), 5, 6) // a restart left a gap
	wantSeqs(t, ReadJournal(path, 6))
	wantSeqs(t, ReadJournal(path, 99))
	wantSeqs(t, JournalRange(path, 2, 5), 2, 5)
	wantSeqs(t, JournalRange(path, 0, 4), 1, 2)
	wantSeqs(t, JournalRange(path, 3, 4))
	for l, err := range ReadJournal(path, 0) {
		if err != nil || l.Team != "crew" || l.Member != "api" || l.Turn != 1 || l.Type != "text" ||
			string(l.Data) != `{"text":"xxxxx"}` || !l.Time.Equal(time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)) {
			t.Errorf("line %+v, %v", l, err)
		}
		break
	}
	wantSeqs(t, ReadJournal(journalOf(t), 0))
	if _, errs := seqs(ReadJournal(filepath.Join(t.TempDir(), "none"), 0)); len(errs) != 1 || !errors.Is(errs[0], os.ErrNotExist) {
		t.Errorf("a journal that is not there: %v", errs)
	}
}

func TestTornAndDamagedLines(t *testing.T) {
	torn := strings.TrimSuffix(lineText(3, 10), "\n")
	path := journalOf(t, lineText(1, 0), lineText(2, 0), torn)
	wantSeqs(t, ReadJournal(path, 0), 1, 2)
	wantSeqs(t, JournalBackwards(path, 0), 2, 1)

	path = journalOf(t, lineText(1, 0), "garbage\n", "\n", `{"seq":0}`+"\n", `[1]`+"\n", lineText(2, 0))
	got, errs := seqs(ReadJournal(path, 0))
	if !slices.Equal(got, []uint64{1, 2}) || len(errs) != 4 {
		t.Errorf("got %v, %v", got, errs)
	}
	var damaged *LineError
	if !errors.As(errs[0], &damaged) || damaged.Path != path || damaged.Offset != int64(len(lineText(1, 0))) {
		t.Errorf("the damage is told as %+v", errs[0])
	}
	wantSeqs(t, JournalBackwards(path, 0), 2, 1)
	if got, errs := seqs(ReadJournal(path, 1)); !slices.Equal(got, []uint64{2}) || len(errs) != 4 {
		t.Errorf("after line 1 come %v, %v", got, errs)
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	const long = 6 << 20
	path := journalOf(t, lineText(1, 1), lineText(2, long), lineText(3, 1))
	wantSeqs(t, ReadJournal(path, 0), 1, 2, 3)
	wantSeqs(t, JournalBackwards(path, 0), 3, 2, 1)
	wantSeqs(t, ReadJournal(path, 2), 3)
	wantSeqs(t, JournalBackwards(path, 3), 2, 1)
	for l, err := range ReadJournal(path, 1) {
		if err != nil || len(l.Data) < long {
			t.Errorf("the long line has %d bytes of data, %v", len(l.Data), err)
		}
		break
	}
}

func TestTailJournal(t *testing.T) {
	var text []string
	for seq := range uint64(1000) {
		text = append(text, lineText(seq+1, int(seq)%300))
	}
	path := journalOf(t, text...)
	tail := func(n int, want func(events.Line) bool) []uint64 {
		t.Helper()
		lines, err := JournalTail(path, n, want)
		if err != nil {
			t.Fatal(err)
		}
		var out []uint64
		for _, l := range lines {
			out = append(out, l.Seq)
		}
		return out
	}
	if got := tail(3, nil); !slices.Equal(got, []uint64{998, 999, 1000}) {
		t.Errorf("the last three are %v", got)
	}
	if got := tail(2, func(l events.Line) bool { return l.Seq%100 == 1 }); !slices.Equal(got, []uint64{801, 901}) {
		t.Errorf("the last two that are wanted are %v", got)
	}
	if got := tail(5000, nil); len(got) != 1000 || got[0] != 1 {
		t.Errorf("more than there are: %d", len(got))
	}
	if got := tail(0, nil); len(got) != 0 {
		t.Errorf("none: %v", got)
	}
	if _, err := JournalTail(filepath.Join(t.TempDir(), "none"), 1, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a journal that is not there: %v", err)
	}
}

// Forwards and backwards see the same lines, from wherever one starts.
func TestJournalProperties(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		var all []uint64
		seq := uint64(0)
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			seq += uint64(rapid.IntRange(1, 3).Draw(t, "gap"))
			all = append(all, seq)
			size := rapid.SampledFrom([]int{0, 1, 100, backChunk - 100, backChunk, 2 * backChunk}).Draw(t, "size")
			text.WriteString(lineText(seq, size))
		}
		text.WriteString(rapid.SampledFrom([]string{"", "{", `{"seq":9999`}).Draw(t, "torn"))
		path := filepath.Join(dir, "journal")
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		at := uint64(rapid.IntRange(0, int(seq)+2).Draw(t, "at"))
		cut := slices.IndexFunc(all, func(s uint64) bool { return s > at })
		if cut < 0 {
			cut = len(all)
		}
		if got, errs := seqs(ReadJournal(path, at)); !slices.Equal(got, all[cut:]) || len(errs) > 0 {
			t.Fatalf("after %d of %v: %v, %v", at, all, got, errs)
		}
		back, errs := seqs(JournalBackwards(path, at))
		slices.Reverse(back)
		want := slices.DeleteFunc(slices.Clone(all), func(s uint64) bool { return at > 0 && s >= at })
		if !slices.Equal(back, want) || len(errs) > 0 {
			t.Fatalf("before %d of %v: %v, %v", at, all, back, errs)
		}
	})
}

// following runs FollowJournal in a goroutine and hands out what it yields.
func following(t *testing.T, path string, after uint64, wake <-chan struct{}) (lines chan events.Line, end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	lines = make(chan events.Line, 100)
	var last error
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(lines)
		for l, err := range FollowJournal(ctx, path, after, wake) {
			if err != nil {
				last = err
				continue
			}
			lines <- l
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return lines, func() error {
		cancel()
		wg.Wait()
		return last
	}
}

func nextSeq(t *testing.T, lines <-chan events.Line) uint64 {
	t.Helper()
	select {
	case l, ok := <-lines:
		if !ok {
			t.Fatal("the journal is not followed any more")
		}
		return l.Seq
	case <-time.After(time.Minute):
		t.Fatal("no line came")
		return 0
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestFollowJournal(t *testing.T) {
	path := journalOf(t, lineText(1, 0), lineText(2, 0))
	wake := make(chan struct{}, 1)
	lines, end := following(t, path, 1, wake)
	if seq := nextSeq(t, lines); seq != 2 {
		t.Errorf("first came line %d", seq)
	}
	half := lineText(3, 100)
	appendTo(t, path, half[:50])
	signal(wake) // a line that is half written is not a line yet
	appendTo(t, path, half[50:]+lineText(4, 0))
	signal(wake)
	for _, want := range []uint64{3, 4} {
		if seq := nextSeq(t, lines); seq != want {
			t.Errorf("got line %d, want %d", seq, want)
		}
	}
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// A half-written line may be taken back, as after a full disk.
func TestTakenBackLine(t *testing.T) {
	path := journalOf(t, lineText(1, 0))
	r, err := openLines(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	more := func() (got []uint64) {
		t.Helper()
		r.each(func(l events.Line, err error) bool {
			if err != nil {
				t.Errorf("after line %d: %v", l.Seq, err)
			}
			got = append(got, l.Seq)
			return true
		})
		if err := r.rewind(); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := more(); !slices.Equal(got, []uint64{1}) {
		t.Errorf("got lines %v", got)
	}
	appendTo(t, path, lineText(2, 500)[:400])
	if got := more(); len(got) > 0 {
		t.Errorf("got lines %v of half a line", got)
	}
	if err := os.Truncate(path, int64(len(lineText(1, 0)))); err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, lineText(2, 3)+lineText(3, 1000))
	if got := more(); !slices.Equal(got, []uint64{2, 3}) {
		t.Errorf("got lines %v, want 2 and 3", got)
	}
}

func TestFollowEndsWithTheTeam(t *testing.T) {
	path := journalOf(t, lineText(1, 0))
	wake := make(chan struct{})
	lines, end := following(t, path, 0, wake)
	nextSeq(t, lines)
	appendTo(t, path, lineText(2, 0)) // the last words, not announced
	close(wake)
	if seq := nextSeq(t, lines); seq != 2 {
		t.Errorf("got line %d", seq)
	}
	if l, ok := <-lines; ok {
		t.Errorf("more came: %+v", l)
	}
	if err := end(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestFollowWithoutWakePolls(t *testing.T) {
	path := journalOf(t, lineText(1, 0))
	lines, _ := following(t, path, 0, nil)
	nextSeq(t, lines)
	appendTo(t, path, lineText(2, 0))
	if seq := nextSeq(t, lines); seq != 2 {
		t.Errorf("got line %d", seq)
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(lineText(1, 3)+lineText(2, 0)), uint64(0))
	f.Add([]byte("\n\n{\"seq\":1}\n{"), uint64(1))
	f.Add([]byte(`{"seq":1,"seq":2,"data":`+strings.Repeat("[", 1000)+"\n"), uint64(0))
	f.Add([]byte("{\"seq\":18446744073709551615}\n{\"seq\":1}\n"), uint64(5))
	path := filepath.Join(f.TempDir(), "journal")
	f.Fuzz(func(t *testing.T, data []byte, after uint64) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		last := after
		for l, err := range ReadJournal(path, after) {
			var damaged *LineError
			if err != nil && !errors.As(err, &damaged) {
				t.Fatalf("an error of another kind: %v", err)
			}
			if err == nil && l.Seq <= last {
				t.Fatalf("line %d came after line %d", l.Seq, last)
			}
			last = max(last, l.Seq)
		}
		for _, err := range JournalBackwards(path, after) {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A line of a newer format is refused, wherever it stands: its data may mean anything.
func TestNewerLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	text := `{"seq":1,"type":"text","data":{},"format":1}` + "\n" + `{"seq":2,"type":"text","data":[1],"format":2}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen []uint64
	var failed error
	for l, err := range ReadJournal(path, 0) {
		if failed = err; err == nil {
			seen = append(seen, l.Seq)
		}
	}
	if len(seen) != 1 || !errors.Is(failed, ErrNewer) || !strings.Contains(failed.Error(), "line 2 was written by a newer covey") {
		t.Errorf("lines %v, %v", seen, failed)
	}
	if _, err := JournalTail(path, 1, nil); !errors.Is(err, ErrNewer) {
		t.Errorf("from the end: %v", err)
	}
}
