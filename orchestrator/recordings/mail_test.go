package recordings

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestMailInPortions: a replay shows a member its mail in the portions, and in the order, in which it was shown
// when that was recorded: what comes earlier waits, and the member waits for what comes later. If that cannot
// come any more, the next request is a miss that names it.
func TestMailInPortions(t *testing.T) {
	dir := t.TempDir()
	tape, err := Record(dir, "", mask, nil)
	if err != nil {
		t.Fatal(err)
	}
	lane, err := tape.Lane("ana")
	if err != nil {
		t.Fatal(err)
	}
	way := lane.Transport(&host{t: t, answers: []*http.Response{answer(200, "text/plain", "a"), answer(200, "text/plain", "b")}})
	lane.Shown([]Letter{{"1", "ben: at 10:01"}, {"2", "cem: two"}}, true)
	lane.Shown([]Letter{{"1", "ben: at 10:01"}}, false) // again, which is no other portion
	if _, _, err := ask(t, way, "first"); err != nil {
		t.Fatal(err)
	}
	lane.Shown([]Letter{{"3", "dan: three"}}, false)
	if _, _, err := ask(t, way, "second"); err != nil {
		t.Fatal(err)
	}
	if err := tape.Close(); err != nil {
		t.Fatal(err)
	}

	if tape, err = Replay(dir, mask, nil); err != nil {
		t.Fatal(err)
	}
	if lane, err = tape.Lane("ana"); err != nil {
		t.Fatal(err)
	}
	three, two, one, other := Letter{"c", "dan: three"}, Letter{"b", "cem: two"}, Letter{"a", "ben: at 22:35"}, Letter{"d", "eve: no"}
	due := func(letters []Letter, begins bool, want []int, wantWhole bool) {
		t.Helper()
		if got, whole := lane.Due(letters, begins); !slices.Equal(got, want) || whole != wantWhole {
			t.Errorf("%v: due %v, whole %v", letters, got, whole)
		}
	}
	due([]Letter{three, two}, true, nil, false)
	due([]Letter{three, two}, false, nil, true)
	due([]Letter{three, two, one}, true, []int{2, 1}, true)
	lane.Shown([]Letter{one, two}, true)
	due([]Letter{three, one}, false, []int{1}, true) // one is not confirmed so far, three comes after the request
	if _, _, err := ask(t, lane.Transport(nil), "first"); err != nil {
		t.Fatal(err)
	}
	due([]Letter{other}, false, nil, false)
	lane.Free([]Letter{other}, false)
	due([]Letter{other}, false, []int{0}, true)
	if _, _, err = ask(t, lane.Transport(nil), "second"); err == nil || !strings.Contains(err.Error(), `shown "dan: three" first, which nobody has sent now`) {
		t.Errorf("a request without its mail: %v", err)
	}
	if _, _, err := ask(t, lane.Transport(nil), "second"); err != nil {
		t.Errorf("once more: %v", err)
	}
}
