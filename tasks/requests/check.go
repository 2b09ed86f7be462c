package requests

import (
	"slices"

	"github.com/coveyteam/covey/tasks/kv"

	"github.com/oklog/ulid/v2"
)

// Indexes are the buckets that follow from the requests.
func Indexes() []string { return []string{openBucket, closedBucket} }

// Check looks at each request and notes what the indexes must say of it.
func Check(c *kv.Checker) {
	states := []State{Open, Approved, Denied, Expired, Withdrawn}
	asked, closed := c.Count(kv.RequestCounter), c.Count(kv.ClosedCounter)
	kv.CheckAll(c, requestsBucket, "request %q", func(k []byte, rec *Record) {
		c.SameKey("request "+rec.ID, k, []byte(rec.ID))
		number, short := numberOf(rec.ID)
		if _, err := ulid.ParseStrict(rec.ID); err != nil && !short {
			c.Fault("request %q: its id is no number and no ULID: %v", rec.ID, err)
		}
		if number > asked {
			c.Fault("request %s is above the high-water mark %d", rec.ID, asked)
		}
		// Nobody may have answered what it asked itself, whatever way it took.
		if !slices.Contains(states, rec.State) || rec.Member == "" || rec.Member == rec.To {
			c.Fault("request %s about %q, put to %q, has state %q", rec.ID, rec.Member, rec.To, rec.State)
		}
		if rec.Open() != (rec.Number == 0) || rec.Open() != rec.Closed.IsZero() || rec.Number > closed {
			c.Fault("request %s is %s and the %d. of %d that were closed", rec.ID, rec.State, rec.Number, closed)
		}
		if rec.Open() {
			c.Note(openBucket, rec.openKey())
		} else {
			c.Note(closedBucket, kv.NumKey(rec.Number))
		}
		c.Needs(rec.place(), rec.Files.Blobs())
	})
	checkAsked(c)
}

// checkAsked looks at the index of questions. Of those that were asked several
// times it names the newest, which only the index knows: so it is checked from
// its own side.
func checkAsked(c *kv.Checker) {
	c.Bucket(askedBucket).Each(nil, func(k, id []byte) bool {
		rec, err := load(c.Reader, string(id))
		if err != nil {
			c.Fault("question %q: %v", k, err)
			return true
		}
		c.SameKey("question of request "+rec.ID, k, rec.askedKey())
		return true
	})
	c.Bucket(closedBucket).Each(nil, func(k, id []byte) bool {
		rec, err := load(c.Reader, string(id))
		if err != nil || rec.Number != kv.LastNum(k) {
			c.Fault("closed request %d is %q: %v", kv.LastNum(k), id, err)
		}
		return true
	})
}
