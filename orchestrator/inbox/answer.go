package inbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// Answer is what somebody says to a request.
type Answer struct {
	ID      string // of the request
	Approve bool
	Text    string // the reason or feedback; may be empty
	// Mode is the permission mode that goes with an approved plan; empty: the
	// member's own.
	Mode string
}

// Answer takes in what somebody says to a question: a person at the inbox, or
// the member to whom it was put. kinds are those that may be answered this way;
// none: all.
//
// Whether the one who answers may do so at all is for the store to say, in the commit
// in which the answer is written; here only what the store cannot know is looked at.
// When it returns without an error, what follows from the answer has been done, or the team
// has ended and its next run does it. An answer that is stored is acted on even if ctx ends:
// the request is closed then, and nobody could answer it again.
func (b *Inbox) Answer(
	ctx context.Context, by actors.Actor, a Answer, kinds ...requests.Kind,
) (requests.Request, error) {
	r, err := b.Find(ctx, by.Name, a.ID)
	if err != nil {
		return r, err
	}
	if len(kinds) > 0 && !slices.Contains(kinds, r.Kind) {
		return r, notation.Errorf(tasks.ErrInvalid, "request %s asks about something else: %s", r.ID, notation.FirstLine(r.Text))
	}
	if err := b.mayGrant(by, r, a); err != nil {
		return r, err
	}
	r, err = b.ports.Store.Requests().Answer(ctx, by, r.ID, requests.Ruling{
		Approve: a.Approve, Feedback: a.Text, Mode: a.Mode, Mail: b.tell,
	})
	if err != nil {
		return r, err
	}
	acting, done := b.UntilEnd(ctx)
	defer done()
	if err = b.concluded(acting, r); acting.Err() != nil {
		return r, nil // the team ends; the next run acts on the answer
	}
	return r, err
}

// MayAnswer refuses what a person cannot answer in the inbox, or not with a permission mode.
func MayAnswer(r requests.Request, mode string) error {
	switch {
	case r.Kind == requests.AskShutdown:
		return notation.Errorf(tasks.ErrInvalid, "%s is asked to end, and answers itself; covey down --member %s --now does not ask",
			r.To, r.To)
	case mode != "" && r.Kind != requests.AskPlan:
		return notation.Errorf(tasks.ErrInvalid, "a permission mode goes with the approval of a plan alone")
	case mode != "" && modeRank(mode) < 0:
		return noSuchMode(mode)
	}
	return nil
}

// Find returns the request that who means: by its id, or by the name of the member that
// asks, if it asks who one thing only. By name nobody can mean what it has not read yet:
// a request may have been replaced since.
//
// An id finds closed requests too, so that a second answer hears that there was a first
// one. Names look among the open ones alone, and what they leave open is an error that
// lists the ids: a guess might approve the wrong plan.
func (b *Inbox) Find(ctx context.Context, who, id string) (requests.Request, error) {
	r, err := b.ports.Store.Requests().Find(ctx, id)
	_, member := b.ports.Member(id)
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
		return r, notation.Errorf(tasks.ErrInvalid, "%s may mean %d requests: %s", id, len(found), requestIDs(found))
	case who == "":
		return r, notation.Errorf(tasks.ErrNotFound, "%s may ask something else by now; answer by the id, which covey inbox lists", id)
	}
	return r, notation.Errorf(tasks.ErrNotFound, "%s asks nothing of %s that it has read", id, who)
}

// unreadOf are the requests of which a member has not read yet. Where that cannot
// be known nothing is held back: the answer itself is checked.
func (b *Inbox) unreadOf(ctx context.Context, who string) map[string]bool {
	unread := map[string]bool{}
	letters, err := b.ports.Store.Mail().Unread(ctx, who)
	if err != nil {
		return unread
	}
	for _, m := range letters {
		var ref mail.RequestRef
		if json.Unmarshal(m.Data, &ref) == nil && ref.RequestID != "" {
			unread[ref.RequestID] = true
		}
	}
	return unread
}

// requestIDs lists ids for people.
func requestIDs(list []requests.Request) string {
	ids := make([]string, len(list))
	for i, r := range list {
		ids[i] = r.ID
	}
	return strings.Join(ids, ", ")
}

