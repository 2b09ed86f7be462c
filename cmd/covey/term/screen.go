// Package term prints for people and for programs: colours, tables and wrapped text
// on a terminal, plain lines on a pipe, JSON on both. It makes foreign text harmless
// for terminals. It knows nothing about teams, and makes no promise of compatibility
// to programs outside covey.
package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Style is the parameter of an SGR sequence, which highlights a text on a terminal.
// The zero style is plain text. Only the sixteen colours that every terminal has are
// used, because people have adapted them to their background.
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

// Screen is where a command prints: a terminal with colour and layout, or a pipe with
// plain lines. Colour may be off on a terminal, too; the layout depends on the
// terminal alone.
type Screen struct {
	Writer io.Writer
	File   *os.File // Writer, if it is a terminal
	Color  bool
	// Mask, if it is set, replaces secrets in what people read.
	Mask func(text string) string
}

// Masked returns a text without the secrets that Mask knows.
func (s *Screen) Masked(text string) string {
	if s.Mask == nil {
		return text
	}
	return s.Mask(text)
}

// NewScreen returns the screen for w. NO_COLOR and TERM=dumb switch colours off.
func NewScreen(w io.Writer) *Screen {
	s := &Screen{Writer: w}
	if !IsTerminal(w) {
		return s
	}
	s.File = w.(*os.File)
	s.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

// IsTerminal reports whether a stream is a terminal. A stream that is not a file, as
// in tests, is none.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TTY reports whether the screen is a terminal.
func (s *Screen) TTY() bool { return s.File != nil }

// Draws reports whether the screen is a terminal on which a frame can be drawn: one of type dumb
// cannot place the cursor.
func (s *Screen) Draws() bool { return s.TTY() && os.Getenv("TERM") != "dumb" }

// Size returns the terminal's present size in columns and rows; 0, 0 on a pipe, where
// nothing is cut. If a terminal does not report its size, as in some containers, it
// is 80 by 24.
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

// Paint highlights text if colours are on. The reset at the end undoes everything, so
// painted texts must not be nested.
func (s *Screen) Paint(st Style, text string) string {
	if !s.Color || st == Normal || text == "" {
		return text
	}
	return "\x1b[" + string(st) + "m" + text + "\x1b[0m"
}

// Printf prints to the screen. Foreign text among args must be plain already. It
// ignores write errors, which matter only to commands that print for long.
func (s *Screen) Printf(format string, args ...any) {
	if s.Mask == nil {
		fmt.Fprintf(s.Writer, format, args...)
		return
	}
	fmt.Fprint(s.Writer, s.Mask(fmt.Sprintf(format, args...)))
}

// Show prints v as JSON, or calls text to print it for people.
func (s *Screen) Show(asJSON bool, v any, text func()) error {
	if asJSON {
		return s.JSON(v)
	}
	text()
	return nil
}

// JSONFormat is the version of the JSON that commands print. New fields do not change it.
const JSONFormat = 1

// JSON prints v as one JSON document. It is indented even on a pipe, because people
// read it while they write the program that will. Streams of JSON have one object a
// line instead; see CompactJSON. Each document, or each object of a list, says its
// JSONFormat. The error is that of the stream.
func (s *Screen) JSON(v any) error {
	text, err := CompactJSON(v)
	if err == nil {
		text, err = withFormat(text)
	}
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := json.Indent(&buf, text, "", "  "); err != nil {
		return err
	}
	_, err = s.Writer.Write(buf.Bytes())
	return err
}

// withFormat adds the format to a JSON object or to the objects of a list. Other values
// stay as they are: they have no place for it. It is done to the text and not to the types,
// so that no command can forget it; a list stays a list, because programs read it as one.
func withFormat(text []byte) ([]byte, error) {
	if bytes.HasPrefix(text, []byte("[")) {
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, err
		}
		for i := range list {
			list[i] = formatted(list[i])
		}
		return CompactJSON(list)
	}
	return formatted(text), nil
}

// formatted adds the format to a JSON object, as its first field.
func formatted(text []byte) []byte {
	rest, object := bytes.CutPrefix(text, []byte("{"))
	if !object {
		return text
	}
	comma := ","
	if bytes.HasPrefix(rest, []byte("}")) {
		comma = ""
	}
	return append(fmt.Appendf(nil, `{"format":%d%s`, JSONFormat, comma), rest...)
}

// CompactJSON returns v on one line without HTML escapes, as in journals. Characters
// that a terminal might obey are escaped. It fails for values that JSON cannot
// represent.
func CompactJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return plainJSON(buf.Bytes()), nil
}

// Restorer saves the state of the terminal, and returns a function that restores it.
func (s *Screen) Restorer() func() {
	state, err := term.GetState(int(s.File.Fd()))
	if err != nil {
		return func() {}
	}
	return func() { _ = term.Restore(int(s.File.Fd()), state) }
}
