package main

import (
	"bufio"

	"github.com/charmbracelet/x/ansi"
)

// minColumn is how narrow a column may become before a row is simply cut. Below
// that a column tells nothing any more, and a cut line is the lesser evil.
const minColumn = 6

// cell is one field of a table. The text is made plain and put on one line by
// add, so that callers can pass on what agents have written.
type cell struct {
	text  string
	style style
}

// table is rows of cells under a heading. It has no borders: they cost width,
// and a pipe would have to be rid of them.
type table struct {
	head []string
	rows [][]cell
}

// add appends a row. An empty cell shows as "-", so that columns can be told
// apart in a pipe, too. A row has as many cells as the heading: print looks
// each one's width up there.
func (t *table) add(cells ...cell) {
	for i := range cells {
		cells[i].text = plainLine(cells[i].text)
		if cells[i].text == "" {
			cells[i].text = "-"
		}
	}
	t.rows = append(t.rows, cells)
}

// print lays the table out: aligned columns two blanks apart, and on a terminal
// no wider than that.
func (t *table) print(s *screen) {
	width, _ := s.size()
	widths := t.widths()
	if width > 0 {
		shrink(widths, width-2*(len(widths)-1))
	}
	head := make([]cell, len(t.head))
	for i, h := range t.head {
		head[i] = cell{h, bold}
	}
	// A write for each row of a long table would take longer than the table, and one for
	// all of it would hold it a second time.
	w := bufio.NewWriterSize(s.w, 1<<16)
	s.row(w, head, widths)
	for _, row := range t.rows {
		s.row(w, row, widths)
	}
	_ = w.Flush() // as printf: only who prints for long needs to know that nobody reads
}

// widths are the columns' natural widths. Width is counted in columns of a
// terminal, not in bytes or characters: Chinese and emoji take two.
func (t *table) widths() []int {
	widths := make([]int, len(t.head))
	for i, h := range t.head {
		widths[i] = textWidth(h)
	}
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], textWidth(c.text))
		}
	}
	return widths
}

// textWidth is how many columns of a terminal one line of text takes.
func textWidth(text string) int {
	if isASCII(text) {
		return len(text)
	}
	return ansi.StringWidth(text)
}

// row lays out one line of a table. The last column is not filled up, so that
// no line ends in blanks. Cells are cut before they are painted, so that no
// escape sequence is cut off.
func (s *screen) row(w *bufio.Writer, cells []cell, widths []int) {
	for i, c := range cells {
		text := fit(c.text, widths[i])
		w.WriteString(s.paint(c.style, text))
		for n := textWidth(text) - 2; i < len(cells)-1 && n < widths[i]; n++ {
			w.WriteByte(' ')
		}
	}
	w.WriteByte('\n')
}

// shrink takes columns from the widest one until all fit into room, but makes
// none narrower than minColumn. Taking from the widest keeps short columns
// whole, and those are mostly the ones that things are told apart by: ids,
// names, states. room is in columns and may be negative. When all are at
// minColumn the table is wider than the terminal, which wraps it: better than
// columns of one letter.
func shrink(widths []int, room int) {
	for {
		sum, widest := 0, 0
		for i, w := range widths {
			sum += w
			if w > widths[widest] {
				widest = i
			}
		}
		if sum <= room || widths[widest] <= minColumn {
			return
		}
		widths[widest]--
	}
}

// fit cuts one line of text to width columns, with a mark where it was cut. The
// text may be painted: escape sequences count as nothing and stay, so that what
// was set off is also reset. Nothing is wider than its width, not even the
// mark.
func fit(text string, width int) string {
	if len(text) <= width && isASCII(text) {
		return text
	}
	return ansi.Truncate(text, max(width, 0), "…")
}
