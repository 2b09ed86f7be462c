package pages

import (
	"fmt"
	"hash/maphash"
	"html/template"
	"reflect"
	"sync"
	"time"
)

// Rows are drawn rows by their ids. A template costs some hundred times more than to see that its
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
func (d *Drawing) drawn(id, name string, data any) (template.HTML, error) {
	var h maphash.Hash
	h.SetSeed(seed)
	hash(&h, reflect.ValueOf(data))
	one := drawnRow{sum: h.Sum64()}
	if was, ok := d.Before[id]; ok && was.sum == one.sum {
		one.html = was.html
	} else {
		var err error
		if one.html, err = Execute(d.Templates, name, data); err != nil {
			return "", fmt.Errorf("row %s: %w", id, err)
		}
	}
	d.note(id, one)
	return one.html, nil
}

// note keeps a row for the next drawing.
func (d *Drawing) note(id string, one drawnRow) {
	if d.rows == nil {
		d.rows = make(Rows, len(d.Before))
	}
	d.rows[id] = one
}

// hash adds all of a value to h that a template can show: fields that are not exported are left
// out, and what pointers lead to counts in their place. Values must not contain themselves.
func hash(h *maphash.Hash, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		maphash.WriteComparable(h, v.IsNil())
		if !v.IsNil() {
			hash(h, v.Elem())
		}
	case reflect.Struct:
		hashFields(h, v)
	case reflect.Slice, reflect.Array:
		maphash.WriteComparable(h, v.Len())
		for i := range v.Len() {
			hash(h, v.Index(i))
		}
	case reflect.Map:
		var sum uint64 // of all entries, whose order is not fixed
		for key, value := range v.Seq2() {
			var one maphash.Hash
			one.SetSeed(seed)
			hash(&one, key)
			hash(&one, value)
			sum += one.Sum64()
		}
		maphash.WriteComparable(h, sum)
	case reflect.String:
		maphash.WriteComparable(h, v.Len())
		_, _ = h.WriteString(v.String()) // never fails
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		maphash.WriteComparable(h, v.Int())
	default:
		maphash.WriteComparable(h, v.Interface())
	}
}

// hashFields adds the fields of a structure to h.
func hashFields(h *maphash.Hash, v reflect.Value) {
	t := v.Type()
	if t == reflect.TypeFor[time.Time]() {
		at, _ := v.Interface().(time.Time) // it is one
		maphash.WriteComparable(h, at.UnixNano())
		return
	}
	for _, i := range fieldsOf(t) {
		hash(h, v.Field(i))
	}
}

// fields are the fields that a template can show, by type, because to find them takes longer than to
// read them.
var fields sync.Map

// fieldsOf returns the fields of a structure that a template can show.
func fieldsOf(t reflect.Type) []int {
	if known, ok := fields.Load(t); ok {
		list, _ := known.([]int) // nothing else is in it
		return list
	}
	var list []int
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() || f.Anonymous {
			list = append(list, i)
		}
	}
	fields.Store(t, list)
	return list
}
