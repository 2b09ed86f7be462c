package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// style is an SGR sequence's parameter: how a piece of text is set off on a
// terminal. The zero style is plain text. Only the sixteen colours that every
// terminal has are used: people have chosen what these look like, and what can
// be read on their background.
type style string

// The styles in use.
const (
	normal style = ""
	bold   style = "1"
	faint  style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// screen is where a command prints: a terminal with colour and layout, or a
// pipe with plain lines. Colour may be off on a terminal, too, but the layout
// depends on the terminal alone: a narrow window needs cut lines whether they
// are coloured or not.
type screen struct {
	w     io.Writer
	file  *os.File // w, if it is a terminal
	color bool
}

// newScreen looks at w once. NO_COLOR and TERM=dumb switch colours off.
func newScreen(w io.Writer) *screen {
	s := &screen{w: w}
	if !isTerminal(w) {
		return s
	}
	s.file = w.(*os.File)
	s.color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

// isTerminal tells whether a stream is a terminal. Streams that are no files,
// as in tests, are none.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// tty tells whether a person reads along.
func (s *screen) tty() bool { return s.file != nil }

// size is the terminal's size now, in columns and rows; 0, 0 on a pipe, where
// nothing is cut. A terminal that does not tell, as some in containers do, is
// taken for one of 80 columns and 24 rows.
func (s *screen) size() (width, height int) {
	if s.file == nil {
		return 0, 0
	}
	width, height, err := term.GetSize(int(s.file.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// paint sets text off in st where colours are shown. The reset at the end
// undoes everything, so painted texts are never nested: the inner one would end
// the outer.
func (s *screen) paint(st style, text string) string {
	if !s.color || st == normal || text == "" {
		return text
	}
	return "\x1b[" + string(st) + "m" + text + "\x1b[0m"
}

// printf prints to the screen. Foreign text among args must be plain already.
// That nobody reads any more is noticed only by printEntry, since only those
// who print for long need to know.
func (s *screen) printf(format string, args ...any) {
	fmt.Fprintf(s.w, format, args...)
}

// json prints v as one JSON document, indented for people. It is indented even
// on a pipe: a person reads it while the program that will read it is still
// being written. Streams of JSON are one object a line instead; see
// linePrinter. The error is that of the stream; v is a value of ours, which
// always encodes.
func (s *screen) json(v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := s.w.Write(plainJSON(buf.Bytes()))
	return err
}
