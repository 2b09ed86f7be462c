package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/tasks/kv"
)

// A record is what a bucket holds for one thing: its JSON as everywhere else,
// with the fields that are too long moved out into files: by name for a field
// ("description", "value"), metadataPrefix+key for a metadata value. A record
// holds a task by embedding it, so that a stored task reads like any other and a
// new field needs no second place.

const metadataPrefix = "metadata."

// taskRecord is a task as stored. In bucketTasks its Blocks are empty, because
// they follow from the other tasks' BlockedBy; in events and receipts they are
// what they were at that moment.
type taskRecord struct {
	Task
	Files kv.Files `json:"files,omitempty"`
}

// valueRecord is a value of Put as stored.
type valueRecord struct {
	Value json.RawMessage `json:"value,omitempty"`
	Files kv.Files        `json:"files,omitempty"`
}

// set puts a payload into the field of that name.
func (r *taskRecord) set(field string, l kv.Long) {
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

// unset removes a metadata value, and says whether there was one.
func (r *taskRecord) unset(key string) bool {
	_, inline := r.Metadata[key]
	_, inFile := r.Files[metadataPrefix+key]
	delete(r.Metadata, key)
	delete(r.Files, metadataPrefix+key)
	return inline || inFile
}

// same says whether a payload is what the field holds already. Two files are
// never compared: they count as different.
func (r *taskRecord) same(field string, l kv.Long) bool {
	if _, inFile := r.Files[field]; inFile || l.File != nil {
		return false
	}
	if key, ok := strings.CutPrefix(field, metadataPrefix); ok {
		value, there := r.Metadata[key]
		return there && string(value) == l.Text
	}
	return r.Description == l.Text
}

// clone gives a copy that shares nothing: whoever has it may change it.
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

// normalize makes what is empty print as [] and {}.
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

// Open fills in the fields that are in files.
func (r *taskRecord) Open(b *kv.Blobs) (Task, error) {
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

// decodeTask is kv.Decode for tasks, with lists that print as lists.
func decodeTask(what string, data []byte) (*taskRecord, error) {
	r, err := kv.Decode[taskRecord](what, data)
	if err != nil {
		return nil, err
	}
	r.normalize()
	return r, nil
}