// mayGrant refuses a permission mode with which a member would let another one
// do more than its spec does. A person may.
//
// The modes stand in the order of what they allow. A lead that a text has talked into
// it may give a member less than its spec, or as much, and never more.
func (b *Inbox) mayGrant(by actors.Actor, r requests.Request, a Answer) error {
	if a.Mode == "" {
		return nil
	}
	if r.Kind != requests.AskPlan {
		return notation.Errorf(tasks.ErrInvalid, "a permission mode goes with the approval of a plan alone")
	}
	m, ok := b.ports.Member(r.Member)
	return MayHaveMode(by.Name == actors.Operator || !ok, m, a.Mode)
}

// concluded is for a request that was closed just now: what follows from it is
// done, and whoever waits for it goes on.
func (b *Inbox) concluded(ctx context.Context, r requests.Request) error {
	if settledAtOnce(r) {
		if err := b.settle(ctx, r); err != nil {
			return err
		}
	}
	return b.look(ctx)
}

// settledAtOnce reports whether covey acts on an answer as soon as it is there.
// A permission is taken by whoever waits with the call, and may be asked for
// once more if a crash took that away.
func settledAtOnce(r requests.Request) bool { return r.Kind != requests.AskPermission }

// settle does what follows from an answer, and notes that it was done. It may
// be done twice, after a crash in between.
//
// Take is last: until then the request counts as not acted on, and recall does it
// again. So everything that is hung in here must bear to be done twice.
func (b *Inbox) settle(ctx context.Context, r requests.Request) error {
	if err := b.ports.Closed(ctx, r); err != nil {
		return fmt.Errorf("act on the answer to %s: %w", r.ID, err)
	}
	return b.ports.Store.Requests().MarkTaken(ctx, r.ID)
}

// tell is what the member that a request is about is told of its end.
//
// An Outgoing without a text means that nobody is told. It is called before the commit,
// with the request as it will be.
func (b *Inbox) tell(r requests.Request) mail.Outgoing {
	if _, member := b.ports.Member(r.Member); !member {
		return mail.Outgoing{}
	}
	return AnswerMail(r, b.ports.Clock.Now())
}

// AnswerMail is what the member that a request is about is told of its end. An Outgoing
// without a text means that nobody is told.
func AnswerMail(r requests.Request, now time.Time) mail.Outgoing {
	silent := r.Kind == requests.AskPermission || r.Kind == requests.AskMerge && !asksToKeep(r) // who waits asks for the answer
	if silent || r.Kind == requests.AskAttention && !r.Approved() {
		return mail.Outgoing{}
	}
	return closingMail(r, now)
}

// closingMail words it.
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
	case requests.AskMerge:
		return mail.Outgoing{Kind: mail.Notice, Text: out.Text, Summary: mail.Summary(out.Text)}
	case requests.AskShutdown:
		out.Kind, answer.Reason = mail.ShutdownRejected, r.Feedback
		if yes {
			out.Kind = mail.ShutdownApproved
		}
	case requests.AskAttention:
		return mail.Outgoing{Kind: mail.OperatorMessage, Text: cmp.Or(r.Feedback, "Go on.")}
	}
	answer.Type = out.Kind
	out.Data, out.Summary = notation.Encode(answer), mail.Summary(out.Text)
	return out
}

// ClosingText says how a request ended. It stands in the journal, and is all that the
// member sees of an answer that nobody gave.
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
	case r.Kind == requests.AskMerge:
		return keepingText(r)
	case r.State == requests.Expired:
		return fmt.Sprintf("Request %s was not answered in time.", r.ID)
	case r.Kind == requests.AskPlan && r.Approved():
		return fmt.Sprintf("Your plan is approved by %s%s. Carry it out.", who, said)
	case r.Kind == requests.AskPlan:
		return fmt.Sprintf("Your plan is not approved by %s%s\nRevise it and submit it again.", who, said)
	case r.Kind == requests.AskApproval && r.Approved():
		return fmt.Sprintf("Your work on %s is approved by %s%s. Set it to completed now.", what, who, said)
	case r.Kind == requests.AskApproval:
		return fmt.Sprintf("Your work on %s is not approved by %s%s\nMend it, then complete it again.", what, who, said)
	case r.Kind == requests.AskShutdown && r.Approved():
		return fmt.Sprintf("%s agrees to end%s.", capital(who), said)
	case r.Kind == requests.AskShutdown:
		return fmt.Sprintf("%s goes on working%s.", capital(who), said)
	}
	return fmt.Sprintf("Request %s was %s%s.", r.ID, r.State, said)
}

// capital begins a sentence. Names of members stay as they are written.
func capital(who string) string {
	if strings.HasPrefix(who, "a person") {
		return "A" + who[1:]
	}
	return who
}
