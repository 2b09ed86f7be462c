package tasks

import (
	"fmt"
)

// checkMail compares mailboxes with their counts and notes their ids.
func (c *checker) checkMail() {
	unread := map[string]uint64{}
	each(c.bucket(bucketMail), nil, func(k, v []byte) bool {
		rec, err := decode[messageRecord](fmt.Sprintf("message %x", k), v)
		if err != nil {
			c.fault("%v", err)
			return true
		}
		c.sameKey("message "+rec.ID, k, nameNumKey(rec.To, rec.Seq))
		if rec.Seq == 0 || rec.Seq > c.counts.mail {
			c.fault("message %s has sequence number %d of %d", rec.ID, rec.Seq, c.counts.mail)
		}
		idKey := nameKey(rec.To, []byte(rec.ID)...)
		if seq := lastNum(c.bucket(bucketMailID).Get(idKey)); seq != rec.Seq {
			c.fault("message %s is noted as number %d, not %d", rec.ID, seq, rec.Seq)
		}
		c.note(bucketMailID, idKey)
		c.needs(place{bucketMail, k}, rec.blobs())
		unread[rec.To]++
		return true
	})
	// The counts are kept apart from the mail because whether a team is done is
	// asked after every change; a count that is off would keep a team up for
	// ever, or let it leave with mail unread.
	each(c.bucket(bucketUnread), nil, func(k, v []byte) bool {
		name, _, _ := splitName(k)
		// A count of zero is a fault as well: the last delivery removes the
		// entry.
		if n := lastNum(v); n == 0 || n != unread[name] {
			c.fault("%q has %d unread messages, counted as %d", name, unread[name], n)
		}
		delete(unread, name)
		return true
	})
	for name, n := range unread {
		c.fault("the %d unread messages of %q are not counted", n, name)
	}
}

// checkMembers decodes the members. Owners of tasks need not be among them: a
// spec gives tasks to members that have not been attached yet.
func (c *checker) checkMembers() {
	each(c.bucket(bucketMembers), nil, func(k, v []byte) bool {
		m, err := decode[Member]("member "+string(k), v)
		if err != nil {
			c.fault("%v", err)
			return true
		}
		c.sameKey("member "+m.Name, k, []byte(m.Name))
		if m.Epoch == 0 {
			c.fault("member %s was never attached", m.Name)
		}
		return true
	})
}

// checkOutbox decodes the events. Their order is that of the bucket.
func (c *checker) checkOutbox() {
	each(c.bucket(bucketOutbox), nil, func(k, v []byte) bool {
		id := lastNum(k)
		if len(k) != 8 || id == 0 || id > c.counts.event {
			c.fault("event %x of %d", k, c.counts.event)
		}
		rec, err := decode[eventRecord](fmt.Sprintf("event %d", id), v)
		if err != nil {
			c.fault("%v", err)
			return true
		}
		// Such an event could never become a journal line, and the pump would
		// stop at it for good.
		if rec.Change == nil && rec.Message == nil && rec.Delivered == "" && rec.Merge == nil && rec.Request == nil {
			c.fault("event %d tells nothing", id)
		}
		c.needs(place{bucketOutbox, k}, rec.blobs())
		return true
	})
}

// checkReceipts decodes the receipts, which bucketCalls lists for each member.
func (c *checker) checkReceipts() {
	each(c.bucket(bucketReceipts), nil, func(k, v []byte) bool {
		name, _, ok := splitName(k)
		number, data := cutNum(v)
		rec, err := decode[receiptRecord](fmt.Sprintf("receipt %q", k), data)
		if !ok || err != nil {
			c.fault("receipt %q: %v", k, err)
			return true
		}
		call := nameNumKey(name, number)
		c.note(bucketCalls, call)
		c.sameKey(fmt.Sprintf("call %d of %s", number, name), c.bucket(bucketCalls).Get(call), k)
		c.needs(place{bucketReceipts, k}, rec.blobs())
		return true
	})
}

// checkValues decodes what Put stored.
func (c *checker) checkValues() {
	each(c.bucket(bucketValues), nil, func(k, v []byte) bool {
		rec, err := decode[valueRecord]("value "+string(k), v)
		if err != nil {
			c.fault("%v", err)
			return true
		}
		c.needs(place{bucketValues, k}, rec.blobs())
		return true
	})
}
