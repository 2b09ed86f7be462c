package inbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// Answer is an answer to a request.
type Answer struct {
	ID      string // of the request
	Approve bool
	Text    string // the reason or feedback; may be empty
	// Mode is the permission mode granted with an approved plan; empty: the
	// member's own.
	Mode string
}

// Answer answers a question, for a person or for the member that has to answer
// it. If kinds are given, only questions of these kinds may be answered.
//
// The store checks in its transaction whether by may answer; Answer checks only
// what the store cannot know. Once the answer is stored, Answer acts on it even
// if ctx ends, because the request is closed and cannot be answered again. If it
// returns nil, the answer has been acted on, or the team has ended and the next
// run acts on it.
func (b *Inbox) Answer(
	ctx context.Context, by actors.Actor, a Answer, kinds ...requests.Kind,
) (requests.Request, error) {
	r, err := b.Find(ctx, by.Name, a.ID)
	if err != nil {
		return r, err
	}
	if len(kinds) > 0 && !slices.Contains(kinds, r.Kind) {
		return r, texts.Errorf(tasks.ErrInvalid, "request %s asks about something else: %s", r.ID, texts.FirstLine(r.Text))
	}
	if err := errors.Join(b.mayGrant(by, r, a), mayFill(r, a)); err != nil {
		return r, err
	}
	if r, err = b.Questions.store(ctx, by, r, a); err != nil {
		return r, err
	}
	acting, done := b.UntilEnd(ctx)
	defer done()
	if err = b.concluded(acting, r); acting.Err() != nil {
		return r, nil // the team ends; the next run acts on the answer
	}
	return r, err
}

// MayAnswer returns an error if a person cannot answer r, or not with this
// permission mode.
func MayAnswer(r requests.Request, mode string) error {
	switch {
	case r.Kind == requests.AskShutdown:
		return texts.Errorf(tasks.ErrInvalid, "only %s can answer its request to end; covey down --member %s --now ends it without asking",
			r.To, r.To)
	case mode != "" && r.Kind != requests.AskPlan:
		return texts.Errorf(tasks.ErrInvalid, "a permission mode is only for the approval of a plan")
	case mode != "" && modeRank(mode) < 0:
		return noSuchMode(mode)
	}
	return nil
}

