package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// A gate `approve: NAME` allows the completion of a task once the approver has
// agreed to the task's current state. The member does not wait within its call:
// it could answer nobody meanwhile, and two members that approve each other's
// work would wait for ever. So the gate's verdict is hooks.Await: covey sends the
// request, and the answer comes as mail.

// approvePolicy is the prefix of these gates' policies in specs.
const approvePolicy = "approve:"

// ApproverOf returns the store's name for an approver in a spec: a member or the
// operator.
func ApproverOf(name string) string {
	if name == "person" {
		return actors.Operator
	}
	return name
}

// Approver returns the approver in a gate's policy, as the spec names it. It is
// not ok for other policies.
func Approver(policy string) (name string, ok bool) { return strings.CutPrefix(policy, approvePolicy) }

// Approvals implements the gates that ask for an approval. Its methods may be
// called from any goroutine.
type Approvals struct {
	inbox  *Inbox
	files  Files
	onPass func() bool
}

// Files are the files of members.
type Files interface {
	// TreeOf returns the git tree hash of a member's files; empty: it shares them.
	TreeOf(ctx context.Context, m *members.Member) (tree string, err error)
}

// NewApprovals returns the gates of a team. onPass reports whether its tasks are completed when
// a turn end passes its gates.
func NewApprovals(b *Inbox, files Files, onPass func() bool) *Approvals {
	return &Approvals{inbox: b, files: files, onPass: onPass}
}

// completerKey is the context key of the name of the actor that completes a task.
type completerKey struct{}

// Completing returns the context for the hooks that judge a task which an actor completes, as
// against those of a turn end.
func Completing(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, completerKey{}, actor)
}

// Completer returns the actor of Completing; empty: the hooks are those of a turn end.
func Completer(ctx context.Context) string {
	by, _ := ctx.Value(completerKey{}).(string)
	return by
}

// completer returns who completes the task that gates look at: a member or the operator.
// completes reports whether the task is completed if they agree.
//
// A change by a tool or a command carries its author in ctx. The gates of a turn end do
// not, and there the hook's input tells the member.
func (a *Approvals) completer(ctx context.Context, in hooks.Input) (who string, completes bool) {
	if by := Completer(ctx); by != "" {
		return by, true
	}
	return cmp.Or(a.inbox.deps.Members.MemberOf(in), a.inbox.deps.Members.LeadMember().Name), a.onPass()
}

// By returns the policy that agrees once approver has approved the task. It does
// not send the request itself: that happens when all other gates have agreed
// (hooks.Wait).
//
// If the policy cannot check the approval its result is broken, which refuses the
// completion and blames the gate instead of the work.
func (a *Approvals) By(approver string) runner.Policy { return a.by(approver, nil) }

// TakenPolicy is the policy of Taken.
const TakenPolicy = "work-taken"

// Taken returns the policy that agrees once a person has taken the work on a task from a folder out of
// which covey cannot merge it. where returns that folder of a member; empty: there is none.
func (a *Approvals) Taken(where func(member string) string) runner.Policy {
	return a.by(actors.Operator, where)
}

// by is By; with where it is Taken.
func (a *Approvals) by(approver string, where func(member string) string) runner.Policy {
	return func(ctx context.Context, in hooks.Input) hooks.Result {
		done, ok := in.Payload.(hooks.TaskCompletedInput)
		if !ok {
			return runner.Broken(fmt.Errorf("approve: only the completion of a task in a running team can be approved"))
		}
		// A turn end completes no task, unless complete_on_pass is set.
		member, completes := a.completer(ctx, in)
		if !completes {
			return runner.Agree()
		}
		folder := ""
		if where != nil {
			if folder = where(member); folder == "" {
				return runner.Agree()
			}
		}
		if member == approver {
			return runner.Agree() // by completing the task, the approver has approved its own work
		}
		t, err := a.inbox.deps.Store.Task(ctx, done.TaskID)
		if err != nil {
			return runner.Broken(err)
		}
		files, err := a.filesOf(ctx, t, member)
		if err != nil {
			return runner.Broken(err)
		}
		r, asked, err := a.inbox.deps.Store.Requests().Asked(ctx, member, requests.AskApproval, approvalKey(t, approver, files, folder))
		if err != nil {
			return runner.Broken(err)
		}
		if asked && r.State == requests.Approved {
			return runner.Agree()
		}
		waits := runner.Await("the approval of "+AnswererName(approver), "task %s needs the approval of %s", t.ID,
			AnswererName(approver))
		waits.Wait.Ask = func(ctx context.Context) hooks.Result { return a.await(ctx, member, t.ID, approver, folder) }
		return waits
	}
}

// approvalKey returns a key of what an approver sees: the task's texts and its
// files (filesOf). An approval holds until the key changes. The key does not
// contain the task's version, which also changes when a member restarts.
func approvalKey(t tasks.Task, approver, files, folder string) string {
	return t.ID + "/" + requests.KeyOf(approver, t.Subject, t.Description, t.Metadata, files, folder)
}

// filesOf returns the git tree hash of the files of the task's owner, or of the
// completer if there is no owner. It is empty where members share a working tree;
// there an approval covers only the task's texts.
func (a *Approvals) filesOf(ctx context.Context, t tasks.Task, completer string) (string, error) {
	who := cmp.Or(t.Owner, completer)
	m, ok := a.inbox.deps.Members.Member(who)
	if !ok {
		return "", nil
	}
	tree, err := a.files.TreeOf(ctx, m)
	if err != nil {
		return "", fmt.Errorf("look at the files of %s: %w", who, err)
	}
	return tree, nil
}

