package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/coveyteam/covey/teammate/agent"
)

// What one Read shows at most.
const (
	readLines  = 2000    // lines, unless the call says otherwise
	readWidth  = 2000    // characters of one line
	readBytes  = 200_000 // bytes of all lines
	binaryHead = 8000    // bytes in which a zero byte makes a file binary, as for git
)

// page is a range of a file's lines. Lines are what stands between line feeds,
// so a file that ends with one has an empty last line; recorded hosts count so.
type page struct {
	from, count int // the first line, from 1, and how many at most

	lines []string
	// total is how many lines the whole file has.
	total int
	// size is the bytes of lines; full says that readBytes ended the page
	// before count did.
	size int
	full bool
}

// read goes through all of r, since hooks are told how many lines there are,
// but keeps no more than the page.
func (p *page) read(ctx context.Context, r io.Reader) error {
	// Encodings with zero bytes in plain text, such as UTF-16, count as binary:
	// showing them as if they were UTF-8 would be worse.
	in := bufio.NewReaderSize(r, 64<<10)
	if head, err := in.Peek(binaryHead); bytes.IndexByte(head, 0) >= 0 {
		return errBinary
	} else if err != nil && !errors.Is(err, io.EOF) {
		return cause(err)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		// Lines beyond the page are read to be counted, and not kept.
		p.total++
		line, err := p.line(in, p.total >= p.from && len(p.lines) < p.count && !p.full)
		if line != nil {
			p.keep(*line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return cause(err)
		}
	}
}

// keep adds a line unless the page would get too large. The first always fits.
func (p *page) keep(line string) {
	if p.size += len(line) + 1; p.size > readBytes && len(p.lines) > 0 {
		p.full = true
		return
	}
	p.lines = append(p.lines, line)
}

// line reads up to the next line feed. It returns the line, cut to readWidth
// and in valid UTF-8, if it is wanted, and nil if it is not. Of a line that is
// wanted no more is kept than can be shown, however long it is.
func (p *page) line(in *bufio.Reader, wanted bool) (*string, error) {
	var kept []byte
	length := 0
	for {
		chunk, err := in.ReadSlice('\n')
		length += len(chunk)
		if wanted && len(kept) < readWidth*utf8.UTFMax {
			kept = append(kept, chunk...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if !wanted {
			return nil, err
		}
		line := cutLine(strings.TrimRight(string(kept), "\r\n"), length)
		return &line, err
	}
}

// cutLine shortens a line of length bytes, of which line is the beginning.
func cutLine(line string, length int) string {
	line = strings.ToValidUTF8(line, "\uFFFD")
	if len(line) <= readWidth {
		return line
	}
	short := firstRunes(line, readWidth)
	if len(short) == len(line) {
		return line
	}
	return fmt.Sprintf("%s… (cut: the line has %d bytes)", short, length)
}

// firstRunes is the beginning of s, at most n characters long.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// result is what Read answers.
func (p *page) result(path string) agent.ToolResult {
	// An offset beyond the end is a mistake that an empty page would hide.
	if p.from > p.total {
		return agent.Failed(fmt.Sprintf("Read: %s has %d lines only; choose a smaller offset.", path, p.total))
	}
	output := readOutput{Type: "text", File: readFile{
		FilePath:   path,
		Content:    strings.Join(p.lines, "\n"),
		NumLines:   len(p.lines),
		StartLine:  p.from,
		TotalLines: p.total,
	}}
	return Success(output.text(), output)
}

// text numbers the lines, and says so if there are more. It is made from the
// response alone, since a hook may have changed that.
func (o readOutput) text() string {
	f := o.File
	if f.Content == "" && f.TotalLines <= 1 {
		return "(the file is there, and empty)"
	}
	var text strings.Builder
	next := f.StartLine
	for line := range strings.SplitSeq(f.Content, "\n") {
		if next > f.StartLine {
			text.WriteByte('\n')
		}
		fmt.Fprintf(&text, "%d\t%s", next, line)
		next++
	}
	if next <= f.TotalLines {
		fmt.Fprintf(&text, "\n(lines %d to %d of %d; go on with offset %d)", f.StartLine, next-1,
			f.TotalLines, next)
	}
	return text.String()
}
