package pages

import (
	"cmp"
	"encoding/json"
	"hash/maphash"
	"html/template"
)

// Rows are drawn rows by their ids. A template costs many times more than to see by their JSON that its
// data are the same, and of a large team little changes between two drawings.
type Rows map[string]drawnRow

// drawnRow is a row with a number that stands for the data it was drawn of.
type drawnRow struct {
	sum  uint64
	html template.HTML
}

// seed makes the numbers of rows, so that nobody can write texts whose numbers are equal.
var seed = maphash.MakeSeed()

// Rows returns the rows that were drawn, for Before of the next Drawing.
func (d *Drawing) Rows() Rows { return d.rows }

// drawn returns a template filled in with data, from an earlier drawing if the data are the same.
func (d *Drawing) drawn(id, name string, data any) template.HTML {
	text, err := json.Marshal(data)
	d.err = cmp.Or(d.err, err)
	one := drawnRow{sum: maphash.Bytes(seed, text)}
	if was, ok := d.Before[id]; ok && was.sum == one.sum {
		one.html = was.html
	} else {
		one.html = d.execute(name, data)
	}
	if d.err == nil { // else it may be a part only
		d.keepRow(id, one)
	}
	return one.html
}

// keepRow keeps a row for the next drawing.
func (d *Drawing) keepRow(id string, one drawnRow) {
	if d.rows == nil {
		d.rows = make(Rows, len(d.Before))
	}
	d.rows[id] = one
}
