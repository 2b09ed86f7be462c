package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"
)

func countFiles(t testing.TB, s *Store) int {
	t.Helper()
	files, err := os.ReadDir(blobDir(t, s))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	return len(ok(t, files, err))
}

// TestLongPayloads go to files, come back whole, and go when nothing needs them.
func TestLongPayloads(t *testing.T) {
	t.Parallel()
	s := open(t, &Options{BlobDir: filepath.Join(t.TempDir(), "deep", "payloads")})
	long := func(c string, n int) string { return strings.Repeat(c, n) }
	edge, over := long("e", store.InlineLimit), long("ü", 5<<20)
	inJSON := json.RawMessage(`"` + long("j", store.InlineLimit) + `"`)

	add(t, s, New{Description: edge})
	if n := countFiles(t, s); n != 0 {
		t.Errorf("%d files for 64 KiB", n)
	}
	add(t, s, New{Description: over, Owner: "bob", Metadata: map[string]json.RawMessage{"k": inJSON, "s": []byte("1")}})
	if n := countFiles(t, s); n != 2 {
		t.Errorf("%d files for two payloads", n)
	}
	if task := claim(t, s, "2", "bob"); task.Description != over || string(task.Metadata["k"]) != string(inJSON) {
		t.Error("claim gives other payloads")
	}
	_, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bob", "cy"}, Text: over, Data: inJSON})
	ok(t, 0, err)
	if err := s.Put(t.Context(), "goal", inJSON); err != nil {
		t.Fatal(err)
	}
	if n := countFiles(t, s); n != 5 {
		t.Errorf("%d files: several recipients share one", n)
	}
	mail, err := s.mail.Unread(t.Context(), "bob")
	if last := ok(t, mail, err)[len(mail)-1]; last.Text != over || string(last.Data) != string(inJSON) {
		t.Error("mail gives other payloads")
	}
	if v, _, err := s.Value(t.Context(), "goal"); err != nil || string(v) != string(inJSON) {
		t.Errorf("value of %d bytes, %v", len(v), err)
	}
	events := drain(t, s)
	if c := events[1].Data.(Change); c.Task.Description != over {
		t.Error("the event gives another description")
	}
	deliverAll(t, s, "bob")
	deliverAll(t, s, "cy")
	drain(t, s)
	if n := countFiles(t, s); n != 3 {
		t.Errorf("%d files after delivery", n)
	}
	if err := s.Put(t.Context(), "goal", nil); err != nil {
		t.Fatal(err)
	}
	_, fields, err := s.Update(t.Context(), as("ann"), "2",
		Patch{Description: ptr("short"), Metadata: map[string]json.RawMessage{"k": []byte("null")}})
	ok(t, 0, err)
	wantList(t, "fields", fields, []string{"description", "metadata"})
	drain(t, s)
	if n := countFiles(t, s); n != 0 {
		t.Errorf("%d files at the end", n)
	}
}

func deliverAll(t testing.TB, s *Store, member string) {
	t.Helper()
	list, err := s.mail.Unread(t.Context(), member)
	var ids []string
	for _, m := range ok(t, list, err) {
		ids = append(ids, m.ID)
	}
	if err := s.mail.Deliver(t.Context(), as(member), ids); err != nil {
		t.Fatal(err)
	}
}

func TestLongAssignment(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{Subject: strings.Repeat("ä", store.MaxShort/2), Description: strings.Repeat("x", store.InlineLimit+1), Owner: "bob"})
	list, err := s.mail.Unread(t.Context(), "bob")
	m := ok(t, list, err)[0]
	if n := unmarshal[Assignment](t, m.Data); n.Description != "" || len(n.Subject) != store.MaxShort {
		t.Errorf("assignment with a description of %d bytes", len(n.Description))
	}
	if len(m.Summary) > 2*mail.MaxSummary {
		t.Errorf("summary of %d bytes", len(m.Summary))
	}
}

