package term

import (
	"bufio"
	"slices"
	"strings"
)

// MinColumn is the least width of a column; a table that is still too wide is cut. A
// narrower column would be useless, so a cut line is better.
const MinColumn = 6

// Cell is one field of a table. Add makes its text plain and one line, so that
// callers can pass on what agents have written.
type Cell struct {
	Text  string
	Style Style
}

// Table is rows of cells under a heading. It has no borders, which would cost width
// and disturb programs that read a pipe.
type Table struct {
	Head []string
	Rows [][]Cell
	// Whole wraps cells that do not fit between their words, instead of cutting them.
	Whole bool
}

// Add appends a row, which must have as many cells as the heading. An empty cell
// shows as "-", so that columns can be told apart in a pipe, too.
func (t *Table) Add(cells ...Cell) {
	for i := range cells {
		cells[i].Text = PlainLine(cells[i].Text)
		if cells[i].Text == "" {
			cells[i].Text = "-"
		}
	}
	t.Rows = append(t.Rows, cells)
}

// Print prints the table: aligned columns, two blanks apart, and on a terminal not
// wider than the terminal.
func (t *Table) Print(s *Screen) {
	width, _ := s.Size()
	widths := t.widths(textWidth)
	if room := width - 2*(len(widths)-1); width > 0 {
		if t.Whole {
			shrink(widths, t.widths(longestWord), room)
		}
		shrink(widths, make([]int, len(widths)), room)
	}
	head := make([]Cell, len(t.Head))
	for i, h := range t.Head {
		head[i] = Cell{h, Bold}
	}
	// Writing each row by itself would be slow for a long table, and writing all at
	// once would hold it in memory twice.
	w := bufio.NewWriterSize(s.Writer, 1<<16)
	s.row(w, head, widths)
	for _, row := range t.Rows {
		for t.Whole && row != nil {
			var rest []Cell
			row, rest = split(row, widths)
			s.row(w, row, widths)
			row = rest
		}
		if row != nil {
			s.row(w, row, widths)
		}
	}
	_ = w.Flush() // ignored as in Printf
}

// widths returns the widths of the columns, as of measures their texts, but none below that of its heading.
func (t *Table) widths(of func(string) int) []int {
	widths := make([]int, len(t.Head))
	for i, h := range t.Head {
		widths[i] = textWidth(h)
	}
	for _, row := range t.Rows {
		for i, c := range row {
			widths[i] = max(widths[i], of(c.Text))
		}
	}
	return widths
}

// longestWord returns the width of the longest word of a text.
func longestWord(text string) (width int) {
	for word := range strings.FieldsSeq(text) {
		width = max(width, textWidth(word))
	}
	return width
}

// split returns the first line of a row whose cells are wrapped, and the rest; nil: there is none.
func split(row []Cell, widths []int) (first, rest []Cell) {
	first = slices.Clone(row)
	for i, c := range row {
		lines := Wrapped(c.Text, widths[i], widths[i])
		first[i].Text = lines[0]
		if len(lines) > 1 {
			if rest == nil {
				rest = make([]Cell, len(row))
			}
			rest[i] = Cell{strings.TrimSpace(c.Text[max(len(lines[0]), 1):]), c.Style}
		}
	}
	return first, rest
}

// row prints one line of a table. The last column is not padded, so that no line ends
// in blanks. Cells are cut before they are painted, so that no escape sequence is
// cut.
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

// shrink narrows the widest columns until all fit into room, but none below its least
// width and MinColumn. That keeps short columns such as ids, names and states whole. room is in
// columns and may be negative. If all columns are at MinColumn, the table stays wider
// than the terminal, which wraps it.
func shrink(widths, least []int, room int) {
	for {
		sum, widest := 0, -1
		for i, w := range widths {
			sum += w
			if w > max(least[i], MinColumn) && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if sum <= room || widest < 0 {
			return
		}
		widths[widest]--
	}
}

// Column is one column of a table of things.
type Column[T any] struct {
	head string
	cell func(T) Cell
	left func([]T) bool // reports whether it is left out; nil: never
}

// Cells returns a column of cells.
func Cells[T any](head string, cell func(T) Cell) Column[T] { return Column[T]{head: head, cell: cell} }

// Text returns a column without colours.
func Text[T any](head string, text func(T) string) Column[T] {
	return Cells(head, func(thing T) Cell { return Cell{Text: text(thing)} })
}

// If returns the column, which is left out unless a condition holds.
func (c Column[T]) If(holds bool) Column[T] {
	c.left = func([]T) bool { return !holds }
	return c
}

// IfAny returns the column, which is left out if all its cells are empty.
func (c Column[T]) IfAny() Column[T] {
	c.left = func(things []T) bool {
		return !slices.ContainsFunc(things, func(thing T) bool { return c.cell(thing).Text != "" })
	}
	return c
}

// TableOf returns a table with a row for each thing.
func TableOf[T any](things []T, columns ...Column[T]) *Table {
	columns = slices.DeleteFunc(columns, func(c Column[T]) bool { return c.left != nil && c.left(things) })
	t := &Table{}
	for _, c := range columns {
		t.Head = append(t.Head, c.head)
	}
	for _, thing := range things {
		row := make([]Cell, len(columns))
		for i, c := range columns {
			row[i] = c.cell(thing)
		}
		t.Add(row...)
	}
	return t
}