// await asks for a missing approval and returns the verdict hooks.Await. If it
// cannot ask, it refuses, and the member has to complete the task again.
// Approvers that were asked already are not asked twice, because the key is the
// same.
func (a *Approvals) await(ctx context.Context, member, id, approver, folder string) hooks.Result {
	r, err := a.ask(ctx, member, id, approver, folder)
	who := AnswererName(approver)
	if err != nil {
		return runner.Refuse("Task %s needs the approval of %s, who could not be asked: %v", id, who, err)
	}
	return runner.Await("the approval of "+who, "Task %s is not completed yet: it waits for the approval of %s (request %s). A message "+
		"will tell you the answer; there is nothing more to do for this task until then, so end your turn.", id, who, r.ID)
}

// ask requests one approval of a task, and withdraws requests about earlier
// states of it.
//
// It fails at once if the approver takes no more turns, instead of at the
// deadline. Lasting keeps an approval while the key stays the same.
func (a *Approvals) ask(ctx context.Context, member, id, approver, folder string) (requests.Request, error) {
	t, err := a.inbox.deps.Store.Task(ctx, id)
	if err != nil {
		return requests.Request{}, fmt.Errorf("read the task to approve: %w", err)
	}
	_, ok := a.inbox.deps.Members.Member(approver)
	switch gone := a.inbox.deps.Members.GoneFor(approver); {
	case !ok && approver != actors.Operator: // a changed spec is being applied
		return requests.Request{}, fmt.Errorf("%s is not in the team; try again in a moment", approver)
	case gone != "":
		return requests.Request{}, fmt.Errorf("%s takes no more turns: %s", approver, gone)
	}
	files, err := a.filesOf(ctx, t, member)
	if err != nil {
		return requests.Request{}, err
	}
	n := requests.New{
		Kind: requests.AskApproval, Member: member, To: approver, Lasting: true,
		Key: approvalKey(t, approver, files, folder), Wait: a.inbox.limit, Text: requestText(member, t, files),
		Payload: texts.Encode(Payload{TaskID: t.ID, Subject: t.Subject, Version: t.Version, Tree: files, Folder: folder}),
	}
	if folder != "" {
		n.Text = fmt.Sprintf("%s has finished task %s (%s) in %s, out of which covey cannot merge it: take the work from there, "+
			"then approve; deny sends it back", member, t.ID, texts.Preview(t.Subject, 500), folder)
		if !a.inbox.Present() { // the team ends and goes on with the answer
			n.Wait = 0
		}
	}
	if approver != actors.Operator {
		n.Mail = func(r requests.Request) mail.Outgoing {
			return ApprovalMail(r, t.ID, t.Subject, a.inbox.deps.Clock.Now())
		}
	}
	r, err := a.inbox.Ask(ctx, actors.Actor{Name: n.Member}, n)
	if err == nil && approver == actors.Operator {
		a.inbox.Notify(ctx, member, r)
	}
	if err != nil {
		return r, err
	}
	return r, a.inbox.withdrawAll(ctx, "the work has changed since, and is asked about anew", func(old requests.Request) bool {
		return old.Kind == requests.AskApproval && old.Member == member && old.To == approver &&
			PayloadOf(old).TaskID == t.ID && PayloadOf(old).Folder == folder && old.ID != r.ID
	})
}

// requestText is the text for the approver. It names the tree, under which `covey
// tasks show` lists the verdicts of gates on the same files.
func requestText(member string, t tasks.Task, files string) string {
	text := fmt.Sprintf("%s has finished task %s (%s) and asks for approval", member, t.ID, texts.Preview(t.Subject, 500))
	if files != "" { // the member has its own working tree, so covey diff shows its work
		text += fmt.Sprintf("; covey diff %s shows its work, and the answer is for the files as they are now (tree %.10s)",
			member, files)
	}
	return text
}

// ApprovalMail asks a member to look at a task.
func ApprovalMail(r requests.Request, task, subject string, now time.Time) mail.Outgoing {
	return mail.Outgoing{
		Kind: mail.ApprovalAsked, Text: r.Text, Summary: mail.Summary(r.Text),
		Data: texts.Encode(mail.ApprovalRequest{
			Type: mail.ApprovalAsked, RequestRef: mail.Ref(r.ID), From: r.Member, TaskID: task, Subject: subject,
			Timestamp: now,
		}),
	}
}

// withdrawMoot withdraws requests about tasks that were deleted, or completed
// without the approval, such as with --force.
func (b *Inbox) withdrawMoot(ctx context.Context) error {
	for _, r := range b.Open() {
		if r.Kind != requests.AskApproval {
			continue
		}
		id := PayloadOf(r).TaskID
		t, err := b.deps.Store.Task(ctx, id)
		why := ""
		switch {
		case errors.Is(err, tasks.ErrNotFound):
			why = "task " + id + " is gone"
		case err != nil:
			return fmt.Errorf("look at task %s: %w", id, err)
		case t.Status == tasks.Completed:
			why = "task " + id + " is completed"
		default:
			continue
		}
		if err := b.Withdraw(ctx, r.ID, why); err != nil {
			return err
		}
	}
	return nil
}
