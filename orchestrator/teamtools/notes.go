package teamtools

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// maxResult is how much of a member's last words a note shows, in runes. Who
// has more to say writes a message.
const maxResult = 400

// maxNoted is how many members one line tells of.
const maxNoted = 100

// Notes tell the lead of members that came to rest (DESIGN 10.1): one a member, which goes
// along when the lead is given something else, and all of them in one line. The lead gets a
// turn of its own for them only where nobody would hear otherwise what came of a question,
// and then one for all. What stands in a conversation is paid for with each further request,
// so little is said.
//
// Any goroutine may call the methods, but for Recall.
type Notes struct {
	boxes   *mail.Boxes
	lead    func() string // the lead's name
	changed func()        // called when a note waits that is worth a turn

	mu      sync.Mutex
	stints  map[string]*stint // by member; none for most members that are idle
	waits   bool              // a note waits that is worth a turn
	digests int               // turns in a row that the lead got for notes alone
}

// stint is what a member has done since it last came to rest.
type stint struct {
	asked     bool     // by a text of another member, and it has written to nobody since
	completed []string // tasks
	summary   string   // of the last text that it sent, with its receiver
}

// NewNotes makes the Notes of a team. changed is called when a note waits that is worth a turn.
func NewNotes(boxes *mail.Boxes, lead func() string, changed func()) *Notes {
	return &Notes{boxes: boxes, lead: lead, changed: changed, stints: map[string]*stint{}}
}

// Recall finds out whether notes of an earlier run wait for a turn. It is called once,
// before anything else.
func (n *Notes) Recall(ctx context.Context) error {
	list, err := n.boxes.Notes(ctx, n.lead())
	n.waits = slices.ContainsFunc(list, func(n mail.Note) bool { return n.Wakes })
	return err
}

// Waits reports whether a note waits that is worth a turn, and how many turns in a row the
// lead has got for notes alone.
func (n *Notes) Waits() (yes bool, digests int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.waits, n.digests
}

// of is a member's stint; mu is held.
func (n *Notes) of(member string) *stint {
	s, ok := n.stints[member]
	if !ok {
		s = &stint{}
		n.stints[member] = s
	}
	return s
}

// Forget drops what is known of a member's life that has ended.
func (n *Notes) Forget(member string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.stints, member)
}

// Asked notes that a member has been shown texts to it alone: somebody waits for an answer.
//
// Only texts count: notices, answers to requests and assignments are covey's own, and
// nobody waits for an answer to them. The lead is never asked in this sense, for there is
// nobody to whom its note would go.
func (n *Notes) Asked(member string, letters []mail.Message) {
	if member == n.lead() || !slices.ContainsFunc(letters, func(m mail.Message) bool { return m.Kind == mail.Text }) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of(member).asked = true
}

// WasAsked reports whether somebody waits for a member's answer.
func (n *Notes) WasAsked(member string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.stints[member]
	return ok && s.asked
}

// Sent takes in what members have written: whoever asked them something is served.
//
// Any message will do, to whomever: who writes after it was asked has said what it wants to
// be said, and a second word from covey would cost the lead a turn.
func (n *Notes) Sent(texts []mail.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range texts {
		s := n.of(m.From)
		s.asked, s.summary = false, "[to "+m.To+"] "+m.Summary
	}
}

// Closed takes in that a task is completed.
func (n *Notes) Closed(t tasks.Task) {
	if t.Owner == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.of(t.Owner); !slices.Contains(s.completed, t.ID) {
		s.completed = append(s.completed, t.ID)
	}
}

// CompletedBy returns the ids of the tasks that a member has completed since it last came
// to rest.
func (n *Notes) CompletedBy(member string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, ok := n.stints[member]; ok {
		return slices.Clone(s.completed)
	}
	return nil
}

