package mail

import (
	"strings"

	"github.com/coveyteam/covey/tasks/store"
)

// Indexes returns the buckets that follow from the mail.
func Indexes() []string { return []string{idBucket} }

// Check compares the mailboxes with their counts and ids.
func Check(c *store.Checker) {
	unread := map[string]uint64{}
	store.CheckAll(c, MailBucket, "message %x", func(k []byte, rec *Record) {
		c.SameKey("message "+rec.ID, k, store.NameNumKey(rec.To, rec.Seq))
		if most := c.Count(store.MailCounter); rec.Seq == 0 || rec.Seq > most {
			c.Fault("message %s has sequence number %d, and the last one is %d", rec.ID, rec.Seq, most)
		}
		idKey := store.NameKey(rec.To, []byte(rec.ID)...)
		if seq := store.LastNum(c.Bucket(idBucket).Get(idKey)); seq != rec.Seq {
			c.Fault("message %s is indexed as number %d, not %d", rec.ID, seq, rec.Seq)
		}
		c.Expect(idBucket, idKey)
		c.Needs(store.Place{Bucket: MailBucket, Key: k}, rec.Files.Blobs())
		unread[rec.To]++
	})
	// The counts are stored apart from the mail because whether a team is done is
	// checked after every change. A wrong count would keep a team up for ever, or let
	// it end with unread mail.
	for k, v := range c.Bucket(UnreadBucket).Each(nil) {
		name, _, _ := store.SplitName(k)
		// A count of zero is a fault as well: the last delivery removes the entry.
		if n := store.LastNum(v); n == 0 || n != unread[name] {
			c.Fault("%q has %d unread messages, counted as %d", name, unread[name], n)
		}
		delete(unread, name)
	}
	for name, n := range unread {
		c.Fault("the %d unread messages of %q are not counted", n, name)
	}
}

// CheckNotes checks the notes.
func CheckNotes(c *store.Checker) {
	store.CheckAll(c, NotesBucket, "note %q", func(k []byte, n *Note) {
		to, _, _ := store.SplitName(k)
		c.SameKey("note "+n.ID, k, store.NameKey(to, []byte(n.From)...))
		if !strings.HasPrefix(n.ID, NoteID) {
			c.Fault("note %q has the id %q", k, n.ID)
		}
	})
}
