package mail

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

// Note is an idle notification that its receiver has not seen. There is one per
// sender and receiver, which later notifications are merged into, so that a member
// that becomes idle again and again takes the room of one. Notes are not mail: they
// fill no mailbox and wake no member.
type Note struct {
	ID string `json:"id"` // changes with each change of the note; begins with NoteID
	IdleNote
	// Completed are the tasks that the sender has completed since the receiver last
	// saw a note from it, in that order.
	Completed []string `json:"completed,omitempty"`
	// Wakes means that the note alone is reason enough for a turn of the receiver,
	// because otherwise nobody would learn of an outcome.
	Wakes bool `json:"wakes,omitempty"`
}

// NoteID is the prefix of the ids of notes. No id of a message starts with it.
const NoteID = "idle-"

// maxNoteIDs bounds the tasks that one note names; it names the last ones.
const maxNoteIDs = 100

// PutNote stores a note from n.From for a member and replaces the previous one. The
// store sets its id and time. PutNote fails with ErrInvalid for names that cannot be
// stored.
func (b *Boxes) PutNote(ctx context.Context, to string, n Note) error {
	for what, name := range map[string]string{"receiver": to, "sender": n.From} {
		if err := store.CheckName(what, name); err != nil {
			return err
		}
	}
	for _, text := range []*string{&n.Summary, &n.Result, &n.FailureReason} {
		*text = store.Clean(*text)
		if len(*text) > store.MaxShort {
			return fmt.Errorf("%w: a note of %d bytes, at most %d are allowed", store.ErrInvalid, len(*text), store.MaxShort)
		}
	}
	return b.db.Job("note").Submit(ctx, func(t *store.Tx) error { return putNote(t, to, n) })
}

// putNote merges the previous note, which the receiver has not seen, into n.
//
// It assigns a new id each time: whoever has seen the previous note has not seen this
// one, and DropNotes with the old id must not remove it.
func putNote(t *store.Tx, to string, n Note) error {
	key := store.NameKey(to, []byte(n.From)...)
	if had := t.Bucket(NotesBucket).Get(key); had != nil {
		before, err := store.Decode[Note]("note of "+n.From, had)
		if err != nil {
			return err
		}
		n = n.merge(*before)
	}
	n.ID, n.Type, n.Timestamp = NoteID+newID(t), IdleNotification, t.Now()
	t.Put(NotesBucket, key, t.Encode(n))
	return nil
}

// merge returns the note with what the previous one adds.
func (n Note) merge(before Note) Note {
	n.Wakes = n.Wakes || before.Wakes
	n.Completed = store.Unique(slices.Concat(before.Completed, n.Completed))
	if extra := len(n.Completed) - maxNoteIDs; extra > 0 {
		n.Completed = n.Completed[extra:]
	}
	return n
}

// Notes returns the notes for a member, ordered by sender.
func (b *Boxes) Notes(ctx context.Context, to string) ([]Note, error) {
	return store.View(ctx, b.db, "notes for "+store.Clip(to), func(r store.Reader) ([]Note, error) { return notes(r, to) })
}

func notes(r store.Reader, to string) ([]Note, error) {
	return store.Records[Note](r, NotesBucket, "note %q", store.NameKey(to))
}

// DropNotes removes the notes with these ids for a member, the actor, that has seen
// them. A note that has changed since then has another id, and stays. DropNotes fails
// with ErrStale as Deliver does.
func (b *Boxes) DropNotes(ctx context.Context, a actors.Actor, ids []string) error {
	ids = slices.Clone(ids) // the change may outlive the call
	return b.db.Job("drop notes").Submit(ctx, func(t *store.Tx) error {
		if err := a.Admit(t.Reader); err != nil {
			return err
		}
		list, err := notes(t.Reader, a.Name)
		if err != nil {
			return err
		}
		for _, n := range list {
			if slices.Contains(ids, n.ID) {
				t.Delete(NotesBucket, store.NameKey(a.Name, []byte(n.From)...))
			}
		}
		return nil
	})
}

// Shown returns the JSON that the receiver of the note sees, without empty fields.
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
