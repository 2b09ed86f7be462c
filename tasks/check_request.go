package tasks

import (
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"
)

// checkRequests looks at each request and notes what the indexes must say of it.
func (c *checker) checkRequests() {
	states := []RequestState{RequestOpen, RequestApproved, RequestDenied, RequestExpired, RequestWithdrawn}
	each(c.bucket(bucketRequests), nil, func(k, v []byte) bool {
		rec, err := decode[requestRecord](fmt.Sprintf("request %q", k), v)
		if err != nil {
			c.fault("%v", err)
			return true
		}
		c.sameKey("request "+rec.ID, k, []byte(rec.ID))
		number, short := requestNumber(rec.ID)
		if _, err := ulid.ParseStrict(rec.ID); err != nil && !short {
			c.fault("request %q: its id is no number and no ULID: %v", rec.ID, err)
		}
		if number > c.counts.asked {
			c.fault("request %s is above the high-water mark %d", rec.ID, c.counts.asked)
		}
		// Nobody may have answered what it asked itself, whatever way it took.
		if !slices.Contains(states, rec.State) || rec.Member == "" || rec.Member == rec.To {
			c.fault("request %s about %q, put to %q, has state %q", rec.ID, rec.Member, rec.To, rec.State)
		}
		if rec.Open() != (rec.Number == 0) || rec.Open() != rec.Closed.IsZero() || rec.Number > c.counts.request {
			c.fault("request %s is %s and the %d. of %d that were closed", rec.ID, rec.State, rec.Number,
				c.counts.request)
		}
		if rec.Open() {
			c.note(bucketOpen, rec.openKey())
		} else {
			c.note(bucketClosed, numKey(rec.Number))
		}
		c.needs(rec.place(), rec.blobs())
		return true
	})
	c.checkAsked()
}

// checkAsked looks at the index of questions. Of those that were asked several
// times it names the newest, which only the index knows: so it is checked from
// its own side.
func (c *checker) checkAsked() {
	each(c.bucket(bucketAsked), nil, func(k, id []byte) bool {
		rec, err := c.loadRequest(string(id))
		if err != nil {
			c.fault("question %q: %v", k, err)
			return true
		}
		c.sameKey("question of request "+rec.ID, k, rec.askedKey())
		return true
	})
	each(c.bucket(bucketClosed), nil, func(k, id []byte) bool {
		rec, err := c.loadRequest(string(id))
		if err != nil || rec.Number != lastNum(k) {
			c.fault("closed request %d is %q: %v", lastNum(k), id, err)
		}
		return true
	})
}
