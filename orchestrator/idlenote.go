package orchestrator

import (
	"context"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// Idle members are told of by notes (DESIGN 10.1): one a member, which goes
// along when the lead is given something else, and all of them in one line. A
// turn of its own the lead gets for them only where nobody would hear otherwise
// what came of a question, and then one for all. What stands in a conversation
// is paid for with each further request, so little is said.

// maxResult is how much of a member's last words a note shows, in runes. Who
// has more to say writes a message.
const maxResult = 400

// stint is what a member has done since it last came to rest. crew.mu guards it.
type stint struct {
	asked     bool     // by a text of another member, and it has written to nobody since
	completed []string // tasks
	summary   string   // of the last text that it sent, with its receiver
}

// asking notes that a member has been shown texts to it alone: somebody waits
// for an answer.
//
// Only texts count: notices, answers to requests and assignments are covey's own, and
// nobody waits for an answer to them. The lead is never asked in this sense, for there is
// nobody whom its note would go to.
func (s *seat) asking(letters []mail.Message) {
	if s.member.Lead || !slices.ContainsFunc(letters, func(m mail.Message) bool { return m.Kind == mail.Text }) {
		return
	}
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	s.stint.asked = true
}

// heard takes in what a member has sent: whoever asked it something is served.
//
// Any message clears it, to whomever: who writes after it was asked has said what it
// wants to be said, and a second word from covey would cost a turn of the lead's.
func (c *crew) heard(sent []mail.Message) {
	for _, m := range sent {
		if s, ok := c.seat(m.From); ok {
			c.mu.Lock()
			s.stint.asked, s.stint.summary = false, "[to "+m.To+"] "+m.Summary
			c.mu.Unlock()
		}
	}
}

// closed takes in that a task is completed.
func (c *crew) closed(t tasks.Task) {
	if s, ok := c.seat(t.Owner); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !slices.Contains(s.stint.completed, t.ID) {
			s.stint.completed = append(s.stint.completed, t.ID)
		}
	}
}

// noteOf makes a member's note and begins its next stint. What it runs beside
// its turns is asked in its own goroutine.
//
// The member's goroutine calls it once for each turn that ends. It takes the stint away
// under the same lock under which others add to it, so that a task which is completed at
// that moment stands in this note or in the next one, in exactly one.
func (s *seat) noteOf(idle agent.Idle) mail.Note {
	n := mail.Note{IdleNote: mail.IdleNote{
		Type: mail.IdleNotification, From: s.member.Name, IdleReason: idle.Reason, TaskIDs: idle.TaskIDs,
		Background: idle.Background,
	}}
	words := wording.Short(idle.LastText, maxResult)
	if idle.Reason == agent.IdleFailed || idle.Reason == agent.IdleStopped {
		n.FailureReason = words
	} else {
		n.Result = words
	}
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	n.Completed, n.Summary, n.Wakes = s.stint.completed, s.stint.summary, s.stint.asked
	s.stint = stint{}
	return n
}

// full adds to an idle event what the crew knows and the member does not.
//
// It gives back a changed copy and leaves all other events as they are. What runs in
// the background is cut to maxDoing runes, as it stands in a line of `covey ps`.
func (s *seat) full(data agent.EventData) agent.EventData {
	idle, ok := data.(agent.Idle)
	if !ok {
		return data
	}
	for _, b := range s.backgroundTasks() {
		idle.Background = append(idle.Background, wording.Short(b.Command, wording.LineWidth))
	}
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	idle.Background = append(idle.Background, s.crew.background.Commands(s.member.Name)...)
	idle.Completed = slices.Clone(s.stint.completed)
	return idle
}

// putNote leaves a member's note for the lead.
//
// The note is in the store before anybody is poked: the loop that wakes up reads it
// there. A note that wakes nobody needs no poke; it goes along with the next turn.
func (c *crew) putNote(ctx context.Context, s *seat, n mail.Note) error {
	if err := c.store.Mail().PutNote(ctx, c.seats()[0].member.Name, n); err != nil {
		return err
	}
	if n.Wakes {
		c.mu.Lock()
		c.noted = true
		c.mu.Unlock()
		c.loop.Poke()
	}
	return nil
}

// sendNote tells the lead at once of a turn that came to nothing.
//
// It is mail and no note, because the lead can do something about it now, and mail
// begins a turn. Text and summary are for people; the model gets Data.
func (c *crew) sendNote(ctx context.Context, s *seat, n mail.Note) error {
	n.Timestamp = c.clock.Now().UTC()
	_, err := c.store.Mail().Send(ctx, actors.Actor{Name: s.member.Name}, mail.Outgoing{
		To: []string{c.seats()[0].member.Name}, Kind: mail.IdleNotification, Data: n.Shown(),
		Text:    "Teammate " + s.member.Name + " is idle: " + n.FailureReason,
		Summary: mail.Summary(s.member.Name + " is idle: " + n.FailureReason),
	})
	return err
}