// Find returns a request by its id, or by the name of the member that asks, if
// exactly one open request from that member to who matches. A name does not match
// a request that who has not read, because who then means an earlier request that
// this one has replaced.
//
// An id also finds closed requests, so that a second answer gets an error that
// names the first. An ambiguous name is an error that lists the ids: a guess
// might approve the wrong plan.
func (b *Inbox) Find(ctx context.Context, who, id string) (requests.Request, error) {
	r, err := b.deps.Store.Requests().Find(ctx, id)
	_, member := b.deps.Members.Member(id)
	member = member || id == actors.Operator
	if err == nil || !member {
		return r, err
	}
	unread := b.unreadOf(ctx, who)
	var found []requests.Request
	for _, r := range b.Open() {
		if r.Member == id && r.To == who && !unread[r.ID] {
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return r, texts.Errorf(tasks.ErrInvalid, "%s may mean %d requests: %s", id, len(found), requestIDs(found))
	case who == "":
		return r, texts.Errorf(tasks.ErrNotFound, "%s may ask something else by now; answer by the id, which covey inbox lists", id)
	}
	return r, texts.Errorf(tasks.ErrNotFound, "%s asks nothing of %s that it has read", id, who)
}

// unreadOf returns the requests in a member's unread mail. It returns none if the
// mail cannot be read: the store checks the answer anyway.
func (b *Inbox) unreadOf(ctx context.Context, who string) map[string]bool {
	unread := map[string]bool{}
	letters, err := b.deps.Store.Mail().Unread(ctx, who)
	if err != nil {
		return unread
	}
	for _, m := range letters {
		if id := requestIn(m); id != "" {
			unread[id] = true
		}
	}
	return unread
}

// requestIDs lists the ids of requests for people.
func requestIDs(list []requests.Request) string {
	ids := make([]string, len(list))
	for i, r := range list {
		ids[i] = r.ID
	}
	return strings.Join(ids, ", ")
}

// mayGrant returns an error if an answer grants a permission mode that allows
// more than the member's spec. Only a person may grant it: a prompt injection
// could make a lead do so.
func (b *Inbox) mayGrant(by actors.Actor, r requests.Request, a Answer) error {
	if a.Mode == "" {
		return nil
	}
	if r.Kind != requests.AskPlan {
		return texts.Errorf(tasks.ErrInvalid, "a permission mode is only for the approval of a plan")
	}
	m, ok := b.deps.Members.Member(r.Member)
	return MayHaveMode(by.Name == actors.Operator || !ok, m, a.Mode)
}

// concluded acts on a request that was just closed, and wakes those that wait for
// it.
func (b *Inbox) concluded(ctx context.Context, r requests.Request) error {
	if actsAtOnce(r) {
		if err := b.act(ctx, r); err != nil {
			return err
		}
	}
	return b.refresh(ctx)
}

// actsAtOnce reports whether the inbox acts on an answer as soon as it is stored.
// What a call waits for is left to that call.
func actsAtOnce(r requests.Request) bool {
	return r.Kind != requests.AskPermission && r.Kind != requests.AskQuestion && r.Kind != requests.AskForm
}

// act acts on an answer, and then marks it as taken. After a crash in between
// recall acts on it again, so everything that Apply does must be idempotent.
//
// Of two calls for one answer to be acted on before it is read (ActOn), the second has no
// effect: changes that the member has made since the first are not what a person allowed.
func (b *Inbox) act(ctx context.Context, r requests.Request) (err error) {
	if r.Kind == requests.AskPlan || r.Kind == requests.AskAttention {
		b.acting.Lock()
		defer b.acting.Unlock()
		now, err := b.deps.Store.Requests().Get(ctx, r.ID)
		if err != nil {
			return fmt.Errorf("read the answer to %s: %w", r.ID, err)
		}
		if now.Taken {
			return nil
		}
	}
	switch apply := b.applying(); {
	case r.Kind == requests.AskPlan:
		err = b.Plans.ApplyAnswer(ctx, r)
	case apply == nil:
		return nil // TakeUp acts on it
	default:
		err = apply(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("act on the answer to %s: %w", r.ID, err)
	}
	return b.deps.Store.Requests().MarkTaken(ctx, r.ID)
}

// ActOn prepares the inbox for mail that is about to be shown. Both a question and an
// answer can be read as soon as they are stored: whoever reads "approved" must be able to
// work, whoever reads "not approved" must be able to ask again, and whoever reads a question must
// be able to answer it by its asker's name. So it acts on answers to plans, about finished tasks and
// about members that need attention, unless Answer has done so already, and reads the open
// questions again.
func (b *Inbox) ActOn(ctx context.Context, letters []mail.Message) error {
	about := false
	for _, m := range letters {
		id := requestIn(m)
		if about = about || id != ""; id == "" || m.Kind != mail.PlanAnswered && m.Kind != mail.ApprovalAnswered && m.Kind != mail.OperatorMessage {
			continue
		}
		r, err := b.deps.Store.Requests().Get(ctx, id)
		switch {
		case errors.Is(err, tasks.ErrNotFound): // so old that it is no longer kept
			continue
		case err != nil:
			return fmt.Errorf("read the answer to %s: %w", id, err)
		case r.Open() || r.Taken:
			continue
		}
		if err := b.act(ctx, r); err != nil {
			return err
		}
	}
	if !about {
		return nil
	}
	return b.refresh(ctx)
}

// requestIn returns the id of the request that a message is about, or "".
func requestIn(m mail.Message) string {
	var ref mail.RequestRef
	if json.Unmarshal(m.Data, &ref) != nil {
		return ""
	}
	return ref.RequestID
}

// tell returns the mail on the end of a request for the member that it is about.
// It has no text if no mail is sent. The store calls it before the commit, with
// the closed request.
func (b *Inbox) tell(r requests.Request) mail.Outgoing {
	if _, member := b.deps.Members.Member(r.Member); !member {
		return mail.Outgoing{}
	}
	return AnswerMail(r, b.deps.Clock.Now())
}

// AnswerMail returns the mail on the end of a request for the member that it is
// about. It has no text if no mail is sent.
func AnswerMail(r requests.Request, now time.Time) mail.Outgoing {
	silent := !actsAtOnce(r) || r.Kind == requests.AskMerge // the asker reads the store
	if silent || r.Kind == requests.AskAttention && !r.Approved() {
		return mail.Outgoing{}
	}
	return closingMail(r, now)
}

// closingMail returns the mail with the answer.
func closingMail(r requests.Request, now time.Time) mail.Outgoing {
	yes := r.Approved()
	answer := mail.Answer{
		RequestRef: mail.Ref(r.ID), From: cmp.Or(r.By,
			actors.Covey), Approved: yes, PermissionMode: r.Mode, Timestamp: now,
	}
	out := mail.Outgoing{Text: ClosingText(r)}
	switch r.Kind {
	case requests.AskPlan:
		out.Kind, answer.Feedback = mail.PlanAnswered, r.Feedback
	case requests.AskApproval:
		out.Kind, answer.Feedback = mail.ApprovalAnswered, r.Feedback
	case requests.AskShutdown:
		out.Kind, answer.Reason = mail.ShutdownRejected, r.Feedback
		if yes {
			out.Kind = mail.ShutdownApproved
		}
	case requests.AskAttention:
		// The id lets ActOn find the answer.
		return mail.Outgoing{
			Kind: mail.OperatorMessage, Text: cmp.Or(r.Feedback, "Go on."), Data: texts.Encode(mail.Ref(r.ID)),
		}
	}
	answer.Type = out.Kind
	out.Data, out.Summary = texts.Encode(answer), mail.Summary(out.Text)
	return out
}

// ClosingText returns how a request ended. It is written to the journal, and is the
// text of the mail about an expired request.
func ClosingText(r requests.Request) string {
	who, what := r.By, subjectOf(r)
	if who == actors.Operator {
		who = "a person"
	}
	said := ""
	if r.Feedback != "" {
		said = ": " + r.Feedback
	}
	switch {
	case r.State == requests.Expired && r.Kind == requests.AskPlan:
		return fmt.Sprintf("Nobody has answered about your plan in time, so it is not approved (request %s). "+
			"Submit it again, or tell your lead.", r.ID)
	case r.State == requests.Expired && r.Kind == requests.AskApproval:
		return fmt.Sprintf("%s has not answered about %s in time, so it is not approved (request %s). "+
			"Complete it once more to ask again, or tell your lead.", capital(AnswererName(r.To)), what, r.ID)
	case r.Kind == requests.AskQuestion && r.Feedback != "":
		return fmt.Sprintf("%s answers your question %q%s", capital(who), texts.Preview(r.Text, 200), said)
	case r.State == requests.Expired:
		return fmt.Sprintf("Request %s was not answered in time.", r.ID)
	case r.Kind == requests.AskPlan && r.Approved():
		return fmt.Sprintf("Your plan is approved by %s%s. Carry it out.", who, said)
	case r.Kind == requests.AskPlan:
		return fmt.Sprintf("Your plan is not approved by %s%s\nRevise it and submit it again.", who, said)
	case r.Kind == requests.AskApproval && r.Approved():
		return fmt.Sprintf("Your work on %s is approved by %s%s. Set it to completed now.", what, who, said)
	case r.Kind == requests.AskApproval:
		return fmt.Sprintf("Your work on %s is not approved by %s%s\nFix it, then complete it again.", what, who, said)
	case r.Kind == requests.AskShutdown && r.Approved():
		return fmt.Sprintf("%s agrees to end%s.", capital(who), said)
	case r.Kind == requests.AskShutdown:
		return fmt.Sprintf("%s goes on working%s.", capital(who), said)
	}
	return fmt.Sprintf("Request %s was %s%s.", r.ID, r.State, said)
}

// capital capitalizes "a person" for the start of a sentence. Names of members do
// not change.
func capital(who string) string {
	if strings.HasPrefix(who, "a person") {
		return "A" + who[1:]
	}
	return who
}
