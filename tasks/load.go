package tasks

import (
	"context"
	"encoding/json"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// Loading is what a spec adds to the store. All of it is stored, or nothing.
type Loading struct {
	Tasks []New           // as for Add, without an actor
	From  string          // the sender of Mail
	Mail  []mail.Outgoing // as for Send
	// Values returns values to store as Put does. It is called inside the change, as
	// often as the change is tried; ids are those of Tasks, in their order. The
	// values stay in the store itself, however long they are. nil: no values.
	Values func(ids []string) map[string]json.RawMessage
}

// Load stores what a spec adds in one change: mail first, then tasks. The errors are
// those of Add and Send. After an error, or a crash before Load returns, either all
// of it is stored or nothing.
func (s *Store) Load(ctx context.Context, l Loading) ([]Task, error) {
	c := s.db.Job("load")
	// Everything is packed before the change: a text that is too long for the store is then
	// in its file, and the change itself only refers to it.
	letters := make([]mail.Packed, len(l.Mail))
	drafts, err := newDrafts(c, "", l.Tasks)
	for i := 0; err == nil && i < len(l.Mail); i++ {
		letters[i], err = s.mail.Pack(c, l.From, l.Mail[i])
	}
	if err != nil {
		return nil, c.Abandon(err)
	}
	r, err := act(ctx, c, actors.Actor{}, func(t *txn) (*receiptRecord, error) {
		for _, letter := range letters {
			if _, err := s.mail.Put(t.tx, letter); err != nil {
				return nil, err
			}
		}
		rec, err := t.addAll(actors.Actor{}, drafts)
		if err != nil || l.Values == nil {
			return rec, err
		}
		return rec, setValues(t.tx, l.Values(rec.taskIDs()))
	})
	return r.Tasks, err
}

// taskIDs returns the ids of the receipt's tasks.
func (r *receiptRecord) taskIDs() []string {
	ids := make([]string, len(r.Tasks))
	for i := range r.Tasks {
		ids[i] = r.Tasks[i].ID
	}
	return ids
}
