package requests

import (
	"slices"

	"github.com/coveyteam/covey/tasks/store"
)

// Indexes returns the buckets that follow from the requests and the verdicts.
func Indexes() []string { return []string{openBucket, closedBucket, judgedBucket} }

// Check checks each request and the index entries for it.
func Check(c *store.Checker) {
	states := []State{Open, Approved, Denied, Expired, Withdrawn}
	asked, closed := c.Count(store.RequestCounter), c.Count(store.ClosedCounter)
	store.CheckAll(c, requestsBucket, "request %q", func(k []byte, rec *Record) {
		c.SameKey("request "+rec.ID, k, []byte(rec.ID))
		if number, ok := numberOf(rec.ID); !ok || number > asked {
			c.Fault("the id of request %q is no number up to the high-water mark %d", rec.ID, asked)
		}
		// Nobody may answer their own question.
		if !slices.Contains(states, rec.State) || rec.Member == "" || rec.Member == rec.To {
			c.Fault("request %s about %q, to be answered by %q, has state %q", rec.ID, rec.Member, rec.To, rec.State)
		}
		if rec.Open() != (rec.Number == 0) || rec.Open() != rec.Closed.IsZero() || rec.Number > closed {
			c.Fault("request %s is %s and has number %d of %d closed ones", rec.ID, rec.State, rec.Number, closed)
		}
		if rec.Open() {
			c.Expect(openBucket, rec.openKey())
		} else {
			c.Expect(closedBucket, store.NumKey(rec.Number))
		}
		c.Needs(rec.place(), rec.Files.Blobs())
	})
	checkAsked(c)
}

// checkAsked checks the index of questions. For a question that was asked several
// times it names the newest request, which no record tells: so the index is checked
// against the records and not the other way round.
func checkAsked(c *store.Checker) {
	for k, id := range c.Bucket(askedBucket).Each(nil) {
		if rec, err := load(c.Reader, string(id)); err != nil {
			c.Fault("question %q: %v", k, err)
		} else {
			c.SameKey("question of request "+rec.ID, k, rec.askedKey())
		}
	}
	for k, id := range c.Bucket(closedBucket).Each(nil) {
		if rec, err := load(c.Reader, string(id)); err != nil || rec.Number != store.LastNum(k) {
			c.Fault("closed request %d is %q: %v", store.LastNum(k), id, err)
		}
	}
}
