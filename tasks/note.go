package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"
)

// Note is an idle notification that its receiver has not seen. There is one for
// each sender and receiver: what happened since is put into it, so that notes
// of a member that comes to rest again and again take the room of one. Notes
// are no mail: they fill no mailbox and wake nobody.
type Note struct {
	ID string `json:"id"` // another one after each change; begins with NoteID
	IdleNote
	// Completed are the tasks that the sender completed since the receiver saw a
	// note of it, in that order.
	Completed []string `json:"completed,omitempty"`
	// Wakes says that the receiver is to see it even if nothing else gives it a
	// turn: without it nobody would hear what came of something.
	Wakes bool `json:"wakes,omitempty"`
}

// NoteID is what the ids of notes begin with, and no id of a message does.
const NoteID = "idle-"

// maxNoteIDs bounds the tasks that one note names; of more it names the last.
const maxNoteIDs = 100

// PutNote leaves a note of n.From for a member, in the place of the one that is
// there. Its id and time are the store's. It fails with ErrInvalid for names
// that cannot be stored.
func (s *Store) PutNote(ctx context.Context, to string, n Note) error {
	for what, name := range map[string]string{"receiver": to, "sender": n.From} {
		if err := checkName(what, name); err != nil {
			return err
		}
	}
	for _, text := range []*string{&n.Summary, &n.Result, &n.FailureReason} {
		*text = clean(*text)
		if len(*text) > maxSubject {
			return fmt.Errorf("%w: a note of %d bytes, at most %d are allowed", ErrInvalid, len(*text), maxSubject)
		}
	}
	c := &job{op: "note"}
	c.run = func(t *txn) error { return t.putNote(to, n) }
	return s.submit(ctx, c)
}

// putNote takes up what the note before says, which nobody has seen.
//
// The id is a new one each time: who has seen the note before has not seen this one, and
// DropNotes of the old id leaves it.
func (t *txn) putNote(to string, n Note) error {
	key := nameKey(to, []byte(n.From)...)
	if had := t.bucket(bucketNotes).Get(key); had != nil {
		before, err := decode[Note]("note of "+n.From, had)
		if err != nil {
			return err
		}
		n = n.after(*before)
	}
	id, err := ulid.New(uint64(max(t.now.UnixMilli(), 0)), rand.Reader)
	if err != nil {
		return fmt.Errorf("note id: %w", err)
	}
	n.ID, n.Type, n.Timestamp = NoteID+id.String(), IdleNotification, t.now
	t.put(bucketNotes, key, t.encode(n))
	return nil
}

// after is the note with what the one before it says and it does not.
func (n Note) after(before Note) Note {
	n.Wakes = n.Wakes || before.Wakes
	n.Completed = unique(slices.Concat(before.Completed, n.Completed))
	if extra := len(n.Completed) - maxNoteIDs; extra > 0 {
		n.Completed = n.Completed[extra:]
	}
	return n
}

// Notes gives the notes for a member, by their senders' names.
func (s *Store) Notes(ctx context.Context, to string) ([]Note, error) {
	var list []Note
	err := s.view(ctx, func(r reader) error {
		var err error
		list, err = r.notes(to)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("notes for %s: %w", clip(to), err)
	}
	return list, nil
}

func (r reader) notes(to string) ([]Note, error) {
	list := []Note{}
	var failed error
	each(r.bucket(bucketNotes), nameKey(to), func(_, v []byte) bool {
		var n *Note
		if n, failed = decode[Note]("note for "+to, v); failed == nil {
			list = append(list, *n)
		}
		return failed == nil
	})
	return list, failed
}

// DropNotes removes the notes for a member, the actor, with these ids: it has seen them.
// A note that has changed since has another id, and stays. It fails with ErrStale as
// Deliver does.
func (s *Store) DropNotes(ctx context.Context, a Actor, ids []string) error {
	ids = slices.Clone(ids) // the change may outlive the call
	c := &job{op: "drop notes"}
	c.run = func(t *txn) error {
		if err := t.admit(a); err != nil {
			return err
		}
		list, err := t.notes(a.Name)
		if err != nil {
			return err
		}
		for _, n := range list {
			if slices.Contains(ids, n.ID) {
				t.del(bucketNotes, nameKey(a.Name, []byte(n.From)...))
			}
		}
		return nil
	}
	return s.submit(ctx, c)
}

// Shown is the note as its receiver sees it: JSON of the fields that say
// something.
func (n Note) Shown() json.RawMessage {
	if last := len(n.Completed) - 1; last >= 0 {
		n.CompletedTaskID, n.CompletedStatus = n.Completed[last], string(Completed)
	}
	if len(n.Completed) > 1 {
		n.CompletedTaskIDs = n.Completed
	}
	data, err := json.Marshal(n.IdleNote)
	if err != nil {
		return json.RawMessage("{}") // plain fields cannot fail
	}
	return data
}

// checkNotes decodes the notes.
func (c *checker) checkNotes() {
	each(c.bucket(bucketNotes), nil, func(k, v []byte) bool {
		to, _, ok := splitName(k)
		n, err := decode[Note](fmt.Sprintf("note %q", k), v)
		if !ok || err != nil {
			c.fault("note %q: %v", k, err)
			return true
		}
		c.sameKey("note "+n.ID, k, nameKey(to, []byte(n.From)...))
		if !strings.HasPrefix(n.ID, NoteID) {
			c.fault("note %q has the id %q", k, n.ID)
		}
		return true
	})
}
