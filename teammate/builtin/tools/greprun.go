package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// grepLine is the length in bytes of the longest line that Grep reads and, in multiline
// mode, of the largest file.
const grepLine = 64 << 20

// grepRun collects the results of one Grep. It reads one file and one line at a time,
// so that a file of any size needs little memory.
type grepRun struct {
	in   grepInput
	expr *regexp.Regexp
	show func(path string) string

	files  []found  // files with a match
	counts []string // name:matches of each
	lines  []string // output of content mode
	bytes  int      // size of lines
	total  int      // matches in all files
	full   bool     // lines has reached its limit

	// The fields below describe the current file.
	name    string
	matches int
	number  int      // of the last line seen
	printed int      // number of the last line shown; 0: none yet
	after   int      // lines of context still to show
	before  []string // the last lines not shown, at most in.Before
}

// begin starts a new file.
func (g *grepRun) begin(name string) {
	g.name, g.matches, g.number, g.printed, g.after = name, 0, 0, 0, 0
	g.before = g.before[:0]
}

// scan searches a file. Binary files have no matches.
func (g *grepRun) scan(ctx context.Context, r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	if head, _ := in.Peek(binaryHead); bytes.IndexByte(head, 0) >= 0 {
		return nil
	}
	if g.in.Multiline {
		return g.scanWhole(in)
	}
	// long collects a line that is longer than the buffer. Other lines are searched in
	// the buffer without a copy.
	var long []byte
	for !g.full {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) || len(long) > 0 {
			long = append(long, line...)
			if line = long; len(long) > grepLine {
				return bufio.ErrTooLong
			}
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		// Unlike Read, grep counts no line after the last line feed.
		if len(line) > 0 && g.line(line) {
			return nil
		}
		long = long[:0]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// line searches the next line of the file. It returns true if the rest of the file does not matter.
func (g *grepRun) line(line []byte) bool {
	g.number++
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	at := g.expr.FindIndex(line)
	if at != nil {
		g.matches++
	}
	switch g.in.OutputMode {
	case filesMode: // one match is enough
		return at != nil
	case contentMode:
		g.addLine(line, at)
	}
	return false
}

// scanWhole searches a file whose matches may span lines. It finds all matches first,
// and then shows each line that a match touches.
func (g *grepRun) scanWhole(r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, grepLine+1))
	if err != nil {
		return err
	}
	if len(data) > grepLine {
		return bufio.ErrTooLong // counted as an unreadable file
	}
	spans := g.expr.FindAllIndex(data, -1)
	g.matches = len(spans)
	if g.matches == 0 || g.in.OutputMode != contentMode {
		return nil
	}
	begin := 0
	for line := range bytes.Lines(data) {
		g.number++
		end := begin + len(line)
		// Drop matches that end above this line.
		for len(spans) > 0 && spans[0][1] <= begin && spans[0][0] < begin {
			spans = spans[1:]
		}
		var at []int
		if len(spans) > 0 && spans[0][0] < end {
			at = []int{max(spans[0][0]-begin, 0), min(spans[0][1]-begin, len(line))}
		}
		g.addLine(bytes.TrimRight(line, "\r\n"), at)
		begin = end
	}
	return nil
}

// addLine shows a line if it has a match, at at, or is in the context of one.
func (g *grepRun) addLine(line []byte, at []int) {
	switch {
	case at != nil:
		for i, kept := range g.before {
			g.print(g.number-len(g.before)+i, '-', kept)
		}
		g.before = g.before[:0]
		g.print(g.number, ':', cutAround(line, at))
		g.after = g.in.After
	case g.after > 0:
		g.after--
		g.print(g.number, '-', cutAround(line, nil))
	case g.in.Before > 0: // it may be context of the next match
		if len(g.before) == g.in.Before {
			g.before = append(g.before[:0], g.before[1:]...)
		}
		g.before = append(g.before, cutAround(line, nil))
	}
}

// print adds one line in the format of grep: a colon marks a match, a minus a line of
// context, and two minuses a gap.
func (g *grepRun) print(number int, mark byte, line string) {
	if g.full {
		return
	}
	// Without context there is no separator between matches.
	context := g.in.Before > 0 || g.in.After > 0
	if context && len(g.lines) > 0 && (g.printed == 0 || number > g.printed+1) {
		g.lines = append(g.lines, "--")
	}
	g.printed = number
	if g.in.Numbers {
		line = fmt.Sprintf("%s%c%d%c%s", g.name, mark, number, mark, line)
	} else {
		line = fmt.Sprintf("%s%c%s", g.name, mark, line)
	}
	g.lines = append(g.lines, line)
	g.bytes += len(line) + 1
	g.full = g.in.HeadLimit > 0 && len(g.lines) >= g.in.HeadLimit || g.bytes >= grepBytes
}

// cutAround returns line as valid UTF-8, cut to grepWidth characters around the match
// at at, which may be nil. A minified file is one line of megabytes, of which the part
// around the match is useful.
func cutAround(line []byte, at []int) string {
	if len(line) <= grepWidth {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	// A quarter of the width is for the text before the match.
	from := 0
	if at != nil && at[0] > grepWidth/2 {
		from = at[0] - grepWidth/4
		for from > 0 && !utf8.RuneStart(line[from]) {
			from--
		}
	}
	part := strings.ToValidUTF8(string(line[from:min(len(line), from+grepWidth*utf8.UTFMax)]), "\uFFFD")
	short := texts.Runes(part, grepWidth)
	if from > 0 {
		short = "… " + short
	}
	if from+len(short) < len(line) {
		short += fmt.Sprintf(" … (cut: the line has %d bytes)", len(line))
	}
	return short
}

// result returns Grep's result. Files are listed newest first, because recent files are
// most likely to matter; counts and lines are in the order of names.
func (g *grepRun) result(notes string) agent.ToolResult {
	output := grepOutput{Mode: g.in.OutputMode, NumFiles: len(g.files), Filenames: []string{}}
	// A walk that ended early has no total.
	if g.in.OutputMode == contentMode {
		output.Content, output.NumLines = strings.Join(g.lines, "\n"), len(g.lines)
		text := output.Content
		if g.full {
			text += fmt.Sprintf("\n(cut after %d lines; there may be more: use a narrower pattern, a "+
				"path or a glob)",
				len(g.lines))
		}
		return Success(orNothing(text)+notes, output)
	}
	entries := g.counts
	if g.in.OutputMode == filesMode {
		newest(g.files)
		entries = nil
		for _, f := range g.files {
			entries = append(entries, f.path)
		}
		output.Filenames = append(output.Filenames, head(entries, g.in.HeadLimit)...)
	}
	text := strings.Join(head(entries, g.in.HeadLimit), "\n")
	if left := len(entries) - len(head(entries, g.in.HeadLimit)); left > 0 {
		text += fmt.Sprintf("\n(and %d more files)", left)
	}
	if g.in.OutputMode == countMode {
		output.NumMatches, output.Content = g.total, text
		if g.total > 0 {
			text += fmt.Sprintf("\n%d matches in %d files", g.total, len(g.files))
		}
	}
	return Success(orNothing(text)+notes, output)
}

// head returns the first n elements of list, or all if n is 0.
func head(list []string, n int) []string {
	if n == 0 {
		return list
	}
	return list[:min(n, len(list))]
}

// orNothing returns text, or the text for an empty result.
func orNothing(text string) string {
	if text == "" {
		return "No matches found"
	}
	return text
}