// recallNotes finds out whether notes of an earlier run wait for a turn.
//
// It runs once before the loop begins, so it needs no lock.
func (c *crew) recallNotes(ctx context.Context) error {
	notes, err := c.store.Mail().Notes(ctx, c.seats()[0].member.Name)
	c.noted = slices.ContainsFunc(notes, func(n mail.Note) bool { return n.Wakes })
	return err
}

// notes are what the lead is to see of the notes for it: what answers somebody
// as it is, and of all others one line that says what they have completed. That
// somebody is idle who has done nothing is worth no word.
//
// Nothing is taken out of the store here. taken does that once the transcript holds
// them, so a crash in between shows them again under the same ids, which the member's
// history drops.
func (s *seat) notes(ctx context.Context) ([]agent.Input, error) {
	if !s.member.Lead {
		return nil, nil
	}
	notes, err := s.crew.store.Mail().Notes(ctx, s.member.Name)
	if err != nil {
		return nil, err
	}
	var in []agent.Input
	var rest []mail.Note
	for _, n := range notes {
		switch {
		case n.Wakes:
			in = append(in, agent.Input{Kind: agent.FromMail, MessageID: n.ID, Text: teamtools.NoteText(n)})
		case len(n.Completed) > 0:
			rest = append(rest, n)
		}
	}
	// So many at once that the line can be read; the others come with the next.
	rest = rest[:min(len(rest), maxNoted)]
	if len(rest) > 0 {
		in = append(in, agent.Input{Kind: agent.FromCovey, MessageID: joinedID(rest), Text: doneText(rest)})
	}
	return in, nil
}

// maxNoted is how many members one line tells of.
const maxNoted = 100

// doneText tells in one line what members have completed.
func doneText(notes []mail.Note) string {
	who := make([]string, len(notes))
	for i, n := range notes {
		list := make([]tasks.Task, len(n.Completed))
		for k, id := range n.Completed {
			list[k].ID = id
		}
		who[i] = n.From + " completed " + tasks.NamesOf(list)
	}
	return "Since you last looked: " + strings.Join(who, "; ") + "."
}

// joinedID is the id of a line that tells of several notes: a repeat of it is
// known by it, and what it tells of is done with when it is seen.
func joinedID(notes []mail.Note) string {
	ids := make([]string, len(notes))
	for i, n := range notes {
		ids[i] = n.ID
	}
	return strings.Join(ids, ",")
}

// handNotes gives the idle lead a turn for the notes, and nothing else.
//
// digests counts these turns in a row. Any other work for the lead sets the count back,
// which hand does for every kind of work, this one too; hence the count is put back
// afterwards.
func (c *crew) handNotes(ctx context.Context, lead *seat) error {
	c.mu.Lock()
	c.noted = false
	c.mu.Unlock()
	in, err := lead.notes(ctx)
	if err != nil {
		return err
	}
	if len(in) == 0 {
		c.loop.Poke() // they have gone along with something else
		return nil
	}
	c.notices.Showing(nil, in)
	c.notices.Digest()
	c.mu.Lock()
	n := c.digests + 1
	c.mu.Unlock()
	err = c.hand(lead, teammate.Work{Cause: agent.ByMessage, Inputs: in}, "")
	c.mu.Lock()
	c.digests = n // hand has begun the count again
	c.mu.Unlock()
	return err
}

// taken notes that mail and notes stand in the transcript.
//
// ids are of all that the turn was begun with. Those of notes may be several in one,
// joined by commas (joinedID). A crash between the two stores shows the mail again,
// under an id by which the member's history knows it.
func (s *seat) taken(ctx context.Context, ids []string) error {
	s.crew.notices.Shown(ids, s.crew.watch.Of(s.member.Name).Pass)
	var letters, notes []string
	for _, id := range ids {
		if strings.HasPrefix(id, mail.NoteID) {
			notes = append(notes, strings.Split(id, ",")...)
		} else {
			letters = append(letters, id)
		}
	}
	if len(notes) > 0 {
		if err := s.crew.store.Mail().DropNotes(ctx, s.member.Actor(), notes); err != nil {
			return err
		}
	}
	if len(letters) == 0 && len(notes) > 0 {
		return nil
	}
	return s.crew.store.Mail().Deliver(ctx, s.member.Actor(), letters)
}
