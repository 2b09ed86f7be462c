package recordings

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// find returns the recorded answer to a request, with the paths of this run, when its time has come.
// Its error is that of ctx, or an *agent.APIError that ends the turn.
func (l *Lane) find(ctx context.Context, m Meaning) (Exchange, error) {
	l.mu.Lock()
	m = l.equal(m)
	fill := l.places.fill
	l.mu.Unlock()
	lost := l.lostLetter()
	o := &l.tape.order
	o.mu.Lock()
	at := l.match(m)
	if at < 0 || lost != "" {
		err := l.miss(m, lost)
		l.strays = true
		o.news()
		o.mu.Unlock()
		return Exchange{}, err
	}
	l.served[at], l.strays = true, false
	o.news()
	o.mu.Unlock()
	if err := o.await(ctx, l, l.known[at].Answer.End, (*Lane).lacks); err != nil {
		return Exchange{}, err
	}
	o.mu.Lock()
	l.answered[at] = true
	o.news()
	o.mu.Unlock()
	x := l.known[at]
	x.Answer.Events = rewriteEvents(x.Answer.Events, fill)
	return x, nil
}

// match returns the place of the request that means m; -1: there is none. The order's lock must be held.
//
// Mail and news reach a member when others send them, which is a matter of moments. So a request also
// means one that has the same answers, calls and results, if all that it was told was told to the
// member in the recording, sooner or later.
func (l *Lane) match(m Meaning) int {
	again := -1
	for i, x := range l.known {
		if m.same(x.Asked) {
			if !l.served[i] {
				return i
			}
			again = i
		}
	}
	if again >= 0 {
		return again
	}
	told := map[Item]bool{}
	for _, x := range l.known {
		for _, item := range x.Asked.Items {
			told[item] = true
		}
	}
	best, most := -1, -1
	for i, x := range l.known {
		if l.served[i] {
			continue
		}
		if n, ok := m.sameBut(x.Asked, told); ok && n > most {
			best, most = i, n
		}
	}
	return best
}

// sameBut reports whether two meanings are one but for texts of the user, all of which are among told.
// n is how many of these they have in common.
func (m Meaning) sameBut(recorded Meaning, told map[Item]bool) (n int, ok bool) {
	if m.API != recorded.API || m.Model != recorded.Model {
		return 0, false
	}
	mine, its := map[Item]bool{}, recorded.fixed()
	at := 0
	for _, item := range m.Items {
		switch {
		case item.isTold():
			if !told[item] {
				return 0, false
			}
			mine[item] = true
		case at == len(its) || its[at] != item:
			return 0, false
		default:
			at++
		}
	}
	for _, item := range recorded.Items {
		if mine[item] {
			n++
		}
	}
	return n, at == len(its)
}

// isTold reports whether an item is a text of the user.
func (i Item) isTold() bool { return i.Role == string(agent.User) && i.Tool == "" }

// fixed returns the items that are no texts of the user.
func (m Meaning) fixed() []Item {
	var list []Item
	for _, item := range m.Items {
		if !item.isTold() {
			list = append(list, item)
		}
	}
	return list
}

// miss describes a request that was not recorded: the nearest that was, and the first difference.
// Requests that were not answered yet come first, because the next of them was probably meant.
// lost is a letter that the member was shown before this request and that nobody has sent now; empty: none.
func (l *Lane) miss(m Meaning, lost string) error {
	nearest, most := -1, -1
	for i, x := range l.known {
		near := 2 * m.common(x.Asked)
		if !l.served[i] {
			near++
		}
		if near > most {
			nearest, most = i, near
		}
	}
	text := fmt.Sprintf("the recording has no request of %s", l.name)
	if nearest >= 0 {
		text = fmt.Sprintf("the recording of %s has no such request; the nearest is request %d of %d: %s", l.name, nearest+1,
			len(l.known), m.difference(l.known[nearest].Asked))
	}
	if lost != "" {
		text += fmt.Sprintf("; the member was shown %q first, which nobody has sent now", lost)
	}
	return &agent.APIError{Type: "invalid_request", Message: text, End: events.EndModelError}
}

// order lets the answers of a recording out in the order in which they came, so that what members do
// for each other comes at its time although no model takes any.
type order struct {
	mu      sync.Mutex
	lanes   []*Lane
	changed chan struct{} // closed and replaced at each news; nil: nobody waits
}

// patience is how long something waits without news for what came before it in the recording. Nobody waits any more
// then for members that do something else than they did, until one asks what it asked before.
const patience = 5 * time.Second

// news wakes those who wait. o.mu must be held.
func (o *order) news() {
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
}

// await waits until members of other lanes have done all that they had done before a moment of the recording: acts, or
// everything.
func (o *order) await(ctx context.Context, l *Lane, moment time.Duration, missing func(*Lane, time.Duration) bool) error {
	alarm := time.NewTimer(patience)
	defer alarm.Stop()
	for {
		o.mu.Lock()
		missed := o.without(l, moment, missing)
		if len(missed) == 0 {
			o.mu.Unlock()
			return nil
		}
		if o.changed == nil {
			o.changed = make(chan struct{})
		}
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
			alarm.Reset(patience)
		case <-alarm.C:
			o.mu.Lock()
			for _, other := range missed {
				other.strays = true
			}
			o.news()
			o.mu.Unlock()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// without returns the other lanes from which something is missing that came before a moment, but for those that stray.
// o.mu must be held.
func (o *order) without(l *Lane, moment time.Duration, missing func(*Lane, time.Duration) bool) (list []*Lane) {
	for _, other := range o.lanes {
		if other != l && !other.strays && missing(other, moment) {
			list = append(list, other)
		}
	}
	return list
}

// lacks reports whether a request, an answer or an act of a lane is missing that came before a moment. The order's
// lock must be held.
func (l *Lane) lacks(moment time.Duration) bool {
	for i, x := range l.known {
		if x.At < moment && !l.served[i] || x.Answer.End < moment && !l.answered[i] {
			return true
		}
	}
	return l.lacksAct(moment)
}
