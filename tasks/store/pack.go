package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Long is a payload to be stored in a record: the text itself, or its file.
type Long struct {
	Text string
	File *BlobRef
}

// Pack cleans a text and moves it to a file if it is long. If the change is refused,
// the file is removed again.
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

// Files lists the fields of a record that are in files.
type Files map[string]BlobRef

// Put records where the field is stored, and returns the text that stays in the
// record.
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

// Text returns the text of a field: the inline text, or the content of its file.
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

// Blobs returns the files, each once.
func (f Files) Blobs() []BlobRef {
	list := make([]BlobRef, 0, len(f))
	for _, ref := range f {
		list = append(list, ref)
	}
	return Distinct(list)
}

// Distinct sorts references and drops duplicates.
func Distinct(list []BlobRef) []BlobRef {
	slices.SortFunc(list, func(a, b BlobRef) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Size, b.Size))
	})
	return slices.Compact(list)
}

// MayHoldFiles reports whether a stored record may refer to payload files, without
// decoding it. A match in a JSON string is impossible, because its quotes would be
// escaped.
func MayHoldFiles(record []byte) bool { return bytes.Contains(record, []byte(`"blob":"`)) }
