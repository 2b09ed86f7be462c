package merging

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// Inbox keeps the questions of a team until they are answered.
type Inbox interface {
	Ask(ctx context.Context, by actors.Actor, n requests.New) (requests.Request, error)
	Limit() time.Duration // how long a question waits
}

// approvals asks those who must agree to a merge.
type approvals struct{ opts Options }

// ask implements Queue.Ask. It asks the approvers of the merge gates one after another,
// and then the operator if protected files change.
func (a approvals) ask(ctx context.Context, m tasks.Merge, files []string) (Answer, error) {
	var approvers []string
	for _, h := range a.opts.Team().Merge.Gates {
		if h.Approver != "" {
			approvers = append(approvers, inbox.ApproverOf(h.Approver))
		}
	}
	if len(files) > 0 {
		approvers = append(approvers, actors.Operator)
	}
	// One after another: a no of the first spares the others the question. Who has answered
	// for this commit is not asked again, so a later call goes on where this one stopped.
	for i, approver := range approvers {
		if slices.Contains(approvers[:i], approver) || approver == m.Member {
			continue // a member that completed its work has approved it already
		}
		answer, err := a.askOne(ctx, m, files, approver)
		if err != nil || !answer.Yes {
			return answer, err
		}
	}
	return Answer{Yes: true}, nil
}

// askOne asks one approver. An approval holds for this exact commit and is not asked
// for again.
func (a approvals) askOne(ctx context.Context, m tasks.Merge, files []string, to string) (Answer, error) {
	text := fmt.Sprintf("%s has finished %s, to be merged into %s (covey diff %s shows it)",
		m.Member, m.Title, m.Into, m.Subject())
	if len(files) > 0 && to == actors.Operator {
		text += "; it changes protected files: " + notation.Preview(strings.Join(files, ", "), 2000)
	}
	n := requests.New{
		Kind: requests.AskMerge, Member: m.Member, To: to, Text: text, Lasting: true, Wait: a.opts.Inbox.Limit(),
		Key: requests.KeyOf(m.Branch, m.Commit, to), Payload: notation.Encode(inbox.Payload{TaskID: m.Subject(), Subject: m.Title}),
	}
	if to != actors.Operator {
		n.Mail = func(r requests.Request) actors.Outgoing {
			return actors.Outgoing{
				Kind: actors.ApprovalAsked, Text: r.Text, Summary: actors.Summary(r.Text),
				Data: notation.Encode(actors.ApprovalRequest{
					Type: actors.ApprovalAsked, RequestRef: actors.Ref(r.ID), From: r.Member, TaskID: m.Subject(),
					Subject: m.Title, Timestamp: a.opts.Clock.Now(),
				}),
			}
		}
	}
	r, err := a.opts.Inbox.Ask(ctx, actors.Actor{Name: m.Member}, n)
	if err != nil {
		return Answer{}, fmt.Errorf("ask whether to merge: %w", err)
	}
	if r.Open() && to == actors.Operator {
		a.opts.Notify(ctx, m.Member, r)
	}
	return answerOf(r), nil
}

// answerOf returns what a request says about its merge.
func answerOf(r requests.Request) Answer {
	late := r.State == requests.Expired && !r.Approved()
	return Answer{ID: r.ID, Yes: r.Approved(), No: r.State == requests.Denied, Late: late, Text: r.Feedback}
}

// Answered continues a merge after its question was closed.
func (d *Desk) Answered(ctx context.Context, r requests.Request) error {
	if !d.hasRepo() || r.State == requests.Withdrawn {
		return nil
	}
	err := d.queue.Decide(ctx, answerOf(r))
	if err == nil {
		err = d.updateOnWay(ctx)
	}
	d.wake()
	return err
}

// asking reports whether a merge is held for an answer that may still come. If the
// answer came before the merge was held for it, asking applies it here, because no
// other event would.
func (d *Desk) asking(ctx context.Context, m tasks.Merge) (bool, error) {
	if m.State != tasks.MergeHeld || m.Asked == "" {
		return false, nil
	}
	r, err := d.opts.Store.Requests().Get(ctx, m.Asked)
	if errors.Is(err, tasks.ErrNotFound) {
		return false, nil
	}
	if err != nil || r.Open() {
		return err == nil, err
	}
	if r.State == requests.Withdrawn {
		return false, nil
	}
	d.wake() // the queue has work again
	return false, d.queue.Decide(ctx, answerOf(r))
}
