package merging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// Inbox keeps the questions of a team until they are answered.
type Inbox interface {
	Ask(ctx context.Context, by actors.Actor, n requests.New) (requests.Request, error)
	Withdraw(ctx context.Context, id, why string) error
	Limit() time.Duration // how long a question waits
	Reachable() bool      // somebody can answer, now or later
	// Notify tells people that a question waits for an answer.
	Notify(ctx context.Context, member string, r requests.Request)
}

// askAll implements Queue.Ask. It asks the approvers of the merge gates one after another,
// and then the operator if protected files change.
func (d *Merger) askAll(ctx context.Context, m tasks.Merge, files []string, others []tasks.Merge) (Answer, error) {
	var approvers []string
	for _, h := range d.deps.Team().Merge.Gates {
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
		answer, err := d.askOne(ctx, m, files, others, approver)
		if err != nil || !answer.Yes {
			return answer, err
		}
	}
	return Answer{Yes: true}, nil
}

// askOne asks one approver. An approval holds for this exact commit and is not asked
// for again.
func (d *Merger) askOne(ctx context.Context, m tasks.Merge, files []string, others []tasks.Merge, to string) (Answer, error) {
	text := fmt.Sprintf("%s has finished %s, to be merged into %s (covey diff %s shows it)",
		m.Member, m.Title, m.Into, m.Subject())
	if len(files) > 0 && to == actors.Operator {
		text += "; it changes protected files: " + texts.Preview(strings.Join(files, ", "), 2000)
	}
	if len(others) > 0 {
		names := make([]string, len(others))
		for i, o := range others {
			names[i] = subject(o)
		}
		text += "; the merge brings this work, too: " + texts.Preview(strings.Join(names, ", "), 2000)
	}
	n := requests.New{
		Kind: requests.AskMerge, Member: m.Member, To: to, Text: text, Lasting: true, Wait: d.deps.Inbox.Limit(),
		Key: requests.KeyOf(m.Branch, m.Commit, to), Payload: texts.Encode(inbox.Payload{
			TaskID: m.Subject(), Subject: m.Title, Merge: m.ID, Commit: m.Commit,
		}),
	}
	if to == actors.Operator {
		n.Wait = 0 // asking decides whether the team waits
	} else {
		n.Mail = func(r requests.Request) mail.Outgoing {
			return inbox.ApprovalMail(r, m.Subject(), m.Title, d.deps.Clock.Now())
		}
	}
	r, err := d.deps.Inbox.Ask(ctx, actors.Actor{Name: m.Member}, n)
	if err != nil {
		return Answer{}, fmt.Errorf("ask whether to merge: %w", err)
	}
	if r.Open() && to == actors.Operator {
		d.deps.Inbox.Notify(ctx, m.Member, r)
	}
	return answerOf(r), nil
}

// answerOf returns what a request says about its merge.
func answerOf(r requests.Request) Answer {
	late := r.State == requests.Expired && !r.Approved()
	p := inbox.PayloadOf(r)
	return Answer{
		ID: r.ID, Yes: r.Approved(), No: r.State == requests.Denied, Late: late, Text: r.Feedback,
		Merge: p.Merge, Commit: p.Commit,
	}
}

// Answered continues a merge after its question was closed.
func (d *Merger) Answered(ctx context.Context, r requests.Request) error {
	if r.Kind != requests.AskMerge || !d.hasRepo() || r.State == requests.Withdrawn {
		return nil
	}
	var err error
	a := answerOf(r)
	if inbox.PayloadOf(r).Moved != "" {
		err, a = d.queue.Watch.Answered(ctx, r), Answer{ID: r.ID, Yes: true} // whatever it is, work is merged again
	}
	if err == nil {
		err = d.queue.Decide(ctx, a)
	}
	if err == nil {
		err = d.updateOnWay(ctx)
	}
	d.wake()
	return err
}

// asking reports whether a merge is held for an answer that may still come: that of a member within its
// time, that of a person as long as somebody can answer; else the question stays open, and the run ends
// without it. If the
// answer came before the merge was held for it, asking applies it here, because no
// other event would.
func (d *Merger) asking(ctx context.Context, m tasks.Merge) (bool, error) {
	if m.State != tasks.MergeHeld || m.Asked == "" {
		return false, nil
	}
	r, err := d.deps.Store.Requests().Get(ctx, m.Asked)
	if errors.Is(err, tasks.ErrNotFound) {
		return false, nil
	}
	if err != nil || r.Open() {
		waits := !r.Deadline.IsZero() || d.deps.Inbox.Reachable() && inbox.PayloadOf(r).Moved == ""
		return err == nil && waits, err
	}
	a := answerOf(r)
	switch {
	case inbox.PayloadOf(r).Moved != "":
		if held, err := d.queue.Watch.held(ctx); err != nil || slices.ContainsFunc(held, func(t target) bool { return t.Asked == r.ID }) {
			return false, err // Answered goes on with it
		}
		a = Answer{ID: r.ID, Yes: true}
	case r.State == requests.Withdrawn:
		a = Answer{ID: r.ID, Yes: true} // it is looked at again
	}
	d.wake() // the queue has work again
	return false, d.queue.Decide(ctx, a)
}

// withdrawMoot withdraws the questions about work that is merged, or that has changed since it was
// asked about. What waited for them is looked at again.
func (d *Merger) withdrawMoot(ctx context.Context, merges []tasks.Merge) error {
	open, err := d.deps.Store.Requests().Open(ctx, "")
	if err != nil {
		return fmt.Errorf("the questions about work: %w", err)
	}
	for _, r := range open {
		p := inbox.PayloadOf(r)
		if p.Merge == "" || slices.ContainsFunc(merges, func(m tasks.Merge) bool {
			return m.ID == p.Merge && m.Commit == p.Commit && !m.State.Over()
		}) {
			continue
		}
		if err := d.deps.Inbox.Withdraw(ctx, r.ID, "the work is merged, or has changed since"); err != nil {
			return err
		}
	}
	return nil
}

// askMove asks the operator what to do about a branch that was moved to what a member has made.
// The question has no limit and holds up nobody but the queue.
func (d *Merger) askMove(ctx context.Context, m events.TargetMoved, again string) (requests.Request, error) {
	about := cmp.Or(m.Member, d.deps.Team().Lead.Name) // a question is about somebody
	text := fmt.Sprintf("%s; approve accepts that, deny moves %s back to %.10s; until then nothing is merged into it", m.Text, m.Branch, m.From)
	if m.Branch == rulesTarget {
		text = m.Text + "; approve accepts that; if it was not you, undo it and covey merge --all tries again"
	}
	r, err := d.deps.Inbox.Ask(ctx, actors.Actor{Name: about}, requests.New{
		Kind: requests.AskMerge, Member: about, To: actors.Operator, Key: requests.KeyOf(m.Branch, m.From, m.To, again),
		Text: text, Payload: texts.Encode(inbox.Payload{Moved: m.Branch}),
	})
	if err == nil && r.Open() {
		d.deps.Inbox.Notify(ctx, about, r)
	}
	return r, err
}
