package board

import (
	"fmt"

	"github.com/coveyteam/covey/hooks/texts"
)

// Finished work in the first list can be chosen, to be merged together.

// pick chooses the row, or no longer.
func (m *model) pick() {
	r := m.chosen()
	if m.from != needs || !r.work {
		m.say("there is no finished work to choose here", true)
		return
	}
	rows := m.lists[needs].rows
	for i := range rows {
		if rows[i].key == r.key {
			rows[i].picked = !rows[i].picked
		}
	}
}

// unpick chooses nothing any more.
func (m *model) unpick() {
	rows := m.lists[needs].rows
	for i := range rows {
		rows[i].picked = false
	}
}

// keepPicked chooses in new rows what is chosen now. What has got marks meanwhile is not: nobody has seen them.
func (m *model) keepPicked(rows []row) {
	was := map[string]row{}
	for _, r := range m.pickedRows() {
		was[r.key] = r
	}
	for i := range rows {
		old, ok := was[rows[i].key]
		rows[i].picked = ok && rows[i].work && (old.marked || !rows[i].marked)
	}
}

// pickedRows returns the rows that are chosen; nil: none is.
func (m *model) pickedRows() (picked []row) {
	for _, r := range m.lists[needs].rows {
		if r.picked {
			picked = append(picked, r)
		}
	}
	return picked
}

// askPicked asks about merging the chosen work, and approving what waits for that.
func (m *model) askPicked(picked []row) {
	t := &typing{deed: deed{verb: Merge, ask: "merge", typed: nothing}, more: []Act{}}
	marked := 0
	for i, r := range picked {
		d := deed{verb: Merge}
		if r.request != "" {
			d.verb = Approve
		}
		if r.marked {
			marked++
		}
		if a := d.act(r); i == 0 {
			t.act = a
		} else {
			t.more = append(t.more, a)
		}
	}
	t.label = "merge " + texts.Plural(len(picked), "chosen piece") + " of work? "
	if marked > 0 {
		t.confirm = string(Merge)
		t.label = fmt.Sprintf("⚠ merge %d chosen, %d with marks? Read them, then type merge: ", len(picked), marked)
	}
	m.typing = t
	m.line.set("")
}
