package journal

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
		case errors.Is(err, tasks.ErrReplaced): // watchStore says so
			return all
		case errors.Is(err, tasks.ErrCorrupt):
			j.giveUp(fmt.Errorf("%w; run covey up again: it restores all that was committed", err))
			return all
		default:
			j.log.Error("the store's outbox cannot be read; its events come later", "err", err)
			return all
		}
		if len(events) == 0 {
			return j.untold(all)
		}
		all = append(all, events...)
	}
}

// untold leaves out the events that had their lines when the journal was opened. All of
// them are in the first whole look at the outbox.
func (j *Journal) untold(all []tasks.Event) []tasks.Event {
	if len(j.told) == 0 || len(all) == 0 {
		return all
	}
	last := all[len(all)-1].ID
	news := slices.DeleteFunc(all, func(e tasks.Event) bool { return j.told[e.ID] })
	j.told = nil
	if len(news) == 0 {
		j.outbox = last
		j.settleSoon()
	} else {
		j.reached = last
	}
	return news
}

// settleSoon has the timer of settle run. It is not started again while it runs, or it
// would never end under steady work.
func (j *Journal) settleSoon() {
	if !j.settling {
		j.settling = true
		j.unsettled.Reset(settleAfter)
	}
}

// settle makes the lines durable and only then lets their events leave the
// outbox.
func (j *Journal) settle() {
	if j.outbox == j.settled {
		return
	}
	if err := j.file.Sync(); err != nil {
		j.log.Error("the journal cannot be synced", "err", err)
		j.settleSoon()
		return
	}
	if err := j.store.Outbox().Remove(context.Background(), j.outbox); errors.Is(err, tasks.ErrReplaced) {
		return
	} else if err != nil {
		j.log.Error("the store's outbox cannot be emptied", "err", err)
		j.settleSoon()
		return
	}
	j.settled = j.outbox
}
