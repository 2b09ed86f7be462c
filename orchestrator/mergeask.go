package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// ask puts work before those who must agree to it, one after another: the approvers
// of the merge gates, and a person where protected files change.
func (d *mergeDesk) ask(ctx context.Context, m tasks.Merge, files []string) (merging.Answer, error) {
	var approvers []string
	for _, h := range d.o.team().Merge.Gates {
		if h.Approver != "" {
			approvers = append(approvers, inbox.ApproverOf(h.Approver))
		}
	}
	if len(files) > 0 {
		approvers = append(approvers, actors.Operator)
	}
	for i, approver := range approvers {
		if slices.Contains(approvers[:i], approver) || approver == m.Member {
			continue // nobody is asked about its own work: it has said that it will do
		}
		a, err := d.askOne(ctx, m, files, approver)
		if err != nil || !a.Yes {
			return a, err
		}
	}
	return merging.Answer{Yes: true}, nil
}

// askOne puts work before one of them. What was agreed to once stays agreed, for
// this very commit.
func (d *mergeDesk) askOne(ctx context.Context, m tasks.Merge, files []string, to string) (merging.Answer, error) {
	text := fmt.Sprintf("%s has finished %s, to be merged into %s (covey diff %s shows it)",
		m.Member, m.Title, m.Into, m.Subject())
	if len(files) > 0 && to == actors.Operator {
		text += "; it changes protected files: " + wording.Preview(strings.Join(files, ", "), 2000)
	}
	n := requests.New{
		Kind: requests.AskMerge, Member: m.Member, To: to, Text: text, Lasting: true, Wait: d.c.asks.Limit(),
		Key: requests.KeyOf(m.Branch, m.Commit, to), Payload: rawjson.Encode(inbox.Payload{TaskID: m.Subject(), Subject: m.Title}),
	}
	if to != actors.Operator {
		n.Mail = func(r requests.Request) mail.Outgoing {
			return mail.Outgoing{
				Kind: mail.ApprovalAsked, Text: r.Text, Summary: mail.Summary(r.Text),
				Data: rawjson.Encode(mail.ApprovalRequest{
					Type: mail.ApprovalAsked, RequestRef: mail.Ref(r.ID), From: r.Member, TaskID: m.Subject(),
					Subject: m.Title, Timestamp: d.c.clock.Now(),
				}),
			}
		}
	}
	r, err := d.c.asks.Ask(ctx, actors.Actor{Name: m.Member}, n)
	if err != nil {
		return merging.Answer{}, fmt.Errorf("ask whether to merge: %w", err)
	}
	if r.Open() && to == actors.Operator {
		d.c.notifyPeople(ctx, m.Member, r)
	}
	return mergeAnswer(r), nil
}

// mergeAnswer is what a request says about its merge.
func mergeAnswer(r requests.Request) merging.Answer {
	late := r.State == requests.Expired && !r.Approved()
	return merging.Answer{ID: r.ID, Yes: r.Approved(), No: r.State == requests.Denied, Late: late, Text: r.Feedback}
}

// answered goes on with a merge whose question was closed.
func (d *mergeDesk) answered(ctx context.Context, r requests.Request) error {
	if d == nil || r.State == requests.Withdrawn {
		return nil
	}
	err := d.queue.Decide(ctx, mergeAnswer(r))
	if err == nil {
		err = d.look(ctx)
	}
	d.poke()
	return err
}

// asking reports whether a merge is held for an answer that may come yet. An answer that
// came before the merge was held for it is taken in now: nobody else would do so.
func (d *mergeDesk) asking(ctx context.Context, m tasks.Merge) (bool, error) {
	if m.State != tasks.MergeHeld || m.Asked == "" {
		return false, nil
	}
	r, err := d.c.store.Requests().Get(ctx, m.Asked)
	if errors.Is(err, tasks.ErrNotFound) {
		return false, nil
	}
	if err != nil || r.Open() {
		return err == nil, err
	}
	if r.State == requests.Withdrawn {
		return false, nil
	}
	d.poke() // the queue has work again
	return false, d.queue.Decide(ctx, mergeAnswer(r))
}
