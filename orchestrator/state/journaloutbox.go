package state

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/tasks"
)

// fetch returns the committed events that have no line yet.
func (j *Journal) fetch() []tasks.Event {
	var all []tasks.Event
	for after := j.outbox; ; after = all[len(all)-1].ID {
		events, err := j.store.Outbox().Events(context.Background(), after, 512)
		switch {
		case err == nil:
		case j.store.Cause() != nil: // watchStore reports it
			return all
		case errors.Is(err, tasks.ErrCorrupt):
			j.giveUp(fmt.Errorf("%w; run covey up again: it restores all that was committed", err))
			return all
		default:
			j.log.Error("the store's outbox cannot be read; its events are written later", "err", err)
			return all
		}
		if len(events) == 0 {
			return j.untold(all)
		}
		all = append(all, events...)
	}
}

// untold removes the events that had lines when the journal was opened. The first
// complete read of the outbox contains all of them.
func (j *Journal) untold(all []tasks.Event) []tasks.Event {
	if len(j.told) == 0 || len(all) == 0 {
		return all
	}
	last := all[len(all)-1].ID
	news := slices.DeleteFunc(all, func(e tasks.Event) bool { return j.told[e.ID] })
	j.told = nil
	if len(news) == 0 {
		j.outbox = last
		j.syncSoon()
	} else {
		j.reached = last
	}
	return news
}

// syncSoon starts the timer of sync. It does not restart a running timer, which
// would never fire under steady work.
func (j *Journal) syncSoon() {
	if !j.timing {
		j.timing = true
		j.syncTimer.Reset(syncAfter)
	}
}

// sync syncs the file, and then removes the events of the synced lines from the
// outbox.
func (j *Journal) sync() {
	if j.outbox == j.removed {
		return
	}
	if err := j.file.Sync(); err != nil {
		j.log.Error("the journal cannot be synced", "err", err)
		j.syncSoon()
		return
	}
	if err := j.store.Outbox().Remove(context.Background(), j.outbox); j.store.Cause() != nil {
		return
	} else if err != nil {
		j.log.Error("the store's outbox cannot be emptied", "err", err)
		j.syncSoon()
		return
	}
	j.removed = j.outbox
}
