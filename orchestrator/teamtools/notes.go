package teamtools

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// maxResult limits how much of a member's last text a note shows, in runes. A
// member that has more to say writes a message.
const maxResult = 400

// maxNoted limits how many members one line names.
const maxNoted = 100

// Notes tell the lead which members went idle, with one note per
// member. Most notes are joined to one line, which goes into the lead's next
// prompt. The lead gets a turn for notes only if a member was asked something and
// has not written since, and then one turn for all notes. The texts are short
// because each further request pays for them again.
//
// All methods except Begin may be called from any goroutine.
type Notes struct {
	boxes   *mail.Boxes
	lead    func() string // the lead's name
	changed func()        // called when a note waits that is worth a turn

	mu       sync.Mutex
	activity map[string]activity // by member; most idle members have none
	waits    bool                // a note waits that is worth a turn
	digests  int                 // consecutive turns of the lead for notes only
}

// activity is what a member has done since it was last idle.
type activity struct {
	asked     bool     // another member sent it a text, and it has written to nobody since
	completed []string // ids of tasks
	summary   string   // of the last text that it sent, with the recipient
}

// NewNotes makes the Notes of a team. changed is called when a note waits that is
// worth a turn.
func NewNotes(boxes *mail.Boxes, lead func() string, changed func()) *Notes {
	return &Notes{boxes: boxes, lead: lead, changed: changed, activity: map[string]activity{}}
}

// Begin reads from the store whether notes of an earlier run wait for a turn. It implements
// crew.Starter.
func (n *Notes) Begin(ctx context.Context) error {
	list, err := n.boxes.Notes(ctx, n.lead())
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waits = n.waits || slices.ContainsFunc(list, func(n mail.Note) bool { return n.Wakes })
	return err
}

// Describe sets whether a note waits that is worth a turn, and how many consecutive turns the lead
// has had for notes only. It implements crew.Describer.
func (n *Notes) Describe(s *plan.Scene, _ []*members.Member) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s.Noted, s.Digests = n.waits, n.digests
}

// Complete adds the tasks that a member has completed to its idle event. A turn is not empty if its
// end has completed a task, or if its final text goes to a member that has asked, as a note. It
// implements crew.Completer.
func (n *Notes) Complete(_ context.Context, m *members.Member, e events.Event) (events.Event, error) {
	switch data := e.Data.(type) {
	case events.Idle:
		data.Completed = n.CompletedBy(m.Name)
		e.Data = data
	case events.TurnEnded:
		data.Empty = data.Empty && !n.WasAsked(m.Name) && len(n.CompletedBy(m.Name)) == 0
		e.Data = data
	}
	return e, nil
}

// Rejoined drops the activity of a session that has ended. It implements crew.Rejoiner.
func (n *Notes) Rejoined(ctx context.Context, m *members.Member, _ members.Return) error {
	return n.Left(ctx, m.Name)
}

// Left drops the activity of a member that has left the team. It implements crew.Leaver.
func (n *Notes) Left(_ context.Context, member string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.activity, member)
	return nil
}

// Asked records that a member was shown texts sent to it alone, so a sender waits
// for an answer.
//
// Only texts count: nobody waits for an answer to notices, answers to requests
// and assignments, which covey sends. The lead does not count, because its notes
// would go to itself.
func (n *Notes) Asked(member string, letters []mail.Message) {
	if member == n.lead() || !slices.ContainsFunc(letters, func(m mail.Message) bool { return m.Kind == mail.Text }) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.activity[member]
	now.asked = true
	n.activity[member] = now
}

// WasAsked reports whether somebody waits for a member's answer.
func (n *Notes) WasAsked(member string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.activity[member].asked
}

// Sent records that members have sent texts, so nobody waits for their answers
// any more.
//
// A message to any recipient counts as the answer: a member that writes after it
// was asked has said what it wants to say, and a note besides would cost the lead
// a turn.
func (n *Notes) Sent(texts []mail.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range texts {
		now := n.activity[m.From]
		now.asked, now.summary = false, "[to "+m.To+"] "+m.Summary
		n.activity[m.From] = now
	}
}

// Closed records that a task is completed.
func (n *Notes) Closed(t tasks.Task) {
	if t.Owner == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := n.activity[t.Owner]; !slices.Contains(now.completed, t.ID) {
		now.completed = append(now.completed, t.ID)
		n.activity[t.Owner] = now
	}
}

// CompletedBy returns the ids of the tasks that a member has completed since it
// was last idle.
func (n *Notes) CompletedBy(member string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.activity[member].completed)
}

