package tasks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A record is what a bucket holds for one thing: its JSON as everywhere else,
// with the fields that are too long moved out into files.

// files says which fields of a record are in files: by name for a field
// ("description", "text", "data", "value"), "metadata."+key for a metadata value.
type files map[string]blobRef

const metadataPrefix = "metadata."

// refs lists the files, each once.
func (f files) refs() []blobRef {
	list := make([]blobRef, 0, len(f))
	for _, ref := range f {
		list = append(list, ref)
	}
	return distinct(list)
}

// distinct sorts references and drops repeated ones.
func distinct(list []blobRef) []blobRef {
	slices.SortFunc(list, func(a, b blobRef) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Size, b.Size))
	})
	return slices.Compact(list)
}

// long is a payload on its way into a record: the text itself, or its file.
type long struct {
	text string
	file *blobRef
}

// Records hold a task or message by embedding it, so that a stored task reads
// like any other and a new field needs no second place.

// taskRecord is a task as stored. In bucketTasks its Blocks are empty, because
// they follow from the other tasks' BlockedBy; in events and receipts they are
// what they were at that moment.
type taskRecord struct {
	Task
	Files files `json:"files,omitempty"`
}

// messageRecord is a message as stored.
type messageRecord struct {
	Message
	Files files `json:"files,omitempty"`
}

// eventRecord is an event as stored: one of its payloads is set.
type eventRecord struct {
	Time      time.Time      `json:"time"`
	Member    string         `json:"member"`
	Change    *changeRecord  `json:"change,omitempty"`
	Message   *messageRecord `json:"message,omitempty"`
	Delivered string         `json:"delivered,omitempty"`
	Merge     *Merge         `json:"merge,omitempty"`
	Request   *requestRecord `json:"request,omitempty"`
}

// changeRecord is a Change as stored.
type changeRecord struct {
	Op     Op          `json:"op"`
	Task   *taskRecord `json:"task"`
	By     string      `json:"by"`
	Reason string      `json:"reason,omitempty"`
	Fields []string    `json:"fields,omitempty"`
}

// receiptRecord is a Receipt as stored.
type receiptRecord struct {
	Op       string          `json:"op"`
	Task     *taskRecord     `json:"task,omitempty"`
	Tasks    []taskRecord    `json:"tasks,omitempty"`
	Updated  []string        `json:"updated,omitempty"`
	Messages []messageRecord `json:"messages,omitempty"`
	Request  *requestRecord  `json:"request,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// valueRecord is a value of Put as stored.
type valueRecord struct {
	Value json.RawMessage `json:"value,omitempty"`
	Files files           `json:"files,omitempty"`
}

// Each record can say which files it needs.

func (r *taskRecord) blobs() []blobRef    { return r.Files.refs() }
func (r *messageRecord) blobs() []blobRef { return r.Files.refs() }
func (r *valueRecord) blobs() []blobRef   { return r.Files.refs() }

func (r *eventRecord) blobs() []blobRef {
	switch {
	case r.Change != nil && r.Change.Task != nil:
		return r.Change.Task.blobs()
	case r.Message != nil:
		return r.Message.blobs()
	case r.Request != nil:
		return r.Request.blobs()
	}
	return nil
}

func (r *receiptRecord) blobs() []blobRef {
	var list []blobRef
	if r.Task != nil {
		list = r.Task.blobs()
	}
	for i := range r.Tasks {
		list = append(list, r.Tasks[i].blobs()...)
	}
	for i := range r.Messages {
		list = append(list, r.Messages[i].blobs()...)
	}
	if r.Request != nil {
		list = append(list, r.Request.blobs()...)
	}
	return distinct(list)
}

// set puts a payload into the field of that name.
func (r *taskRecord) set(field string, l long) {
	if l.file != nil {
		if r.Files == nil {
			r.Files = files{}
		}
		r.Files[field] = *l.file
		l.text = ""
	} else {
		delete(r.Files, field)
	}
	key, isMetadata := strings.CutPrefix(field, metadataPrefix)
	switch {
	case !isMetadata:
		r.Description = l.text
	case l.file != nil:
		delete(r.Metadata, key)
	default:
		r.Metadata[key] = json.RawMessage(l.text)
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
func (r *taskRecord) same(field string, l long) bool {
	if _, inFile := r.Files[field]; inFile || l.file != nil {
		return false
	}
	if key, ok := strings.CutPrefix(field, metadataPrefix); ok {
		value, there := r.Metadata[key]
		return there && string(value) == l.text
	}
	return r.Description == l.text
}

// clone gives a copy that shares nothing: whoever has it may change it.
func (r *taskRecord) clone() *taskRecord {
	c := *r
	c.Files = maps.Clone(r.Files)
	c.Metadata = maps.Clone(r.Metadata)
	for key, value := range c.Metadata {
		c.Metadata[key] = bytes.Clone(value)
	}
	for _, list := range []*[]string{&c.Blocks, &c.BlockedBy, &c.Labels, &c.Wants.Tools, &c.Wants.Labels} {
		*list = slices.Clone(*list)
	}
	c.Evidence = slices.Clone(r.Evidence)
	c.normalize()
	return &c
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

// open fills in the fields that are in files.
func (r *taskRecord) open(b *blobs) (Task, error) {
	t := r.clone().Task
	for field, ref := range r.Files {
		text, err := b.read(ref)
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

// open fills in the fields that are in files.
func (r *messageRecord) open(b *blobs) (Message, error) {
	m := r.Message
	for field, ref := range r.Files {
		text, err := b.read(ref)
		if err != nil {
			return Message{}, fmt.Errorf("message %s, %s: %w", r.ID, field, err)
		}
		if field == "data" {
			m.Data = json.RawMessage(text)
		} else {
			m.Text = text
		}
	}
	return m, nil
}

// decode reads a record. What cannot be read is ErrCorrupt.
func decode[R any](what string, data []byte) (*R, error) {
	r := new(R)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrCorrupt, what, err)
	}
	return r, nil
}

// decodeTask is decode for tasks, with lists that print as lists.
func decodeTask(what string, data []byte) (*taskRecord, error) {
	r, err := decode[taskRecord](what, data)
	if err != nil {
		return nil, err
	}
	r.normalize()
	return r, nil
}
