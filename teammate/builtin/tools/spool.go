package tools

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/coveyteam/covey/hooks/texts"
)

const (
	// spoolMemory is how many bytes of an output stay in memory before it goes to a file.
	spoolMemory = 128 << 10
	// spoolFile is how many bytes of an output a file keeps: `yes` must not fill the disk.
	spoolFile = 64 << 20
)

// spool collects the output of a command. A short one stays in memory; a long one goes to
// a file, and a model sees its beginning and end.
type spool struct {
	dir, name string // the folder of the file, and the start of its name
	// head is all of a short output or the beginning of a long one; tail is the end of a
	// long one. Neither exceeds a small multiple of spoolMemory.
	head, tail []byte
	size       int64 // bytes written so far
	file       *os.File
	kept       int64 // bytes in the file
	err        error // why the file is incomplete
}

// Write never fails: a command must not fail because its output cannot be stored.
func (s *spool) Write(p []byte) (int, error) {
	n := len(p)
	s.size += int64(n)
	if s.file == nil && s.err == nil {
		room := min(n, spoolMemory-len(s.head))
		s.head = append(s.head, p[:room]...)
		if p = p[room:]; len(p) == 0 {
			return n, nil
		}
		s.spill()
	}
	s.keep(p)
	s.tail = append(s.tail, p...)
	if over := len(s.tail) - spoolMemory; over > spoolMemory {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	return n, nil
}

// spill opens the file and writes to it what is in memory.
func (s *spool) spill() {
	if s.file, s.err = os.CreateTemp(s.dir, s.name+"-*.txt"); s.err == nil {
		s.keep(s.head)
	}
}

// keep writes p to the file up to its limit. After an error it writes nothing more: a file
// with a gap would be taken for the whole output.
func (s *spool) keep(p []byte) {
	p = p[:min(int64(len(p)), spoolFile-s.kept)]
	if s.err != nil || len(p) == 0 {
		return
	}
	n, err := s.file.Write(p)
	s.kept, s.err = s.kept+int64(n), err
}

// text returns at most limit characters of the output for a model and, if that is not all,
// the path of the file with the whole. It closes the file; do not write afterwards.
func (s *spool) text(limit int) (text, path string) {
	if s.file == nil && s.err == nil {
		text = strings.TrimRight(strings.ToValidUTF8(string(s.head), "\uFFFD"), "\r\n")
		if utf8.RuneCountInString(text) <= limit {
			return text, ""
		}
		s.spill()
	}
	if s.file != nil {
		path = s.file.Name()
		if err := s.file.Close(); s.err == nil {
			s.err = err
		}
	}
	// If little came after the head, the end of the output includes the end of the head.
	// The two may then overlap in the text, which is better than a gap.
	end := s.tail
	if len(end) < spoolMemory { // the end of the head belongs to it
		end = append(s.head[max(0, len(s.head)-spoolMemory):len(s.head):len(s.head)], end...)
	}
	first := texts.Runes(strings.ToValidUTF8(string(s.head), "\uFFFD"), limit/2)
	last := lastRunes(strings.ToValidUTF8(string(end), "\uFFFD"), limit/2)
	last = strings.TrimRight(last, "\r\n")
	return first + s.gap(path) + last, path
}

// gap returns the text between the beginning and the end of a long output.
func (s *spool) gap(path string) string {
	switch {
	case s.err != nil:
		return fmt.Sprintf("\n… (the output has %d bytes; it could not be kept: %v) …\n", s.size,
			cause(s.err))
	case s.kept < s.size:
		return fmt.Sprintf("\n… (the output has %d bytes; the first %d are in %s) …\n", s.size, s.kept,
			path)
	default:
		return fmt.Sprintf("\n… (the output has %d bytes; all of it is in %s) …\n", s.size, path)
	}
}

// lastRunes returns the last n characters of s.
func lastRunes(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}
