package tasks

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/tasks/requests"

	"pgregory.net/rapid"
)

// onTree is a key about task 1.
func onTree(tree string) requests.VerdictKey {
	return requests.VerdictKey{Tree: tree, Gate: "g", Subject: "1"}
}

func TestVerdictsAreKept(t *testing.T) {
	s := open(t, nil)
	log := strings.Repeat("ok\n", 50_000) // longer than what a record holds
	v := requests.Verdict{
		VerdictKey: onTree("t1"), Command: "go test", Moment: "task", Member: "ana", Pass: true, Log: log,
		Duration: time.Second,
	}
	if err := s.verdicts.Add(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	got, found, err := s.verdicts.Find(t.Context(), v.VerdictKey)
	if err != nil || !found || got.Log != log || !got.Pass || got.Time != fixed || got.Member != "ana" {
		t.Fatalf("%v, %v, %d bytes of log", found, err, len(got.Log))
	}
	for _, other := range []requests.VerdictKey{{Tree: "t2", Gate: "g", Subject: "1"}, {Tree: "t1", Gate: "h", Subject: "1"}, {Tree: "t1", Gate: "g", Subject: "2"}} {
		if _, found, err := s.verdicts.Find(t.Context(), other); found || err != nil {
			t.Errorf("%+v: %v, %v", other, found, err)
		}
	}
	// The later word about the same counts, and the long log of the first goes.
	v.Pass, v.Log, v.Feedback = false, "no", "it is red"
	if err := s.verdicts.Add(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	list, err := s.verdicts.About(t.Context(), "1")
	if err != nil || len(list) != 1 || list[0].Pass || list[0].Feedback != "it is red" {
		t.Errorf("%+v, %v", list, err)
	}
	if left, err := os.ReadDir(blobDir(t, s)); err == nil && len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestVerdictsThatCannotBe(t *testing.T) {
	s := open(t, nil)
	for _, key := range []requests.VerdictKey{{}, {Tree: "t", Gate: "g"}, {Tree: "t\x00", Gate: "g", Subject: "1"}} {
		wantError(t, s.verdicts.Add(t.Context(), requests.Verdict{VerdictKey: key}), ErrInvalid)
	}
}

func TestVerdictsSurvive(t *testing.T) {
	path := t.TempDir() + "/tasks.db"
	s := openAt(t, path, nil)
	if err := s.verdicts.Add(t.Context(), requests.Verdict{VerdictKey: onTree("t"), Pass: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, found, err := openAt(t, path, nil).verdicts.Find(t.Context(), onTree("t")); !found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// However often it is judged, what is kept is bounded, the newest are there, and
// all of it agrees (open checks that in the end).
func TestVerdictsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand commits")
	}
	s := open(t, nil)
	raw(t, s).NoSync = true
	for i := range maxVerdicts + 20 {
		if err := s.verdicts.Add(t.Context(), requests.Verdict{VerdictKey: onTree(fmt.Sprintf("t%d", i))}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.verdicts.About(t.Context(), "")
	if err != nil || len(list) != maxVerdicts {
		t.Errorf("%d verdicts, %v", len(list), err)
	}
	for tree, want := range map[string]bool{"t0": false, "t19": false, "t20": true, "t1019": true} {
		if _, found, err := s.verdicts.Find(t.Context(), onTree(tree)); found != want || err != nil {
			t.Errorf("%s: %v, %v", tree, found, err)
		}
	}
}

// A store of verdicts is a map from keys to the last word about them.
func TestVerdictsAreAMap(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := open(t, &Options{BlobDir: t.TempDir()})
		raw(t, s).NoSync = true
		want := map[requests.VerdictKey]bool{}
		for range rapid.IntRange(1, 30).Draw(r, "words") {
			key := requests.VerdictKey{
				Tree:    rapid.SampledFrom([]string{"a", "b"}).Draw(r, "tree"),
				Gate:    rapid.SampledFrom([]string{"g", "h"}).Draw(r, "gate"),
				Subject: rapid.SampledFrom([]string{"1", "11"}).Draw(r, "subject"),
			}
			want[key] = rapid.Bool().Draw(r, "pass")
			if err := s.verdicts.Add(t.Context(), requests.Verdict{VerdictKey: key, Pass: want[key]}); err != nil {
				r.Fatal(err)
			}
		}
		for _, subject := range []string{"1", "11", ""} {
			list, err := s.verdicts.About(t.Context(), subject)
			if err != nil {
				r.Fatal(err)
			}
			n := 0
			for key := range want {
				if subject == "" || key.Subject == subject {
					n++
				}
			}
			wrong := func(v requests.Verdict) bool { return want[v.VerdictKey] != v.Pass }
			if len(list) != n || slices.ContainsFunc(list, wrong) {
				r.Fatalf("subject %q: %+v, want %v", subject, list, want)
			}
		}
		if err := s.Check(t.Context()); err != nil {
			r.Fatal(err)
		}
	})
}
