package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// A member's question to its lead is a request whose answer is a text. The answer goes to the
// call that waits for it. If none waits when it is given, it is mail, so that it reaches the
// member whatever became of its call.

// listeners counts the calls that wait for the answer to a question, by questionKey. Its lock is
// also held while an answer is stored, so that an answer is either mail or a call's.
type listeners struct {
	mu    sync.Mutex
	calls map[string]int
}

// questionKey identifies a question before it has an id.
func questionKey(member, key string) string { return member + "\x00" + key }

// add counts a call that begins to wait (1) or stops (-1). mu must be held.
func (l *listeners) add(key string, n int) {
	if l.calls == nil {
		l.calls = map[string]int{}
	}
	if l.calls[key] += n; l.calls[key] == 0 {
		delete(l.calls, key)
	}
}

// Question is a question of a member to another one.
type Question struct {
	To, Text string
	// Patience is how long the call waits that asks. It may be made again with the same text
	// then. 0: it waits until the time of the question runs out, and is made again under its
	// id after a crash.
	Patience time.Duration
}

// question returns the request that a question of a member makes.
func (b *Inbox) question(by actors.Actor, q Question) requests.New {
	n := requests.New{
		Kind: requests.AskQuestion, Member: by.Name, To: q.To, Text: q.Text, Wait: b.limit, Mail: b.questionMail,
		Key: requests.KeyOf(q.To, q.Text),
	}
	if q.Patience == 0 {
		n.Key = requests.KeyOf(q.To, by.CallID) // a later question may have the same words
	}
	return n
}

// Consult asks a question and waits for the answer. A result that is open has no answer yet, and
// one that is Taken was answered by mail.
//
// The member lends its slot while it waits, because the other one may need it. If ctx ends the
// question is withdrawn, unless the team ends: the call is made again then.
func (b *Inbox) Consult(ctx context.Context, by actors.Actor, q Question) (requests.Request, error) {
	n := b.question(by, q)
	key := questionKey(n.Member, n.Key)
	b.listeners.mu.Lock()
	b.listeners.add(key, 1)
	b.listeners.mu.Unlock()
	r, err := b.await(ctx, by, n, q.Patience)
	b.listeners.mu.Lock()
	defer b.listeners.mu.Unlock()
	b.listeners.add(key, -1)
	if r.ID == "" {
		return r, err
	}
	// It may have been answered since, when this call still waited.
	lasting := context.WithoutCancel(ctx)
	now, getErr := b.ports.Store.Requests().Get(lasting, r.ID)
	switch {
	case getErr != nil:
		return r, errors.Join(err, getErr)
	case ctx.Err() != nil:
		if now.Open() && !b.ending() {
			b.logError(lasting, b.withdraw(lasting, r.ID, "the call was broken off"))
		}
		return now, context.Cause(ctx)
	case err != nil || now.Open() || now.Taken || q.Patience == 0:
		return now, err
	}
	return now, b.ports.Store.Requests().MarkTaken(ctx, r.ID)
}

// await asks a question and waits until it is closed or patience is over.
func (b *Inbox) await(ctx context.Context, by actors.Actor, n requests.New, patience time.Duration) (requests.Request, error) {
	r, err := b.Ask(ctx, by, n)
	if err != nil {
		return r, err
	}
	end := b.Asker(by.Name).beginWait(Awaited(r))
	within, cancel := ctx, context.CancelFunc(func() {})
	if patience > 0 {
		within, cancel = context.WithTimeout(ctx, patience)
	}
	defer cancel()
	_, err = b.Wait(within, r.ID)
	if within.Err() != nil && ctx.Err() == nil {
		err = nil // patience is over
	}
	return r, errors.Join(err, end(ctx))
}

// questionMail tells a member of a question to it.
func (b *Inbox) questionMail(r requests.Request) actors.Outgoing {
	return actors.Outgoing{
		Kind: actors.QuestionAsked, Text: r.Text, Summary: actors.Summary(r.Text), Data: notation.Encode(actors.Question{
			Type: actors.QuestionAsked, RequestRef: actors.Ref(r.ID), From: r.Member, Question: r.Text,
			Timestamp: b.ports.Clock.Now(),
		}),
	}
}

// Reply makes a text from one member to another the answer to the oldest question that it has
// read of that member. found is false if there is none.
func (b *Inbox) Reply(ctx context.Context, by actors.Actor, member, text string) (found bool, err error) {
	unread := b.unreadOf(ctx, by.Name)
	open := b.toAnswer(by.Name)
	i := slices.IndexFunc(open, func(r requests.Request) bool {
		return r.Kind == requests.AskQuestion && r.Member == member && !unread[r.ID]
	})
	if i < 0 {
		return false, nil
	}
	_, err = b.Answer(ctx, by, Answer{ID: open[i].ID, Approve: true, Text: text}, requests.AskQuestion)
	if errors.Is(err, tasks.ErrAnswered) { // its time ran out just now
		return false, nil
	}
	return true, err
}

// store stores an answer. That to a question is mail if no call waits for it.
func (b *Inbox) store(ctx context.Context, by actors.Actor, r requests.Request, a Answer) (requests.Request, error) {
	ruling := requests.Ruling{Approve: a.Approve, Feedback: a.Text, Mode: a.Mode, Mail: b.tell}
	if r.Kind != requests.AskQuestion {
		return b.ports.Store.Requests().Answer(ctx, by, r.ID, ruling)
	}
	b.listeners.mu.Lock()
	defer b.listeners.mu.Unlock()
	mailed := b.listeners.calls[questionKey(r.Member, r.Key)] == 0
	if mailed {
		ruling.Mail = b.replyMail
	}
	r, err := b.ports.Store.Requests().Answer(ctx, by, r.ID, ruling)
	if err == nil && mailed {
		err = b.ports.Store.Requests().MarkTaken(ctx, r.ID)
	}
	return r, err
}

// replyMail is the answer to a question as mail.
func (b *Inbox) replyMail(r requests.Request) actors.Outgoing {
	text := ClosingText(r)
	return actors.Outgoing{Kind: actors.Notice, Text: text, Summary: actors.Summary(text)}
}

// recallReply mails an answer that an earlier run has stored for a call that it did not reach. The
// builtin agent makes such a call again; a program may not.
func (b *Inbox) recallReply(ctx context.Context, r requests.Request) error {
	m, here := b.ports.Member(r.Member)
	if kind := configs.Builtin; !here || r.State == requests.Withdrawn || m.CurrentAgent().Kind == kind {
		return nil
	}
	out := b.replyMail(r)
	out.To = []string{r.Member}
	if _, err := b.ports.Store.Mail().Send(ctx, actors.Actor{CallID: actors.CallID("reply", r.ID)}, out); err != nil {
		return fmt.Errorf("mail the answer to %s: %w", r.ID, err)
	}
	return b.ports.Store.Requests().MarkTaken(ctx, r.ID)
}
