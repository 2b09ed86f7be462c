package specs

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
)

// Own is a schedule that a member has made for itself: a message that begins a turn of it.
type Own struct {
	Member string `json:"member"`
	Cron   string `json:"cron"`
	Text   string `json:"text"`
	Once   bool   `json:"once,omitempty"` // it comes once, and is removed then
}

// Bounds on the schedules of one member, because each costs turns and stays until it is removed.
const (
	maxOwn     = 10
	maxOwnText = 4 << 10 // bytes
	maxPrompt  = 1000    // characters of a text that hooks get, as in recorded hosts
)

// check returns what is wrong with a schedule, for the member that makes it.
func (o Own) check(now time.Time) error {
	switch {
	case strings.TrimSpace(o.Text) == "":
		return texts.Errorf(tasks.ErrInvalid, "the message is empty; write what you will have to know then")
	case len(o.Text) > maxOwnText:
		return texts.Errorf(tasks.ErrInvalid, "the message has %d bytes, at most %d are allowed; put the rest into a file and name it",
			len(o.Text), maxOwnText)
	}
	if err := yaml.CheckCron(o.Cron, "", now); err != nil {
		return texts.Errorf(tasks.ErrInvalid, "%v", err)
	}
	return nil
}

// Add makes a schedule of a member's own, and returns its id and when it comes first. A repeated
// call, which a crash has cut off, makes no second one.
func (t *Timetable) Add(ctx context.Context, callID string, own Own) (id string, next time.Time, err error) {
	now := t.clock.Now()
	if err := own.check(now); err != nil {
		return "", next, err
	}
	next, _ = yaml.NextTime(own.Cron, "", now) // checked
	id = own.Member + "/" + texts.Digest(callID + "\x00" + own.Cron + "\x00" + own.Text)[:8]
	err = t.loop.Do(ctx, func(ctx context.Context) error {
		before := ownOf(t.now.records, own.Member)
		if slices.Contains(before, id) {
			return nil
		}
		if len(before) >= maxOwn {
			return texts.Errorf(tasks.ErrFull, "you have %d schedules, which is the most; remove one first", len(before))
		}
		r := scheduleRecord{From: now, Own: &own, Plan: planOf(0, configs.Schedule{Cron: own.Cron, To: own.Member})}
		r.Plan.What += ": " + texts.Clip(texts.FirstLine(own.Text), 60)
		if own.Once {
			r.Plan.What += " (once)"
		}
		for _, other := range t.now.records {
			r.Plan.No = max(r.Plan.No, other.Plan.No+1)
		}
		records := maps.Clone(t.now.records)
		records[id] = r
		return t.keep(ctx, records)
	})
	return id, next, err
}

// Remove removes a schedule that a member has made.
func (t *Timetable) Remove(ctx context.Context, member, id string) error {
	return t.loop.Do(ctx, func(ctx context.Context) error {
		if !slices.Contains(ownOf(t.now.records, member), id) {
			return texts.Errorf(tasks.ErrNotFound, "you have no schedule %q; list yours to see their ids", texts.Clip(id, 80))
		}
		return t.drop(ctx, id)
	})
}

// Left removes the schedules of a member that has left the team. It implements crew.Leaver.
func (t *Timetable) Left(ctx context.Context, member string) error {
	if gone := ownOf(t.now.records, member); len(gone) > 0 {
		return t.drop(ctx, gone...)
	}
	return nil
}

// Of lists the schedules that a member has made, the oldest first, in the form that hooks get.
func (t *Timetable) Of(member string) []hooks.SessionCron {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []hooks.SessionCron{}
	for _, id := range ownOf(t.now.records, member) {
		own := t.now.records[id].Own
		list = append(list, hooks.SessionCron{
			ID: id, Schedule: own.Cron, Recurring: !own.Once, Prompt: texts.Clip(own.Text, maxPrompt),
		})
	}
	return list
}

// Awaits reports whether a member that takes turns has made a schedule that comes once, and has
// not come yet.
func (t *Timetable) Awaits(takesTurns func(member string) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.now.records {
		if r.Own != nil && r.Own.Once && takesTurns(r.Own.Member) {
			return true
		}
	}
	return false
}

// ownOf returns the ids of the schedules that a member has made.
func ownOf(records map[string]scheduleRecord, member string) []string {
	return slices.DeleteFunc(inOrder(records), func(id string) bool {
		own := records[id].Own
		return own == nil || own.Member != member
	})
}

// all returns the schedules of the spec and of members.
func (p ReadySchedules) all() []configs.Schedule {
	all := slices.Clone(p.list)
	for _, id := range inOrder(p.records) {
		if own := p.records[id].Own; own != nil {
			all = append(all, configs.Schedule{Name: id, Cron: own.Cron, To: own.Member, Text: own.Text})
		}
	}
	return all
}

// drop removes schedules of a member.
func (t *Timetable) drop(ctx context.Context, ids ...string) error {
	records := maps.Clone(t.now.records)
	maps.DeleteFunc(records, func(id string, _ scheduleRecord) bool { return slices.Contains(ids, id) })
	return t.keep(ctx, records)
}