// Of makes a member's note and resets its activity.
//
// The member's goroutine calls it once at each turn end. Reading and resetting
// happen under one lock, so that a task which is completed at that moment is in
// exactly one note.
func (n *Notes) Of(member string, idle events.Idle) mail.Note {
	note := mail.Note{IdleNote: mail.IdleNote{
		Type: mail.IdleNotification, From: member, IdleReason: idle.Reason, TaskIDs: idle.TaskIDs,
		Background: idle.Background,
	}}
	words := texts.Short(idle.LastText, maxResult)
	if idle.Reason == events.IdleFailed || idle.Reason == events.IdleStopped {
		note.FailureReason = words
	} else {
		note.Result = words
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	did := n.activity[member]
	delete(n.activity, member)
	note.Completed, note.Summary, note.Wakes = did.completed, did.summary, did.asked
	return note
}

// Put stores a note for the lead.
//
// It calls changed only after the note is stored, because the loop that wakes up
// reads it from there. A note that does not wake the lead is shown in its next
// turn.
func (n *Notes) Put(ctx context.Context, note mail.Note) error {
	if err := n.boxes.PutNote(ctx, n.lead(), note); err != nil || !note.Wakes {
		return err
	}
	n.mu.Lock()
	n.waits = true
	n.mu.Unlock()
	n.changed()
	return nil
}

// Send tells the lead at once of a turn that failed.
//
// It sends mail instead of a note, because mail begins a turn and the lead can
// act now. Text and summary are for people; the model gets Data.
func (n *Notes) Send(ctx context.Context, note mail.Note, now time.Time) error {
	note.Timestamp = now.UTC()
	_, err := n.boxes.Send(ctx, actors.Actor{Name: note.From}, mail.Outgoing{
		To: []string{n.lead()}, Kind: mail.IdleNotification, Data: note.Shown(),
		Text:    "Teammate " + note.From + " is idle: " + note.FailureReason,
		Summary: mail.Summary(note.From + " is idle: " + note.FailureReason),
	})
	return err
}

// List returns the notes that the lead is to be shown: those that answer somebody, and those of members
// that have completed something.
//
// List does not remove notes from the store. Drop does so once the transcript
// holds them. After a crash in between they are shown again under the same ids,
// and the member's history drops the repeats.
func (n *Notes) List(ctx context.Context) ([]mail.Note, error) {
	list, err := n.boxes.Notes(ctx, n.lead())
	if err != nil {
		return nil, err
	}
	more := 0
	return slices.DeleteFunc(list, func(note mail.Note) bool {
		if !note.Wakes && len(note.Completed) > 0 {
			more++
		}
		// The line must stay readable; the remaining notes come with the next one.
		return !note.Wakes && (len(note.Completed) == 0 || more > maxNoted)
	}), nil
}

// NoteInputs returns the inputs that show the lead notes: each note that answers somebody in full, and one
// line on what the other members have completed.
func NoteInputs(list []mail.Note) (in []agent.Input) {
	var rest []mail.Note
	for _, note := range list {
		if note.Wakes {
			in = append(in, agent.Input{Kind: agent.FromMail, MessageID: note.ID, Text: NoteText(note)})
		} else {
			rest = append(rest, note)
		}
	}
	if len(rest) > 0 {
		in = append(in, agent.Input{Kind: agent.FromCovey, MessageID: joinedID(rest), Text: doneText(rest)})
	}
	return in
}

// Take returns the notes for a turn for notes only, for which no note waits any more then.
func (n *Notes) Take(ctx context.Context) ([]mail.Note, error) {
	n.mu.Lock()
	n.waits = false
	n.mu.Unlock()
	return n.List(ctx)
}

// Assigned counts the lead's consecutive turns for notes only. It implements crew.Assigner.
func (n *Notes) Assigned(m *members.Member, w teammate.Work) {
	if !m.Lead {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.digests++; !w.Digest {
		n.digests = 0
	}
}

// Drop removes notes that are in the lead's transcript from the store. It returns
// the ids that are not of notes. An id from NoteInputs may stand for several notes.
func (n *Notes) Drop(ctx context.Context, by actors.Actor, ids []string) (others []string, err error) {
	var seen []string
	for _, id := range ids {
		if strings.HasPrefix(id, mail.NoteID) {
			seen = append(seen, strings.Split(id, ",")...)
		} else {
			others = append(others, id)
		}
	}
	if len(seen) > 0 {
		err = n.boxes.DropNotes(ctx, by, seen)
	}
	return others, err
}

// doneText returns one line on what members have completed.
func doneText(list []mail.Note) string {
	who := make([]string, len(list))
	for i, n := range list {
		done := make([]tasks.Task, len(n.Completed))
		for k, id := range n.Completed {
			done[k].ID = id
		}
		who[i] = n.From + " completed " + tasks.NamesOf(done)
	}
	return "Since you last looked: " + strings.Join(who, "; ") + "."
}

// joinedID returns the id of a line for several notes. It identifies a repeated
// line, and Drop finds the ids of the notes in it.
func joinedID(list []mail.Note) string {
	ids := make([]string, len(list))
	for i, n := range list {
		ids[i] = n.ID
	}
	return strings.Join(ids, ",")
}
