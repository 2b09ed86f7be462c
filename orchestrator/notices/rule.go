package notices

import (
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
)

// maxQueue bounds what waits for one rule; the oldest is dropped first, and counted.
const maxQueue = 100

// record is what the store keeps of one rule.
type record struct {
	Told    map[string]time.Time `json:"told,omitempty"`    // what is open and was sent, by key
	Queue   []Notice             `json:"queue,omitempty"`   // what has happened and was not sent
	Dropped int                  `json:"dropped,omitempty"` // how much of Queue was dropped
	Sent    time.Time            `json:"sent,omitzero"`     // when the last notice was sent
	// Failing is since when notices cannot be delivered; zero: the last one was.
	Failing  time.Time `json:"failing,omitzero"`
	Failures int       `json:"failures,omitempty"` // tries in a row that have failed
	Last     time.Time `json:"last,omitzero"`      // when the last of them failed
}

// keyOf identifies a rule by its content, so that a rule which was moved in the spec is still
// the same.
func keyOf(n configs.Notify) string {
	return texts.Digest(texts.Encode(n))[:16]
}

// concerns reports whether a rule is about something.
func concerns(rule configs.Notify, n Notice) bool {
	return slices.Contains(rule.About, n.Kind) &&
		(n.Member == "" || rule.Of == nil || slices.Contains(rule.Of, n.Member))
}

// take puts what has happened into the queue.
func (r *record) take(n Notice) {
	r.Queue = append(r.Queue, n)
	if extra := len(r.Queue) - maxQueue; extra > 0 {
		r.Queue = slices.Clone(r.Queue[extra:])
		r.Dropped += extra
	}
}

// forget drops what is no longer open from what was told, so that it counts as new if it
// opens again. It reports whether there was any.
func (r *record) forget(open []Notice) bool {
	before := len(r.Told)
	for key := range r.Told {
		if !slices.ContainsFunc(open, func(n Notice) bool { return n.key() == key }) {
			delete(r.Told, key)
		}
	}
	return len(r.Told) < before
}

// due returns what a rule is to send now, the oldest first. If that is nothing, again is when
// to ask again; zero: when something has changed.
//
// last says that it is asked for the last time in this run: then neither the pause after a
// failure nor the digest holds anything back. Only the hours do.
func (r *record) due(
	rule configs.Notify, open []Notice, now time.Time, last bool,
) (batch []Notice, again time.Time) {
	batch = slices.Clone(r.Queue)
	for _, n := range open {
		if _, told := r.Told[n.key()]; told || !concerns(rule, n) {
			continue
		}
		if ripe := n.Since.Add(rule.After); ripe.After(now) {
			again = earlier(again, ripe)
			continue
		}
		batch = append(batch, n)
	}
	if len(batch) == 0 {
		return nil, again
	}
	from := opening(rule.Hours, now)
	if !last {
		from = opening(rule.Hours, latest(now, r.Sent.Add(rule.Digest), r.Last.Add(r.pause())))
	}
	if from.After(now) {
		return nil, from
	}
	slices.SortStableFunc(batch, func(a, b Notice) int { return a.Since.Compare(b.Since) })
	return batch, time.Time{}
}

// pause returns how long to wait after a failure.
func (r *record) pause() time.Duration {
	if r.Failures == 0 {
		return 0
	}
	return members.Backoff(r.Failures)
}

// settle removes what was sent, or given up. Only what is open is remembered.
func (r *record) settle(batch []Notice, dropped int, now time.Time) {
	sent := map[uint64]bool{}
	for _, n := range batch {
		if n.ID == "" {
			sent[n.Seq] = true
			continue
		}
		if r.Told == nil {
			r.Told = map[string]time.Time{}
		}
		r.Told[n.key()] = now
	}
	r.Queue = slices.DeleteFunc(r.Queue, func(n Notice) bool { return sent[n.Seq] })
	r.Dropped -= dropped
	r.Sent, r.Failing, r.Failures, r.Last = now, time.Time{}, 0, time.Time{}
}

// failed counts a failure, and reports whether it is time to give up.
func (r *record) failed(now time.Time, patience time.Duration) (over bool) {
	if r.Failing.IsZero() || r.Failing.After(now) { // somebody may have set the clock back
		r.Failing = now
	}
	r.Failures++
	r.Last = now
	return now.Sub(r.Failing) >= patience
}

// earlier returns the earlier of two times; a zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// latest returns the latest of some times.
func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// TargetName names where the notices of a rule go, without what may be a secret in a URL.
func TargetName(rule configs.Notify) string {
	switch {
	case rule.Webhook != "":
		return "webhook at " + hostOf(rule.Webhook)
	case len(rule.Command) > 0:
		return "command " + texts.Clip(strings.Join(rule.Command, " "), 60)
	}
	return "desktop"
}
