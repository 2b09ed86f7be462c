package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// A member's question to its lead is a request whose answer is a text. The answer goes to the
// call that waits for it. If none waits when it is given, it is mail, so that it reaches the
// member whatever became of its call.

// Questions are those of members to their lead. Its methods may be called from any goroutine.
type Questions struct {
	inbox *Inbox

	// mu is also held while an answer is stored, so that an answer is either mail or a call's.
	mu    sync.Mutex
	calls map[string]int // that wait for the answer to a question, by questionKey
}

// questionKey identifies a question before it has an id.
func questionKey(member, key string) string { return member + "\x00" + key }

// add counts a call that begins to wait (1) or stops (-1). mu must be held.
func (q *Questions) add(key string, n int) {
	if q.calls[key] += n; q.calls[key] == 0 {
		delete(q.calls, key)
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

// request returns the request that a question of a member makes.
func (g *Questions) request(by actors.Actor, q Question) requests.New {
	n := requests.New{
		Kind: requests.AskQuestion, Member: by.Name, To: q.To, Text: q.Text, Wait: g.inbox.limit, Mail: g.mail,
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
func (g *Questions) Consult(ctx context.Context, by actors.Actor, q Question) (requests.Request, error) {
	b, n := g.inbox, g.request(by, q)
	key := questionKey(n.Member, n.Key)
	g.mu.Lock()
	g.add(key, 1)
	g.mu.Unlock()
	r, err := g.await(ctx, by, n, q.Patience)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.add(key, -1)
	if r.ID == "" {
		return r, err
	}
	// It may have been answered since, when this call still waited.
	lasting := context.WithoutCancel(ctx)
	now, getErr := b.deps.Store.Requests().Get(lasting, r.ID)
	switch {
	case getErr != nil:
		return r, errors.Join(err, getErr)
	case ctx.Err() != nil:
		if now.Open() && !b.ending() {
			b.logError(lasting, b.Withdraw(lasting, r.ID, "the call was broken off"))
		}
		return now, context.Cause(ctx)
	case err != nil || now.Open() || now.Taken || q.Patience == 0:
		return now, err
	}
	return now, b.deps.Store.Requests().MarkTaken(ctx, r.ID)
}

// await asks a question and waits until it is closed or patience is over.
func (g *Questions) await(
	ctx context.Context, by actors.Actor, n requests.New, patience time.Duration,
) (requests.Request, error) {
	b := g.inbox
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

// mail tells a member of a question to it.
func (g *Questions) mail(r requests.Request) mail.Outgoing {
	return mail.Outgoing{
		Kind: mail.QuestionAsked, Text: r.Text, Summary: mail.Summary(r.Text),
		Data: texts.Encode(mail.Question{
			Type: mail.QuestionAsked, RequestRef: mail.Ref(r.ID), From: r.Member, Question: r.Text,
			Timestamp: g.inbox.deps.Clock.Now(),
		}),
	}
}

// Reply makes a text from one member to another the answer to the oldest question that it has
// read of that member. found is false if there is none.
func (g *Questions) Reply(ctx context.Context, by actors.Actor, member, text string) (found bool, err error) {
	b := g.inbox
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
func (g *Questions) store(
	ctx context.Context, by actors.Actor, r requests.Request, a Answer,
) (requests.Request, error) {
	store := g.inbox.deps.Store.Requests()
	ruling := requests.Ruling{Approve: a.Approve, Feedback: a.Text, Mode: a.Mode, Mail: g.inbox.tell}
	if r.Kind != requests.AskQuestion {
		return store.Answer(ctx, by, r.ID, ruling)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	mailed := g.calls[questionKey(r.Member, r.Key)] == 0
	if mailed {
		ruling.Mail = replyMail
	}
	r, err := store.Answer(ctx, by, r.ID, ruling)
	if err == nil && mailed {
		err = store.MarkTaken(ctx, r.ID)
	}
	return r, err
}

// replyMail is the answer to a question as mail.
func replyMail(r requests.Request) mail.Outgoing {
	text := ClosingText(r)
	return mail.Outgoing{Kind: mail.Notice, Text: text, Summary: mail.Summary(text)}
}

// recall mails an answer that an earlier run has stored for a call that it did not reach. The
// builtin agent makes such a call again; a program may not.
func (g *Questions) recall(ctx context.Context, r requests.Request) error {
	b := g.inbox
	m, here := b.deps.Members.Member(r.Member)
	if !here || r.State == requests.Withdrawn || m.CurrentAgent().Kind == configs.Builtin {
		return nil
	}
	out := replyMail(r)
	out.To = []string{r.Member}
	by := actors.Actor{CallID: actors.CallID("reply", r.ID)}
	if _, err := b.deps.Store.Mail().Send(ctx, by, out); err != nil {
		return fmt.Errorf("mail the answer to %s: %w", r.ID, err)
	}
	return b.deps.Store.Requests().MarkTaken(ctx, r.ID)
}
