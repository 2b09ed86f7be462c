package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/tasks/store"
)

// A record is what a bucket holds for one thing: its JSON, with long fields moved
// into files. Files names them by field ("description", "value") or by
// metadataPrefix+key for a metadata value. The record of a task embeds Task, so that
// a stored task has the same JSON as any other and a new field needs no second
// declaration.

const metadataPrefix = "metadata."

// taskRecord is a task as stored. In bucketTasks its Blocks are empty, because they
// follow from the BlockedBy of the other tasks; in events and receipts they are as of
// that moment.
type taskRecord struct {
	Task
	Files store.Files `json:"files,omitempty"`
}

// valueRecord is a value of Put as stored.
type valueRecord struct {
	Value json.RawMessage `json:"value,omitempty"`
	Files store.Files     `json:"files,omitempty"`
}

// set stores a payload in the named field.
func (r *taskRecord) set(field string, l store.Long) {
	inline := r.Files.Put(field, l)
	key, isMetadata := strings.CutPrefix(field, metadataPrefix)
	switch {
	case !isMetadata:
		r.Description = inline
	case l.File != nil:
		delete(r.Metadata, key)
	default:
		r.Metadata[key] = json.RawMessage(inline)
	}
}

// unset removes a metadata value and reports whether there was one.
func (r *taskRecord) unset(key string) bool {
	_, inline := r.Metadata[key]
	_, inFile := r.Files[metadataPrefix+key]
	delete(r.Metadata, key)
	delete(r.Files, metadataPrefix+key)
	return inline || inFile
}

// same reports whether the field already holds the payload. Payloads in files are not
// compared: they count as different.
func (r *taskRecord) same(field string, l store.Long) bool {
	if _, inFile := r.Files[field]; inFile || l.File != nil {
		return false
	}
	if key, ok := strings.CutPrefix(field, metadataPrefix); ok {
		value, there := r.Metadata[key]
		return there && string(value) == l.Text
	}
	return r.Description == l.Text
}

// clone returns a deep copy.
func (r *taskRecord) clone() *taskRecord {
	c := *r
	c.own()
	return &c
}

// own copies what r shares with the record that it is a copy of.
func (r *taskRecord) own() {
	r.Files = maps.Clone(r.Files)
	r.Metadata = maps.Clone(r.Metadata)
	for key, value := range r.Metadata {
		r.Metadata[key] = bytes.Clone(value)
	}
	for _, list := range []*[]string{&r.Blocks, &r.BlockedBy, &r.Labels, &r.Wants.Tools, &r.Wants.Labels} {
		*list = slices.Clone(*list)
	}
	r.Evidence = slices.Clone(r.Evidence)
	r.normalize()
}

// normalize makes empty lists and maps encode as [] and {}.
func (r *taskRecord) normalize() {
	for _, list := range []*[]string{&r.Blocks, &r.BlockedBy, &r.Labels} {
		if *list == nil {
			*list = []string{}
		}
	}
	if r.Metadata == nil {
		r.Metadata = map[string]json.RawMessage{}
	}
}

// Open returns the task with the fields that are in files filled in.
func (r *taskRecord) Open(b *store.Blobs) (Task, error) {
	c := *r
	c.own()
	t := c.Task
	for field, ref := range r.Files {
		text, err := b.Read(ref)
		if err != nil {
			return Task{}, fmt.Errorf("task %s, %s: %w", r.ID, field, err)
		}
		if key, ok := strings.CutPrefix(field, metadataPrefix); ok {
			t.Metadata[key] = json.RawMessage(text)
		} else {
			t.Description = text
		}
	}
	return t, nil
}

// decodeTask is store.Decode for tasks, followed by normalize.
func decodeTask(what string, data []byte) (*taskRecord, error) {
	r, err := store.Decode[taskRecord](what, data)
	if err != nil {
		return nil, err
	}
	r.normalize()
	return r, nil
}
