package kv

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Long is a payload on its way into a record: the text itself, or its file.
type Long struct {
	Text string
	File *BlobRef
}

// Pack cleans a text and moves it to a file if it is long. A packed text can be
// stored as it is. What was packed for a change that is refused is removed
// again, whoever refused it.
func (c *Job) Pack(text string) (Long, error) {
	text = Clean(text)
	if len(text) <= InlineLimit {
		return Long{Text: text}, nil
	}
	if c.db.opts.ReadOnly {
		return Long{}, ErrReadOnly
	}
	ref, err := c.db.opts.Blobs.write(text)
	if err != nil {
		return Long{}, err
	}
	c.written = append(c.written, ref.Name)
	return Long{File: &ref}, nil
}

// PackJSON is Pack for a JSON value.
func (c *Job) PackJSON(what string, data json.RawMessage) (Long, error) {
	data, err := CleanJSON(what, data)
	if err != nil {
		return Long{}, err
	}
	return c.Pack(string(data))
}

// Files says which fields of a record are in files.
type Files map[string]BlobRef

// Put notes where the field is, and gives the text that stays in the record.
func (f *Files) Put(field string, l Long) string {
	if l.File == nil {
		delete(*f, field)
		return l.Text
	}
	if *f == nil {
		*f = Files{}
	}
	(*f)[field] = *l.File
	return ""
}

// Text gives the text of a field: inline, or what its file holds.
func (f Files) Text(b *Blobs, field, inline string) (string, error) {
	ref, inFile := f[field]
	if !inFile {
		return inline, nil
	}
	text, err := b.Read(ref)
	if err != nil {
		return "", fmt.Errorf("%s: %w", field, err)
	}
	return text, nil
}

// Blobs lists the files, each once.
func (f Files) Blobs() []BlobRef {
	list := make([]BlobRef, 0, len(f))
	for _, ref := range f {
		list = append(list, ref)
	}
	return Distinct(list)
}

// Distinct sorts references and drops repeated ones.
func Distinct(list []BlobRef) []BlobRef {
	slices.SortFunc(list, func(a, b BlobRef) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Size, b.Size))
	})
	return slices.Compact(list)
}

// MayHoldFiles says whether a stored record may refer to payload files, without
// decoding it: within a JSON string the quotes would be escaped.
func MayHoldFiles(record []byte) bool { return bytes.Contains(record, []byte(`"blob":"`)) }
