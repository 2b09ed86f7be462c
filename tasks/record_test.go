package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestTaskRecordSet(t *testing.T) {
	r := &taskRecord{}
	r.normalize()
	file := &blobRef{Name: "F", Size: 3}
	r.set("description", long{text: "short"})
	r.set("metadata.k", long{text: `{"a":1}`})
	if r.Description != "short" || string(r.Metadata["k"]) != `{"a":1}` || len(r.Files) != 0 {
		t.Fatalf("inline: %+v", r)
	}
	if !r.same("description", long{text: "short"}) || !r.same("metadata.k", long{text: `{"a":1}`}) ||
		r.same("metadata.other", long{text: ""}) || r.same("description", long{file: file}) {
		t.Error("same is wrong about inline fields")
	}
	r.set("description", long{file: file})
	r.set("metadata.k", long{file: file})
	if r.Description != "" || len(r.Metadata) != 0 || len(r.Files) != 2 || len(r.blobs()) != 1 {
		t.Fatalf("in files: %+v", r)
	}
	if r.same("description", long{text: ""}) {
		t.Error("a file counts as empty")
	}
	if !r.unset("k") || r.unset("k") || len(r.Files) != 1 {
		t.Errorf("unset: %+v", r)
	}
	r.set("description", long{text: "again"})
	if r.Description != "again" || len(r.Files) != 0 {
		t.Errorf("back inline: %+v", r)
	}
}

func TestCloneIsIndependent(t *testing.T) {
	r := &taskRecord{Task: Task{BlockedBy: []string{"1"}}, Files: files{"description": {Name: "F"}}}
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
		if err != nil || !reflect.DeepEqual(r.clone().blobs(), r2.blobs()) || r.Subject != r2.Subject {
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
	b := &blobs{dir: f.TempDir()}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := reader{files: b}
		if e, err := r.event(1, data); err == nil && len(e.Data) == 0 {
			t.Fatal("an event without data")
		}
		if _, rest := cutNum(data); rest != nil {
			if rec, err := decode[receiptRecord]("receipt", rest); err == nil {
				_, _ = rec.open(b)
				rec.blobs()
			}
		}
		if rec, err := decode[messageRecord]("message", data); err == nil {
			_, _ = rec.open(b)
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
	b := &blobs{dir: filepath.Join(dir, "blobs")}
	if _, err := b.write(strings.Repeat("x", 10)); err != nil {
		t.Fatal(err)
	}
	_, err := b.read(blobRef{Name: "../secret", Size: 3})
	wantError(t, err, ErrCorrupt)
}