// TestRefusedPayloadsAreRemoved, whatever the refusal.
func TestRefusedPayloadsAreRemoved(t *testing.T) {
	s := open(t, &Options{MaxUnread: 1})
	long := strings.Repeat("x", store.InlineLimit+1)
	_, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bob"}, Text: "x"})
	ok(t, 0, err)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func() error{
		"by the store": func() error {
			_, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bob"}, Text: long})
			return err
		},
		"by a check": func() error {
			_, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"cy"}, Text: long, Data: []byte("{")})
			return err
		},
		"by the actor's name": func() error {
			_, err := s.Create(t.Context(), as("a\nb"), New{Subject: "s", Description: long})
			return err
		},
		"by the context": func() error {
			_, err := s.Create(cancelled, as("ann"), New{Subject: "s", Description: long})
			return err
		},
		"no such task": func() error {
			_, _, err := s.Update(t.Context(), as("ann"), "9", Patch{Description: &long})
			return err
		},
		"second entry": func() error {
			_, err := s.Add(t.Context(), as("ann"), []New{{Subject: "s", Description: long}, {}})
			return err
		},
	} {
		if err := call(); err == nil {
			t.Errorf("%s: not refused", name)
		}
		if n := countFiles(t, s); n != 0 {
			t.Errorf("%s: %d files are left", name, n)
		}
	}
}

func TestOpenSweepsWhatACrashLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openAt(t, path, nil)
	long := strings.Repeat("x", store.InlineLimit+1)
	add(t, s, New{Description: long})
	testkit.Must(t, os.WriteFile(filepath.Join(blobDir(t, s), "STRAY"), []byte("nobody refers to this"), 0o600))
	if err := os.Mkdir(filepath.Join(blobDir(t, s), "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := openAt(t, path, &Options{ReadOnly: true})
	if n := countFiles(t, r); n != 3 {
		t.Errorf("%d entries: reading must not sweep", n)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path, nil)
	if n := countFiles(t, s); n != 2 {
		t.Errorf("%d entries after a sweep", n)
	}
	if get(t, s, "1").Description != long {
		t.Error("the sweep took what is needed")
	}
}

func TestMissingAndCutPayload(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{Description: strings.Repeat("x", store.InlineLimit+1)})
	files, err := filepath.Glob(filepath.Join(blobDir(t, s), "*"))
	ok(t, files, err)
	whole, err := os.ReadFile(files[0])
	ok(t, whole, err)
	for name, damage := range map[string]func() error{
		"has 9 bytes instead": func() error { return os.WriteFile(files[0], []byte("cut short"), 0o600) },
		"gone":                func() error { return os.Remove(files[0]) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		_, err := s.Task(t.Context(), "1")
		wantError(t, err, ErrCorrupt, "task 1, description", name, files[0])
		wantError(t, s.Check(t.Context()), ErrCorrupt, name)
		if err := os.WriteFile(files[0], whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadersWhilePayloadsGo: readers never meet a payload that was removed.
func TestReadersWhilePayloadsGo(t *testing.T) {
	s := open(t, nil)
	raw(t, s).NoSync = true
	add(t, s, New{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				list, err := s.List(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				if d := list[0].Description; d != "" && strings.Trim(d, d[:1]) != "" {
					t.Error("mixed description")
				}
			}
		})
	}
	for i := range 60 {
		long := strings.Repeat(fmt.Sprint(i%10), store.InlineLimit+i+1)
		_, _, err := s.Update(t.Context(), as("ann"), "1", Patch{Description: &long})
		ok(t, 0, err)
		drain(t, s)
	}
	close(stop)
	wg.Wait()
	if n := countFiles(t, s); n != 1 {
		t.Errorf("%d files", n)
	}
}

// TestViewLooksAgain when a payload went away under it, but not for ever.
func TestViewLooksAgain(t *testing.T) {
	s := open(t, nil)
	for _, tt := range []struct{ gone, attempts int }{{0, 1}, {3, 4}, {100, 8}} {
		attempts := 0
		err := s.db.View(t.Context(), func(store.Reader) error {
			if attempts++; attempts <= tt.gone {
				return fmt.Errorf("task 1: %w", store.ErrBlobGone)
			}
			return nil
		})
		if attempts != tt.attempts || (err != nil) != (tt.gone > tt.attempts) {
			t.Errorf("%+v: %d attempts, %v", tt, attempts, err)
		}
	}
}

// TestRepeatedCallLeavesNoPayload: the file that a repeated call made anew is
// needed by nobody.
func TestRepeatedCallLeavesNoPayload(t *testing.T) {
	s := open(t, nil)
	for range 3 {
		_, err := s.Create(t.Context(), call("c"), New{Subject: "s", Description: strings.Repeat("x", store.InlineLimit+1)})
		ok(t, 0, err)
		if n := countFiles(t, s); n != 1 {
			t.Errorf("%d files", n)
		}
	}
}
