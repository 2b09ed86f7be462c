package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of a change. Only long texts go to files of their own, so everything else
// must fit into a transaction.
const (
	// InlineLimit is the size in bytes above which a payload goes to a file.
	InlineLimit = 64 << 10
	// MaxShort bounds subjects, active forms and summaries, in bytes.
	MaxShort = 16 << 10
	// MaxList bounds how many labels, tools, metadata keys or recipients one change names.
	MaxList = 1000
	// MaxName bounds the names of members, labels, tools and keys, in bytes.
	MaxName = 256
)

// Clean returns text that every reader can show: invalid UTF-8 and NUL, at which some
// readers stop, become U+FFFD.
func Clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// CleanShort is Clean for a field that must be short.
func CleanShort(field, s string) (string, error) {
	if len(s) > MaxShort {
		return "", fmt.Errorf("%w: the %s has %d bytes, at most %d are allowed; "+
			"put the rest into the description or text", ErrInvalid, field, len(s), MaxShort)
	}
	return Clean(s), nil
}

// CheckName rejects what cannot be the name of a member or a key. A name must be
// nonempty, short, and printable enough for a database key and a log.
func CheckName(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%w: no %s given", ErrInvalid, what)
	case len(s) > MaxName:
		return fmt.Errorf("%w: %s of %d bytes, at most %d are allowed", ErrInvalid, what, len(s), MaxName)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%w: %s %q holds control bytes or is not UTF-8", ErrInvalid, what, s)
	}
	return nil
}

// CleanList cleans each entry of a short list. The result is never nil, so that it
// encodes as [].
func CleanList(what string, list []string) ([]string, error) {
	if len(list) > MaxList {
		return nil, fmt.Errorf("%w: %d %ss, at most %d are allowed", ErrInvalid, len(list), what, MaxList)
	}
	out := make([]string, 0, len(list))
	for _, s := range list {
		if err := CheckName(what, Clean(s)); err != nil {
			return nil, err
		}
		out = append(out, Clean(s))
	}
	return out, nil
}

// CleanJSON checks that data is one JSON value and returns it compact and in valid
// UTF-8. Empty data becomes nil.
func CleanJSON(what string, data json.RawMessage) (json.RawMessage, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, bytes.ToValidUTF8(data, []byte("\uFFFD"))); err != nil {
		return nil, fmt.Errorf("%w: %s is not JSON: %v", ErrInvalid, what, err)
	}
	return b.Bytes(), nil
}

// OneLine returns the start of s as one short line, for summaries.
func OneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// Clip shortens a caller's text for an error message.
func Clip(s string) string { return OneLine(Clean(s), 80) }

// Unique drops duplicates and keeps the order. The result is never nil.
func Unique(list []string) []string {
	seen := make(map[string]bool, len(list))
	out := make([]string, 0, len(list))
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
