package board

import "testing"

// TestList: the chosen row is always one of the shown ones, if there are any.
func TestList(t *testing.T) {
	rows := func(keys ...string) (rows []row) {
		for _, k := range keys {
			rows = append(rows, row{key: k, name: k})
		}
		return rows
	}
	var l list
	if got := l.chosen(); got.key != "" {
		t.Errorf("%+v of nothing", got)
	}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { l.set(rows("a", "b", "c")) }, "a"},
		{func() { l.choose(1) }, "b"},
		{func() { l.set(rows("x", "a", "b", "c")) }, "b"},
		{func() { l.set(rows("x", "a", "c")) }, "c"},
		{func() { l.choose(9) }, "c"},
		{func() { l.choose(-9) }, "x"},
		{func() { l.search("C") }, "c"},
		{func() { l.search("none") }, ""},
		{func() { l.search("") }, "c"},
		{func() { l.set(nil) }, ""},
		{func() { l.choose(3) }, ""},
		{func() { l.set(rows("a", "c")) }, "c"},
	} {
		step.do()
		if got := l.chosen().key; got != step.want {
			t.Fatalf("%q is chosen, want %q of %+v", got, step.want, l)
		}
	}
}
