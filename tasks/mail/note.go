package mail

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/kv"
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
func (b *Boxes) PutNote(ctx context.Context, to string, n Note) error {
	for what, name := range map[string]string{"receiver": to, "sender": n.From} {
		if err := kv.CheckName(what, name); err != nil {
			return err
		}
	}
	for _, text := range []*string{&n.Summary, &n.Result, &n.FailureReason} {
		*text = kv.Clean(*text)
		if len(*text) > kv.MaxShort {
			return fmt.Errorf("%w: a note of %d bytes, at most %d are allowed", kv.ErrInvalid, len(*text), kv.MaxShort)
		}
	}
	return b.db.Job("note").Submit(ctx, func(t *kv.Tx) error { return putNote(t, to, n) })
}

// putNote takes up what the note before says, which nobody has seen.
//
// The id is a new one each time: who has seen the note before has not seen this one, and
// DropNotes of the old id leaves it.
func putNote(t *kv.Tx, to string, n Note) error {
	key := kv.NameKey(to, []byte(n.From)...)
	if had := t.Bucket(NotesBucket).Get(key); had != nil {
		before, err := kv.Decode[Note]("note of "+n.From, had)
		if err != nil {
			return err
		}
		n = n.after(*before)
	}
	n.ID, n.Type, n.Timestamp = NoteID+newID(t), IdleNotification, t.Now()
	t.Put(NotesBucket, key, t.Encode(n))
	return nil
}

// after is the note with what the one before it says and it does not.
func (n Note) after(before Note) Note {
	n.Wakes = n.Wakes || before.Wakes
	n.Completed = kv.Unique(slices.Concat(before.Completed, n.Completed))
	if extra := len(n.Completed) - maxNoteIDs; extra > 0 {
		n.Completed = n.Completed[extra:]
	}
	return n
}

// Notes gives the notes for a member, by their senders' names.
func (b *Boxes) Notes(ctx context.Context, to string) ([]Note, error) {
	return kv.View(ctx, b.db, "notes for "+kv.Clip(to), func(r kv.Reader) ([]Note, error) { return notes(r, to) })
}

func notes(r kv.Reader, to string) ([]Note, error) {
	return kv.All(r, NotesBucket, kv.NameKey(to), func(_, v []byte) (Note, error) {
		n, err := kv.Decode[Note]("note for "+to, v)
		if err != nil {
			return Note{}, err
		}
		return *n, nil
	})
}

// DropNotes removes the notes for a member, the actor, with these ids: it has seen them.
// A note that has changed since has another id, and stays. It fails with ErrStale as
// Deliver does.
func (b *Boxes) DropNotes(ctx context.Context, a actors.Actor, ids []string) error {
	ids = slices.Clone(ids) // the change may outlive the call
	return b.db.Job("drop notes").Submit(ctx, func(t *kv.Tx) error {
		if err := a.Admit(t.Reader); err != nil {
			return err
		}
		list, err := notes(t.Reader, a.Name)
		if err != nil {
			return err
		}
		for _, n := range list {
			if slices.Contains(ids, n.ID) {
				t.Delete(NotesBucket, kv.NameKey(a.Name, []byte(n.From)...))
			}
		}
		return nil
	})
}

// Shown is the note as its receiver sees it: JSON of the fields that say
// something.
func (n Note) Shown() json.RawMessage {
	if last := len(n.Completed) - 1; last >= 0 {
		n.CompletedTaskID, n.CompletedStatus = n.Completed[last], "completed"
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
