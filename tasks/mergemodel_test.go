package tasks

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"

	"pgregory.net/rapid"
)

// anyState is each state that there is, and one that is none.
var anyState = []MergeState{
	MergeWaiting, MergeQueued, MergeTesting, MergeLanding, MergeHeld, MergeReturned, MergeReady,
	MergeDone, MergeDropped, "odd",
}

// mergeModel is the simplest thing that behaves like the merges of a store, and the
// store itself.
type mergeModel struct {
	t    *testing.T
	path string
	s    *Store
	want []Merge // as the store should have them, oldest first
}

// TestMergesAreAModel: whatever is proposed, moved with the version of now or an old one,
// and however often the store is opened anew meanwhile, it has what the model has.
func TestMergesAreAModel(t *testing.T) {
	dir, round := t.TempDir(), 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		m := &mergeModel{t: t, path: filepath.Join(dir, fmt.Sprint(round, ".db"))}
		m.s = openAt(t, m.path, nil)
		raw(m.t, m.s).NoSync = true
		r.Repeat(map[string]func(*rapid.T){
			"": m.agree, "propose": m.propose, "move": m.move, "stale": m.stale, "reopen": m.reopen,
		})
		closed(t, m.s)
	})
}

// propose brings work of one of few branches.
func (m *mergeModel) propose(r *rapid.T) {
	w := work(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(r, "branch"),
		rapid.SampledFrom([]string{"c1", "c2", "c3"}).Draw(r, "commit"))
	w.Tasks = []string{rapid.SampledFrom([]string{"1", "2"}).Draw(r, "task")}
	w.State = rapid.SampledFrom([]MergeState{MergeWaiting, MergeQueued}).Draw(r, "state")
	w.Round = rapid.IntRange(0, 3).Draw(r, "round")
	got, err := m.s.Merges().Propose(m.t.Context(), actors.Actor{}, w)
	if err != nil {
		r.Fatal(err)
	}
	i := slices.IndexFunc(m.want, func(k Merge) bool { return k.Branch == w.Branch && !k.State.Over() })
	switch {
	case i < 0:
		w.ID, w.Version = fmt.Sprint(len(m.want)+1), 1
		m.want = append(m.want, w)
		i = len(m.want) - 1
	case m.want[i].Commit != w.Commit:
		k := &m.want[i]
		if !slices.Contains(k.Tasks, w.Tasks[0]) {
			k.Tasks = append(slices.Clone(k.Tasks), w.Tasks...)
		}
		k.Commit, k.State, k.Reason, k.Base, k.Result = w.Commit, w.State, "", "", ""
		k.Round = max(k.Round, w.Round)
		k.Version++
	}
	if got.ID != m.want[i].ID || got.State != m.want[i].State {
		r.Fatalf("proposed %+v, want %+v", got, m.want[i])
	}
}

// move takes a step, be it one that is none.
func (m *mergeModel) move(r *rapid.T) {
	if len(m.want) == 0 {
		return
	}
	now := &m.want[rapid.IntRange(0, len(m.want)-1).Draw(r, "merge")]
	next := *now
	next.State, next.Reason = rapid.SampledFrom(anyState).Draw(r, "state"), "why"
	next.Base, next.Result = "b", "r"
	_, err := m.s.Merges().Move(m.t.Context(), actors.Actor{}, next, nil)
	var want error
	switch {
	case next.State == "odd":
		want = ErrInvalid
	case now.State.Over(), next.State == MergeLanding && now.State != MergeTesting && now.State != MergeLanding,
		next.State == MergeTesting && !now.State.Busy():
		want = ErrTransition
	}
	if !errors.Is(err, want) {
		r.Fatalf("%s to %s: %v, want %v", now.State, next.State, err, want)
	}
	if want == nil {
		next.Version++
		*now = next
	}
}

// stale moves what somebody else has moved since.
func (m *mergeModel) stale(r *rapid.T) {
	for _, k := range m.want {
		k.Version += uint64(rapid.SampledFrom([]int{-1, 1}).Draw(r, "off"))
		if _, err := m.s.Merges().Move(m.t.Context(), actors.Actor{}, k, nil); !errors.Is(err, ErrConflict) {
			r.Fatalf("version %d was taken: %v", k.Version, err)
		}
	}
}

// reopen is a restart.
func (m *mergeModel) reopen(*rapid.T) {
	closed(m.t, m.s)
	m.s = openAt(m.t, m.path, nil)
	raw(m.t, m.s).NoSync = true
}

// agree compares all that the store has with the model.
func (m *mergeModel) agree(r *rapid.T) {
	list, err := m.s.Merges().List(m.t.Context())
	if err != nil || len(list) != len(m.want) {
		r.Fatalf("%d merges, want %d: %v", len(list), len(m.want), err)
	}
	for i, got := range list {
		want := m.want[i]
		if got.ID != want.ID || got.Version != want.Version || got.State != want.State ||
			got.Commit != want.Commit || got.Reason != want.Reason || got.Result != want.Result ||
			got.Round != want.Round ||
			!slices.Equal(got.Tasks, want.Tasks) {
			r.Fatalf("\n%+v, want\n%+v", got, want)
		}
	}
	if err := m.s.Check(m.t.Context()); err != nil {
		r.Fatal(err)
	}
}

// TestMergeTextsAreBounded: what gates and git say may be long and odd; what is stored of
// it for people is short and one line, and the caller's own lists stay as they are.
func TestMergeTextsAreBounded(t *testing.T) {
	s := open(t, nil)
	m := propose(t, s, work("b", "c"))
	m.Title, m.Reason = "two\nlines \xff"+strings.Repeat("t", 1000), strings.Repeat("ü", 10_000)
	for i := range maxMergeFiles + 5 {
		m.Files = append(m.Files, fmt.Sprintf("dir%d\n%s", i, strings.Repeat("f", 1000)))
	}
	m.Tasks = []string{"1", "1", "2"}
	given := m.Files[0]
	got := move(t, s, m, MergeHeld)
	if len(got.Files) != maxMergeFiles || len(got.Tasks) != 2 {
		t.Errorf("%d files, tasks %v", len(got.Files), got.Tasks)
	}
	for _, text := range append([]string{got.Title, got.Reason}, got.Files...) {
		if strings.ContainsAny(text, "\n\x00") || utf8.RuneCountInString(text) > mail.MaxSummary*10+1 {
			t.Errorf("%d bytes: %.80q", len(text), text)
		}
	}
	if m.Files[0] != given {
		t.Errorf("the caller's list became %.40q", m.Files[0])
	}
}

// TestMergeSubject: verdicts stand under the task, unless the work is of many or of none.
func TestMergeSubject(t *testing.T) {
	for want, list := range map[string][]string{"7": {"7"}, "branch": nil, "of both": {"7", "8"}} {
		m := Merge{Branch: want, Tasks: list}
		if got := m.Subject(); got != want {
			t.Errorf("tasks %v: %s, want %s", list, got, want)
		}
	}
}
