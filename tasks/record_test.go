package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"
)

func TestTaskRecordSet(t *testing.T) {
	r := &taskRecord{}
	r.normalize()
	file := &store.BlobRef{Name: "F", Size: 3}
	r.set("description", store.Long{Text: "short"})
	r.set("metadata.k", store.Long{Text: `{"a":1}`})
	if r.Description != "short" || string(r.Metadata["k"]) != `{"a":1}` || len(r.Files) != 0 {
		t.Fatalf("inline: %+v", r)
	}
	if !r.same("description", store.Long{Text: "short"}) || !r.same("metadata.k", store.Long{Text: `{"a":1}`}) ||
		r.same("metadata.other", store.Long{Text: ""}) || r.same("description", store.Long{File: file}) {
		t.Error("same is wrong about inline fields")
	}
	r.set("description", store.Long{File: file})
	r.set("metadata.k", store.Long{File: file})
	if r.Description != "" || len(r.Metadata) != 0 || len(r.Files) != 2 || len(r.Files.Blobs()) != 1 {
		t.Fatalf("in files: %+v", r)
	}
	if r.same("description", store.Long{Text: ""}) {
		t.Error("a file counts as empty")
	}
	if !r.unset("k") || r.unset("k") || len(r.Files) != 1 {
		t.Errorf("unset: %+v", r)
	}
	r.set("description", store.Long{Text: "again"})
	if r.Description != "again" || len(r.Files) != 0 {
		t.Errorf("back inline: %+v", r)
	}
}

func TestCloneIsIndependent(t *testing.T) {
	r := &taskRecord{Task: Task{BlockedBy: []string{"1"}}, Files: store.Files{"description": {Name: "F"}}}
	r.normalize()
	c := r.clone()
	c.BlockedBy[0] = "2"
	c.Metadata["k"] = json.RawMessage("1")
	delete(c.Files, "description")
	if r.BlockedBy[0] != "1" || len(r.Metadata) != 0 || len(r.Files) != 1 {
		t.Errorf("the original changed: %+v", r)
	}
}

func TestEmptyListsPrintAsLists(t *testing.T) {
	s := open(t, nil)
	task, err := s.Create(t.Context(), as("lead"), New{Subject: "s"})
	ok(t, task, err)
	task, err = s.Confirm(t.Context(), as("lead"), task.ID)
	ok(t, task, err)
	for _, x := range []Task{task, get(t, s, task.ID), claim(t, s, task.ID, "ann"), setStatus(t, s, task.ID, Completed)} {
		data, err := json.Marshal(x)
		ok(t, data, err)
		for _, want := range []string{`"blocks":[]`, `"blockedBy":[]`, `"labels":[]`, `"metadata":{}`} {
			if !bytes.Contains(data, []byte(want)) {
				t.Errorf("%s does not hold %s", data, want)
			}
		}
	}
}

func TestDecodeRefusesGarbage(t *testing.T) {
	for _, data := range []string{"", "{", "[]", `"x"`, `{"id":1}`, `{"metadata":[]}`, "\x00"} {
		_, err := decodeTask("task 1", []byte(data))
		wantError(t, err, ErrCorrupt, "task 1")
	}
}

// FuzzDecodeTask: no bytes make decoding panic, and what can be decoded is the
// same after a round trip, with lists that print as lists.
func FuzzDecodeTask(f *testing.F) {
	for _, seed := range []string{
		`{"id":"1","subject":"s","status":"pending","blockedBy":["2"],"metadata":{"k":{"a":null}}}`,
		`{"files":{"description":{"blob":"X","size":70000},"metadata.k":{"blob":"Y","size":1}}}`,
		`{"labels":null,"wants":{"tools":["Bash"]},"created":"2026-11-21T10:00:00Z"}`,
		`{}`, `null`, ``, `{"files":{"":{}}}`, `{"files":{"":{},"C":{"size":2}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeTask("task", data)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if r.Blocks == nil || r.BlockedBy == nil || r.Labels == nil || r.Metadata == nil {
			t.Fatal("a list is nil")
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Skip() // a year beyond 9999 can be read but not written
		}
		r2, err := decodeTask("task", again)
		if err != nil || !reflect.DeepEqual(r.clone().Files.Blobs(), r2.Files.Blobs()) || r.Subject != r2.Subject {
			t.Fatalf("round trip of %q: %v", data, err)
		}
		r.number()
		r.ownerKey()
		r.progressKey()
	})
}

// FuzzOpenStored: no stored bytes make the readers or Check panic.
func FuzzOpenStored(f *testing.F) {
	for _, seed := range []string{`{"change":{"op":"created","task":{"id":"1"}}}`, `{"message":{"id":"x","to":"a"}}`,
		`{"delivered":"x"}`, `{"change":{}}`, `{"message":{"files":{"text":{"blob":"../../x","size":1}}}}`,
		"\x00\x00\x00\x00\x00\x00\x00\x01{\"op\":\"add\",\"tasks\":[{}]}", `{}`, ``} {
		f.Add([]byte(seed))
	}
	b := store.NewBlobs(f.TempDir(), nil, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := readEvent(b, 1, data); err == nil && e.Data == nil {
			t.Fatal("an event without data")
		}
		_, _ = store.EventFiles(data)
		if len(data) > 8 {
			if rec, err := store.Decode[receiptRecord]("receipt", data[8:]); err == nil {
				_, _ = rec.Open(b)
			}
		}
		if rec, err := store.Decode[mail.Record]("message", data); err == nil {
			_, _ = rec.Open(b)
		}
	})
}

// TestBlobNamesStayInside: a damaged record cannot name a file elsewhere.
func TestBlobNamesStayInside(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.Must(t, os.Mkdir(filepath.Join(dir, "blobs"), 0o700))
	_, err := store.NewBlobs(filepath.Join(dir, "blobs"), nil, nil).Read(store.BlobRef{Name: "../secret", Size: 3})
	wantError(t, err, ErrCorrupt)
}
