package tasks

import (
	"context"
	"encoding/json"
	"fmt"
)

// Loading is what a spec brings: all of it is stored, or nothing.
type Loading struct {
	Tasks []New      // as for Add; nobody's call
	From  string     // the sender of Mail
	Mail  []Outgoing // as for Send
	// Values are stored as Put stores them, and are asked for inside the change, as often
	// as it is tried: ids are those of Tasks, in their order. However long they are, they
	// stay in the store itself. nil: there are none.
	Values func(ids []string) map[string]json.RawMessage
}

// Load stores what a spec brings in one change: mail first, then tasks, as if each had
// been there when the next came. Errors are those of Add and Send; after one, and after a
// crash before it returns, either nothing of it is there or everything.
func (s *Store) Load(ctx context.Context, l Loading) ([]Task, error) {
	c := s.job("load", Actor{})
	drafts := make([]draft, len(l.Tasks))
	mail := make([]messageRecord, len(l.Mail))
	var err error
	for i, n := range l.Tasks {
		if drafts[i], err = s.draft(c, n); err != nil {
			return nil, s.abandon(c, fmt.Errorf("entry %d of %d: %w", i+1, len(l.Tasks), err))
		}
	}
	for i := range l.Mail {
		if mail[i], err = s.packMessage(c, &l.Mail[i]); err != nil {
			return nil, s.abandon(c, err)
		}
		mail[i].From = l.From
	}
	r, err := s.act(ctx, c, func(t *txn) (*receiptRecord, error) {
		for i, m := range mail {
			if _, err := t.sendEach(m, l.Mail[i].To, l.Mail[i].Texts); err != nil {
				return nil, err
			}
		}
		rec, err := t.addAll(Actor{}, drafts)
		if err != nil || l.Values == nil {
			return rec, err
		}
		return rec, t.setValues(l.Values(rec.taskIDs()))
	})
	return r.Tasks, err
}

// taskIDs are the ids of the receipt's tasks.
func (r *receiptRecord) taskIDs() []string {
	ids := make([]string, len(r.Tasks))
	for i := range r.Tasks {
		ids[i] = r.Tasks[i].ID
	}
	return ids
}

// setValues stores several values.
func (t *txn) setValues(values map[string]json.RawMessage) error {
	for key, value := range values {
		if err := checkName("key", key); err != nil {
			return err
		}
		data, err := cleanJSON("value of "+key, value)
		if err != nil {
			return err
		}
		if err := t.setValue(key, &valueRecord{Value: data}); err != nil {
			return err
		}
	}
	return nil
}
