// Package term prints for people and for programs: colours, tables and wrapped text on
// a terminal, plain lines on a pipe, JSON on both. It makes foreign text harmless for
// terminals. It knows nothing of teams, and makes no promise of compatibility to
// programs outside of covey.
package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Style is an SGR sequence's parameter: how a piece of text is set off on a
// terminal. The zero style is plain text. Only the sixteen colours that every
// terminal has are used: people have chosen what these look like, and what can
// be read on their background.
type Style string

// The styles in use.
const (
	Normal Style = ""
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
)

// Screen is where a command prints: a terminal with colour and layout, or a
// pipe with plain lines. Colour may be off on a terminal, too, but the layout
// depends on the terminal alone: a narrow window needs cut lines whether they
// are coloured or not.
type Screen struct {
	Writer io.Writer
	File   *os.File // w, if it is a terminal
	Color  bool
}

// NewScreen looks at w once. NO_COLOR and TERM=dumb switch colours off.
func NewScreen(w io.Writer) *Screen {
	s := &Screen{Writer: w}
	if !IsTerminal(w) {
		return s
	}
	s.File = w.(*os.File)
	s.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

// IsTerminal tells whether a stream is a terminal. Streams that are no files,
// as in tests, are none.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TTY tells whether a person reads along.
func (s *Screen) TTY() bool { return s.File != nil }

// Size is the terminal's size now, in columns and rows; 0, 0 on a pipe, where
// nothing is cut. A terminal that does not tell, as some in containers do, is
// taken for one of 80 columns and 24 rows.
func (s *Screen) Size() (width, height int) {
	if s.File == nil {
		return 0, 0
	}
	width, height, err := term.GetSize(int(s.File.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// Paint sets text off in st where colours are shown. The reset at the end
// undoes everything, so painted texts are never nested: the inner one would end
// the outer.
func (s *Screen) Paint(st Style, text string) string {
	if !s.Color || st == Normal || text == "" {
		return text
	}
	return "\x1b[" + string(st) + "m" + text + "\x1b[0m"
}

// Printf prints to the screen. Foreign text among args must be plain already.
// That nobody reads any more is not noticed here, since only those
// who print for long need to know.
func (s *Screen) Printf(format string, args ...any) {
	fmt.Fprintf(s.Writer, format, args...)
}

// Show prints v as JSON or, for people, in the way that text has.
func (s *Screen) Show(asJSON bool, v any, text func()) error {
	if asJSON {
		return s.JSON(v)
	}
	text()
	return nil
}

// JSON prints v as one JSON document, indented for people. It is indented even
// on a pipe: a person reads it while the program that will read it is still
// being written. Streams of JSON are one object a line instead: see
// CompactJSON. The error is that of the stream; v is a value of ours, which
// always encodes.
func (s *Screen) JSON(v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := s.Writer.Write(plainJSON(buf.Bytes()))
	return err
}

// CompactJSON is v on one line without HTML escapes, as journals have it. The
// error is that of values which JSON has no form for. Characters that a
// terminal might obey are escaped, for the line may end up on one.
func CompactJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return plainJSON(buf.Bytes()), nil
}

// Restorer notes the state of the terminal, and returns what brings it back.
func (s *Screen) Restorer() func() {
	state, err := term.GetState(int(s.File.Fd()))
	if err != nil {
		return func() {}
	}
	return func() { _ = term.Restore(int(s.File.Fd()), state) }
}
