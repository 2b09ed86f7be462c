package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits on what a change may hold. Only long texts go to files of their
// own, so everything else has to be of a size that fits into a transaction.
const (
	// inlineLimit is the size in bytes above which a payload goes to a file.
	inlineLimit = 64 << 10
	// maxSubject bounds subjects, active forms and summaries, in bytes.
	maxSubject = 16 << 10
	// maxList bounds how many labels, tools, metadata keys or recipients one change names.
	maxList = 1000
	// maxName bounds the names of members, labels, tools and keys, in bytes.
	maxName = 256
)

// clean makes text that every reader can show: invalid UTF-8 and NUL, which
// some of them cut off at, become U+FFFD.
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// cleanShort is clean for a field that must stay short.
func cleanShort(field, s string) (string, error) {
	if len(s) > maxSubject {
		return "", fmt.Errorf("%w: the %s has %d bytes, at most %d are allowed; "+
			"put the rest into the description or text", ErrInvalid, field, len(s), maxSubject)
	}
	return clean(s), nil
}

// checkName refuses what cannot be the name of a member or a key: it must be
// there, short, and printable enough to stand in a database key and a log.
func checkName(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%w: no %s given", ErrInvalid, what)
	case len(s) > maxName:
		return fmt.Errorf("%w: %s of %d bytes, at most %d are allowed", ErrInvalid, what, len(s), maxName)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%w: %s %q holds control bytes or is not UTF-8", ErrInvalid, what, s)
	}
	return nil
}

// cleanList cleans each entry of a short list. The result is never nil, so
// that JSON shows [].
func cleanList(what string, list []string) ([]string, error) {
	if len(list) > maxList {
		return nil, fmt.Errorf("%w: %d %ss, at most %d are allowed", ErrInvalid, len(list), what, maxList)
	}
	out := make([]string, 0, len(list))
	for _, s := range list {
		if err := checkName(what, clean(s)); err != nil {
			return nil, err
		}
		out = append(out, clean(s))
	}
	return out, nil
}

// cleanJSON checks that data is one JSON value and gives it compact and in
// valid UTF-8. Empty data stays nil.
func cleanJSON(what string, data json.RawMessage) (json.RawMessage, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, bytes.ToValidUTF8(data, []byte("\uFFFD"))); err != nil {
		return nil, fmt.Errorf("%w: %s is not JSON: %v", ErrInvalid, what, err)
	}
	return b.Bytes(), nil
}

// sortedKeys gives the keys of a metadata map in an order that does not change.
func sortedKeys[V any](m map[string]V) ([]string, error) {
	if len(m) > maxList {
		return nil, fmt.Errorf("%w: %d metadata keys, at most %d are allowed", ErrInvalid, len(m), maxList)
	}
	keys := slices.Sorted(maps.Keys(m))
	for _, k := range keys {
		if err := checkName("metadata key", k); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// oneLine gives the start of s as one short line, for summaries.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}
