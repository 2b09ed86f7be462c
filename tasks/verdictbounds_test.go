package tasks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerdictEdges: names as long as can be are keys, and one byte more is refused with
// the name of what is too long; texts at the edge of a file of their own come back whole.
func TestVerdictEdges(t *testing.T) {
	s := open(t, nil)
	most, over := strings.Repeat("k", maxName), strings.Repeat("k", maxName+1)
	for what, key := range map[string]VerdictKey{
		"tree":    {Tree: over, Gate: "g", Subject: "1"},
		"gate":    {Tree: "t", Gate: over, Subject: "1"},
		"subject": {Tree: "t", Gate: "g", Subject: over},
	} {
		wantError(t, s.Judge(t.Context(), Verdict{VerdictKey: key}), ErrInvalid, what, fmt.Sprint(maxName))
	}
	for i, n := range []int{0, 1, inlineLimit, inlineLimit + 1} {
		key := VerdictKey{Tree: most, Gate: fmt.Sprint(i) + most[1:], Subject: most}
		v := Verdict{VerdictKey: key, Feedback: strings.Repeat("f", n), Log: strings.Repeat("l", n)}
		if err := s.Judge(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		got, found, err := s.Verdict(t.Context(), key)
		if err != nil || !found || got.Feedback != v.Feedback || got.Log != v.Log {
			t.Errorf("texts of %d bytes: %d and %d, %v, %v", n, len(got.Feedback), len(got.Log), found, err)
		}
	}
}

// TestVerdictKeysAreApart: parts of a key that run into each other are still two keys.
func TestVerdictKeysAreApart(t *testing.T) {
	seen := map[string]VerdictKey{}
	parts := []string{"a", "ab", "b", "bb", "1", "11"}
	for _, tree := range parts {
		for _, gate := range parts {
			for _, subject := range parts {
				k := VerdictKey{Tree: tree, Gate: gate, Subject: subject}
				if other, there := seen[string(k.key())]; there {
					t.Fatalf("%+v and %+v have one key", k, other)
				}
				seen[string(k.key())] = k
			}
		}
	}
}

// TestGlobEscape: the folder of a store may be called as a pattern is. Only the damaged
// files of this very store are counted, and the newest of them stay.
func TestGlobEscape(t *testing.T) {
	for _, folder := range []string{"plain", "a*b", "[ab]", "q?", `back\slash`} {
		dir := filepath.Join(t.TempDir(), folder)
		path, other := filepath.Join(dir, "tasks.db"), filepath.Join(dir, "tasks.dbx")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range maxDamaged + 2 {
			for _, p := range []string{path, other} {
				if err := os.WriteFile(fmt.Sprintf("%s.damaged-%d", p, i), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := trimDamaged(path); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, name := range dirNames(t, dir) {
			if strings.HasPrefix(name, "tasks.db.") {
				left = append(left, strings.TrimPrefix(name, "tasks.db.damaged-"))
			}
		}
		wantList(t, "damaged files in "+folder, left, []string{"2", "3", "4"})
		if err := RemoveFiles(path, ""); err != nil {
			t.Fatal(err)
		}
		if names := dirNames(t, dir); len(names) != maxDamaged+2 {
			t.Errorf("%s: with the store gone there are %v", folder, names)
		}
	}
}

// TestRefillOfNothing: events that say too little, or nothing that can be read, are
// counted and harm nobody, and those of the past are passed over.
func TestRefillOfNothing(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{Subject: "here"})
	last, err := s.LastEvent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	odd := []Event{
		{ID: last + 3, Type: TaskEvent, Data: []byte(`{"op":"created","task":{"id":"x","status":"pending"}}`)},
		{ID: last + 1, Type: TaskEvent, Data: []byte(`{`)},
		{ID: last + 2, Type: MessageEvent, Data: []byte(`{"id":"","seq":0}`)},
		{ID: last + 4, Type: DeliveredEvent, Data: []byte(`[]`)},
		{ID: last + 5, Type: "unheard of", Data: []byte(`{}`)},
		{ID: last + 6, Type: MergeEvent, Data: []byte(`{"id":"3","branch":"ann"}`)},
		{ID: last + 7, Type: RequestEvent, Data: []byte(`{"id":"R1","kind":"plan","member":"ann"}`)},
		{ID: last + 8, Type: MergeEvent, Data: []byte(`{"id":"3","branch":"ann"}`)},
		{ID: last, Type: TaskEvent, Data: []byte(`{"op":"deleted","task":{"id":"1","status":"pending"}}`)},
	}
	got, err := s.Refill(t.Context(), odd)
	if err != nil || len(got.Unknown) != 7 || got.Messages != 0 || len(got.Tasks) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	wantList(t, "lost", got.Unknown[5:], []string{"merge 3 of ann", "request R1 of ann (plan)"})
	if now, err := s.LastEvent(t.Context()); now != last+8 || err != nil {
		t.Errorf("the last event is %d, want %d: %v", now, last+8, err)
	}
	wantList(t, "tasks", ids(ok1(t)(s.List(t.Context()))), []string{"1"})
	if odd[0].ID != last+3 {
		t.Error("the caller's list was put in order")
	}
}
