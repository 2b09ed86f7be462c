package tasks

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/mail"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"
)

// change makes one random change; that some are refused does not matter.
func change(t *testing.T, rt *rapid.T, s *Store) {
	ctx, by, id := t.Context(), as(anyMember(rt)), fmt.Sprint(rapid.IntRange(1, 8).Draw(rt, "id"))
	text := rapid.SampledFrom([]string{"short", strings.Repeat("long ", 20_000)}).Draw(rt, "text")
	switch rapid.IntRange(0, 8).Draw(rt, "change") {
	case 0, 1:
		n := New{Subject: "s", Description: text, Owner: anyOwner(rt)}
		if rapid.Bool().Draw(rt, "blocked") {
			n.BlockedBy = []string{id}
		}
		_, _ = s.Add(ctx, by, []New{n})
	case 2:
		_, _ = s.Claim(ctx, by, id, Claim{})
	case 3:
		status := rapid.SampledFrom([]Status{Pending, InProgress, Completed}).Draw(rt, "status")
		_, _, _ = s.Update(ctx, by, id, Patch{Status: &status, Metadata: map[string]json.RawMessage{"n": []byte("1")}})
	case 4:
		_, _, _ = s.Update(ctx, by, id, Patch{Owner: ptr(anyOwner(rt)), AddBlockedBy: []string{
			fmt.Sprint(rapid.IntRange(1, 8).Draw(rt, "blocker"))}, Description: &text})
	case 5:
		_, _ = s.Delete(ctx, by, id, nil)
	case 6:
		_, _ = s.mail.Send(ctx, by, mail.Outgoing{To: []string{anyMember(rt)}, Text: text})
	case 7:
		member := anyMember(rt)
		if list, err := s.mail.Unread(ctx, member); err == nil && len(list) > 0 {
			_ = s.mail.Deliver(ctx, as(member), []string{list[rapid.IntRange(0, len(list)-1).Draw(rt, "which")].ID})
		}
	case 8:
		if task, err := s.Create(ctx, by, New{Subject: "p", BlockedBy: nil}); err == nil && rapid.Bool().Draw(rt, "confirm") {
			_, _ = s.Confirm(ctx, by, task.ID)
		}
	}
}

// all is what people and members see of a store.
func all(t *testing.T, s *Store) string {
	t.Helper()
	list, err := s.List(t.Context())
	ok(t, list, err)
	seen := map[string]any{"tasks": list}
	for _, name := range memberNames {
		mail, err := s.mail.Unread(t.Context(), name)
		seen[name] = ok(t, mail, err)
	}
	text, err := json.Marshal(seen)
	return string(ok(t, text, err))
}

// keepBlobs copies payload files, as a backup does.
func keepBlobs(t *testing.T, from, to string) {
	t.Helper()
	if _, err := os.Stat(from); err != nil {
		return // there are none
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestRefill: an old copy of a store and the events since give the store again, and
// doing it twice changes nothing.
func TestRefill(t *testing.T) {
	dir, round := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		path := filepath.Join(dir, fmt.Sprint(round, ".db"))
		s := openAt(t, path, nil)
		steps, copied := rapid.IntRange(1, 16).Draw(rt, "steps"), rapid.IntRange(0, 15).Draw(rt, "copied at")
		for i := range steps {
			if i == min(copied, steps-1) {
				if err := raw(t, s).View(func(tx *bolt.Tx) error { return tx.CopyFile(path+".old", 0o600) }); err != nil {
					rt.Fatal(err)
				}
				keepBlobs(t, path+".blobs", path+".old.blobs")
			}
			change(t, rt, s)
		}
		events, err := s.outbox.Events(t.Context(), 0, 1<<20)
		want, last := all(t, s), uint64(len(ok(t, events, err)))
		old := openAt(t, path+".old", nil)
		for range 2 {
			got, err := old.outbox.Refill(t.Context(), events)
			if err != nil || len(got.Unknown) != 0 {
				rt.Fatalf("%+v, %v", got, err)
			}
			if have := all(t, old); have != want {
				rt.Fatalf("refilled\n%.3000s\nwant\n%.3000s", have, want)
			}
			if err := old.Check(t.Context()); err != nil {
				rt.Fatal(err)
			}
		}
		if n, err := old.outbox.LastEvent(t.Context()); err != nil || n != last {
			rt.Fatalf("last event %d, want %d, %v", n, last, err)
		}
		closed(t, old)
		closed(t, s)
	})
}