// Of makes a member's note and begins its next stint.
//
// The member's goroutine calls it once for each turn that ends. It takes the stint away
// under the lock under which others add to it, so that a task which is completed at that
// moment stands in exactly one note: this one or the next.
func (n *Notes) Of(member string, idle agent.Idle) mail.Note {
	note := mail.Note{IdleNote: mail.IdleNote{
		Type: mail.IdleNotification, From: member, IdleReason: idle.Reason, TaskIDs: idle.TaskIDs,
		Background: idle.Background,
	}}
	words := notation.Short(idle.LastText, maxResult)
	if idle.Reason == agent.IdleFailed || idle.Reason == agent.IdleStopped {
		note.FailureReason = words
	} else {
		note.Result = words
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, ok := n.stints[member]; ok {
		note.Completed, note.Summary, note.Wakes = s.completed, s.summary, s.asked
		delete(n.stints, member)
	}
	return note
}

// Put leaves a note for the lead.
//
// The note is in the store before changed is called: the loop that wakes up reads it there.
// A note that wakes nobody goes along with the lead's next turn.
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

// Send tells the lead at once of a turn that came to nothing.
//
// It is mail and no note, because the lead can do something about it now, and mail begins a
// turn. Text and summary are for people; the model gets Data.
func (n *Notes) Send(ctx context.Context, note mail.Note, now time.Time) error {
	note.Timestamp = now.UTC()
	_, err := n.boxes.Send(ctx, actors.Actor{Name: note.From}, mail.Outgoing{
		To: []string{n.lead()}, Kind: mail.IdleNotification, Data: note.Shown(),
		Text:    "Teammate " + note.From + " is idle: " + note.FailureReason,
		Summary: mail.Summary(note.From + " is idle: " + note.FailureReason),
	})
	return err
}

// Show returns what the lead is to see of the notes for it: what answers somebody as it is,
// and of all others one line that says what they have completed. Members that completed
// nothing are omitted.
//
// Nothing is taken out of the store here. Drop does that once the transcript holds them, so
// a crash in between shows them again under the same ids, which the member's history drops.
func (n *Notes) Show(ctx context.Context) ([]agent.Input, error) {
	list, err := n.boxes.Notes(ctx, n.lead())
	if err != nil {
		return nil, err
	}
	var in []agent.Input
	var rest []mail.Note
	for _, note := range list {
		switch {
		case note.Wakes:
			in = append(in, agent.Input{Kind: agent.FromMail, MessageID: note.ID, Text: NoteText(note)})
		case len(note.Completed) > 0:
			rest = append(rest, note)
		}
	}
	// So many at once that the line can be read; the others come with the next.
	rest = rest[:min(len(rest), maxNoted)]
	if len(rest) > 0 {
		in = append(in, agent.Input{Kind: agent.FromCovey, MessageID: joinedID(rest), Text: doneText(rest)})
	}
	return in, nil
}

// Take returns what the lead is to see in a turn for the notes alone. From now on no note
// waits that is worth a turn.
func (n *Notes) Take(ctx context.Context) ([]agent.Input, error) {
	n.mu.Lock()
	n.waits = false
	n.mu.Unlock()
	return n.Show(ctx)
}

// GivenTurn takes in what the lead was given a turn for. Turns in a row for notes alone are
// counted; any other work begins the count again.
func (n *Notes) GivenTurn(in []agent.Input) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.digests++
	if slices.ContainsFunc(in, func(i agent.Input) bool { return !strings.HasPrefix(i.MessageID, mail.NoteID) }) {
		n.digests = 0
	}
}

// Drop takes notes that stand in the lead's transcript out of the store. It returns the ids
// that are not of notes. An id of Show may stand for several notes.
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

// doneText tells in one line what members have completed.
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

// joinedID is the id of a line that tells of several notes: a repeat of it is known by it,
// and what it tells of is done with when it is seen.
func joinedID(list []mail.Note) string {
	ids := make([]string, len(list))
	for i, n := range list {
		ids[i] = n.ID
	}
	return strings.Join(ids, ",")
}
