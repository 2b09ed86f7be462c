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

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// Limits of one Read.
const (
	readLines  = 2000    // lines, by default
	readWidth  = 2000    // characters of one line
	readBytes  = 200_000 // bytes of all lines
	binaryHead = 8000    // bytes in which a zero byte makes a file binary, as for git
)

// page is a range of a file's lines. A file that ends with a line feed has an empty last
// line, as in recorded hosts.
type page struct {
	from, count int // the first line, from 1, and the largest number of lines

	lines []string
	// total is how many lines the whole file has.
	total int
	// size is the number of bytes in lines; full says that readBytes ended the page
	// before count did.
	size int
	full bool
}

// read reads all of r, because hooks get the number of lines, but keeps only the page.
func (p *page) read(ctx context.Context, r io.Reader) error {
	// Text in encodings with zero bytes, such as UTF-16, counts as binary: showing it
	// as UTF-8 would be worse.
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
		// Lines outside the page are only counted.
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

// keep adds a line unless the page would get too large. The first line always fits.
func (p *page) keep(line string) {
	if p.size += len(line) + 1; p.size > readBytes && len(p.lines) > 0 {
		p.full = true
		return
	}
	p.lines = append(p.lines, line)
}

// line reads up to the next line feed. If wanted, it returns the line in valid UTF-8, cut
// to readWidth; otherwise it returns nil. It keeps no more of a line than can be shown,
// however long it is.
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

// cutLine shortens a line of length bytes; line is its beginning.
func cutLine(line string, length int) string {
	line = strings.ToValidUTF8(line, "\uFFFD")
	if len(line) <= readWidth {
		return line
	}
	short := texts.Runes(line, readWidth)
	if len(short) == len(line) {
		return line
	}
	return fmt.Sprintf("%s… (cut: the line has %d bytes)", short, length)
}

// result returns Read's result.
func (p *page) result(path string) agent.ToolResult {
	// An offset beyond the end is an error, which an empty page would hide.
	if p.from > p.total {
		return agent.Failed("Read: %s has %d lines only; choose a smaller offset.", path, p.total)
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

// text numbers the lines, and says if there are more. It uses only the response, because
// a hook may have changed that.
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
