package term

import (
	"bufio"
	"slices"
)

// MinColumn is how narrow a column may become before a row is simply cut. Below
// that a column tells nothing any more, and a cut line is the lesser evil.
const MinColumn = 6

// Cell is one field of a table. The text is made plain and put on one line by
// add, so that callers can pass on what agents have written.
type Cell struct {
	Text  string
	Style Style
}

// Table is rows of cells under a heading. It has no borders: they cost width,
// and a pipe would have to be rid of them.
type Table struct {
	Head []string
	Rows [][]Cell
}

// Add appends a row. An empty cell shows as "-", so that columns can be told
// apart in a pipe, too. A row has as many cells as the heading: print looks
// each one's width up there.
func (t *Table) Add(cells ...Cell) {
	for i := range cells {
		cells[i].Text = PlainLine(cells[i].Text)
		if cells[i].Text == "" {
			cells[i].Text = "-"
		}
	}
	t.Rows = append(t.Rows, cells)
}

// Print lays the table out: aligned columns two blanks apart, and on a terminal
// no wider than that.
func (t *Table) Print(s *Screen) {
	width, _ := s.Size()
	widths := t.widths()
	if width > 0 {
		shrink(widths, width-2*(len(widths)-1))
	}
	head := make([]Cell, len(t.Head))
	for i, h := range t.Head {
		head[i] = Cell{h, Bold}
	}
	// A write for each row of a long table would take longer than the table, and one for
	// all of it would hold it a second time.
	w := bufio.NewWriterSize(s.Writer, 1<<16)
	s.row(w, head, widths)
	for _, row := range t.Rows {
		s.row(w, row, widths)
	}
	_ = w.Flush() // as printf: only who prints for long needs to know that nobody reads
}

// widths are the columns' natural widths. Width is counted in columns of a
// terminal, not in bytes or characters: Chinese and emoji take two.
func (t *Table) widths() []int {
	widths := make([]int, len(t.Head))
	for i, h := range t.Head {
		widths[i] = textWidth(h)
	}
	for _, row := range t.Rows {
		for i, c := range row {
			widths[i] = max(widths[i], textWidth(c.Text))
		}
	}
	return widths
}

// row lays out one line of a table. The last column is not filled up, so that
// no line ends in blanks. Cells are cut before they are painted, so that no
// escape sequence is cut off.
func (s *Screen) row(w *bufio.Writer, cells []Cell, widths []int) {
	for i, c := range cells {
		text := Fit(c.Text, widths[i])
		w.WriteString(s.Paint(c.Style, text))
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
		if sum <= room || widths[widest] <= MinColumn {
			return
		}
		widths[widest]--
	}
}

// Column is one column of a table of things: its heading and each one's cell. A hidden
// column is left out.
type Column[T any] struct {
	Head   string
	Cell   func(T) Cell
	Hidden bool
}

// TableOf is a table with a row for each thing.
func TableOf[T any](things []T, columns ...Column[T]) *Table {
	columns = slices.DeleteFunc(columns, func(c Column[T]) bool { return c.Hidden })
	t := &Table{}
	for _, c := range columns {
		t.Head = append(t.Head, c.Head)
	}
	for _, thing := range things {
		row := make([]Cell, len(columns))
		for i, c := range columns {
			row[i] = c.Cell(thing)
		}
		t.Add(row...)
	}
	return t
}

// Text is a column without colours.
func Text[T any](head string, text func(T) string) Column[T] {
	return Column[T]{Head: head, Cell: func(thing T) Cell { return Cell{Text: text(thing)} }}
}
