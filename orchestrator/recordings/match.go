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
		o.mu.Unlock()
		return Exchange{}, err
	}
	l.served[at] = true
	o.news()
	o.mu.Unlock()
	if err := o.await(ctx, l, at); err != nil {
		return Exchange{}, err
	}
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

// patience is how long an answer waits without news for what came before it in the recording. A team that
// does something else than it did then goes on.
const patience = 2 * time.Second

// news wakes those who wait. o.mu must be held.
func (o *order) news() {
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
}

// await waits until all that came before an answer has come: the requests of other lanes that were
// made before it, and the answers to them.
func (o *order) await(ctx context.Context, l *Lane, at int) error {
	alarm := time.NewTimer(patience)
	defer alarm.Stop()
	for {
		o.mu.Lock()
		if o.isNext(l, at) {
			l.answered[at] = true
			o.news()
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
			l.answered[at] = true
			o.news()
			o.mu.Unlock()
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// isNext reports whether nothing is missing that came before an answer. o.mu must be held.
func (o *order) isNext(l *Lane, at int) bool {
	end := l.known[at].Answer.End
	for _, other := range o.lanes {
		if other == l {
			continue
		}
		for i, x := range other.known {
			if x.At < end && !other.served[i] || x.Answer.End < end && !other.answered[i] {
				return false
			}
		}
	}
	return true
}
