package merging

import (
	"maps"
	"slices"

	"github.com/coveyteam/covey/tasks"
)

// Follow returns what OnWay returns for the whole list of tasks, of which c is what has changed
// since the last call. Its time depends on c and on what is not harvested yet. Only the crew's
// loop calls it.
func (d *Merger) Follow(c tasks.Changes) map[string]bool {
	if !d.hasRepo() {
		return nil
	}
	d.mu.Lock()
	d.follow(c)
	owners := slices.Collect(maps.Keys(d.loose.byOwner))
	d.mu.Unlock()
	// Read this before taken: the work of a member that leaves in between is then in
	// taken.
	owners = slices.DeleteFunc(owners, func(owner string) bool { return !d.willHarvest(owner) })
	d.mu.Lock()
	defer d.mu.Unlock()
	way := maps.Clone(d.onWay)
	for _, owner := range owners {
		for _, id := range d.loose.of(owner, d.taken) {
			if d.fault == nil {
				way[id] = true
			}
		}
	}
	return way
}

// follow takes in changes of the list of tasks.
func (d *Merger) follow(c tasks.Changes) {
	d.loose.follow(c)
	for _, t := range c.Tasks {
		if t.Status != tasks.Completed {
			delete(d.taken, t.ID) // it was reopened and produces new work
		}
	}
}

// loose knows the completed tasks whose work may not be harvested yet.
type loose struct {
	completed map[string]string          // owners of all completed tasks, by id
	byOwner   map[string]map[string]bool // ids; some of them may be harvested, reopened or given away
	now       uint64                     // the state of the store that it knows
}

func newLoose() loose {
	return loose{completed: map[string]string{}, byOwner: map[string]map[string]bool{}}
}

// follow takes in changes since now or before.
func (l *loose) follow(c tasks.Changes) {
	if c.Now < l.now {
		return // it knows later ones
	}
	l.now = c.Now
	if c.All {
		clear(l.completed)
	}
	for _, id := range c.Gone {
		delete(l.completed, id)
	}
	for _, t := range c.Tasks {
		if t.Status != tasks.Completed {
			delete(l.completed, t.ID)
			continue
		}
		l.completed[t.ID] = t.Owner
		l.add(t.ID, t.Owner)
	}
}

// add makes of look at a task again.
func (l *loose) add(id, owner string) {
	if l.byOwner[owner] == nil {
		l.byOwner[owner] = map[string]bool{}
	}
	l.byOwner[owner][id] = true
}

// of returns the ids of a member's completed tasks that are not in taken, in order. It does not
// look again at the others before add.
func (l *loose) of(owner string, taken map[string]bool) (ids []string) {
	for id := range l.byOwner[owner] {
		if l.completed[id] != owner || taken[id] {
			delete(l.byOwner[owner], id)
			continue
		}
		ids = append(ids, id)
	}
	slices.SortFunc(ids, tasks.CompareIDs)
	return ids
}
