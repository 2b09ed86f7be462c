package board

import (
	"slices"
	"strings"
)

// list is one of the lists of rows with the row that is chosen.
type list struct {
	rows   []row // all of them
	filter string
	at     int // index of the chosen row among those that the filter lets through
	key    string
}

// set replaces the rows. The chosen one stays chosen wherever it is now; when it is gone, the one
// in its place is.
func (l *list) set(rows []row) {
	l.rows = rows
	l.settle()
}

// settle finds the chosen row again.
func (l *list) settle() {
	shown := l.shown()
	if i := slices.IndexFunc(shown, func(r row) bool { return r.key == l.key }); i >= 0 {
		l.at = i
		return
	}
	l.choose(l.at)
}

// choose chooses the row with an index, or the nearest one.
func (l *list) choose(i int) {
	shown := l.shown()
	l.at = max(0, min(i, len(shown)-1))
	if l.at < len(shown) {
		l.key = shown[l.at].key
	}
}

// search sets the filter.
func (l *list) search(text string) {
	l.filter = text
	l.settle()
}

// shown returns the rows that contain the filter, in upper or lower case. The row for the whole team
// is none of those.
func (l *list) shown() []row {
	if l.filter == "" {
		return l.rows
	}
	text := strings.ToLower(l.filter)
	return slices.DeleteFunc(slices.Clone(l.rows), func(r row) bool {
		return r.key == "" || !strings.Contains(strings.ToLower(r.name+" "+r.word+" "+r.who+" "+r.text), text)
	})
}

// chosen returns the chosen row; the zero row, which stands for the whole team, if there is none.
func (l *list) chosen() row {
	if shown := l.shown(); l.at < len(shown) {
		return shown[l.at]
	}
	return row{}
}
