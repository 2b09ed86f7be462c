package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// A gate `approve: NAME` lets a task be completed once somebody has agreed to it
// as it stands. It does not keep the member waiting in the middle of a call:
// while it waits it could answer nobody, and two who approve each other's work
// would wait for ever. So the gate's verdict is hooks.Await: the question goes out,
// and the member is told of the answer by mail.

// approvePolicy begins the names of these gates, as configs has them.
const approvePolicy = "approve:"

// ApproverOf is who answers for the name in a spec: a member, or a person.
func ApproverOf(name string) string {
	if name == "person" {
		return actors.Operator
	}
	return name
}

// Approver is whose approval the policy of a gate is, as the spec names it.
func Approver(policy string) (name string, ok bool) { return strings.CutPrefix(policy, approvePolicy) }

// Approvals are the gates that ask for the approval of somebody. Its methods may be called
// from any goroutine.
type Approvals struct{ inbox *Inbox }

// By is the policy that agrees once approver has, and waits until then. It only
// looks: the question is put when all other gates have agreed (hooks.Wait).
//
// A broken result refuses as well, and says that the gate is at fault and not the work:
// a gate that cannot look must never agree.
func (a *Approvals) By(approver string) runner.Policy {
	return func(ctx context.Context, in hooks.Input) hooks.Result {
		done, ok := in.Payload.(hooks.TaskCompletedInput)
		if !ok {
			return runner.Broken(fmt.Errorf("approve: only the completion of a task in a running team can be approved"))
		}
		// At a turn end nobody says that the task is done, unless passing completes it.
		member, completes := a.inbox.ports.Completer(ctx, in)
		if !completes {
			return runner.Agree()
		}
		if member == approver {
			return runner.Agree() // nobody is asked about its own work: it has said that it will do
		}
		t, err := a.inbox.ports.Store.Task(ctx, done.TaskID)
		if err != nil {
			return runner.Broken(err)
		}
		files, err := a.filesOf(ctx, t, member)
		if err != nil {
			return runner.Broken(err)
		}
		r, asked, err := a.inbox.ports.Store.Requests().Asked(ctx, member, requests.AskApproval, approvalKey(t, approver, files))
		if err != nil {
			return runner.Broken(err)
		}
		if asked && r.State == requests.Approved {
			return runner.Agree()
		}
		waits := runner.Await("the approval of "+AnswererName(approver), "task %s needs the approval of %s", t.ID,
			AnswererName(approver))
		waits.Wait.Ask = func(ctx context.Context) hooks.Result { return a.await(ctx, member, t.ID, approver) }
		return waits
	}
}

// approvalKey names a task as it stands, with the files that are there for it (filesOf):
// what was approved once needs no second approval, and what was changed since does. That
// a member was started again changes the task's version, and nothing that an approver
// has seen.
func approvalKey(t tasks.Task, approver, files string) string {
	parts := []any{approver, t.Subject, t.Description, t.Metadata}
	if files != "" { // without, it is the key of what was approved before there were files in it
		parts = append(parts, files)
	}
	return t.ID + "/" + requests.KeyOf(parts...)
}

// filesOf names the files that somebody agrees to with a task: git's name of the tree
// in which its owner works, or whoever completes it. It is empty where no tree is one
// member's alone; there a yes holds for the task's words.
func (a *Approvals) filesOf(ctx context.Context, t tasks.Task, completer string) (string, error) {
	who := cmp.Or(t.Owner, completer)
	tree, err := a.inbox.ports.Files(ctx, who)
	if err != nil {
		return "", fmt.Errorf("look at the files of %s: %w", who, err)
	}
	return tree, nil
}

// await asks for an approval that a task lacks, and words the wait. If nobody can
// be asked that is a refusal, and the task stays as it is: the member completes it once
// more, and those who were asked meanwhile are not asked twice, as the key is the same.
func (a *Approvals) await(ctx context.Context, member, id, approver string) hooks.Result {
	r, err := a.ask(ctx, member, id, approver)
	who := AnswererName(approver)
	if err != nil {
		return runner.Refuse("Task %s needs the approval of %s, who could not be asked: %v", id, who, err)
	}
	return runner.Await("the approval of "+who, "Task %s is not completed yet: it waits for the approval of %s (request %s). A message "+
		"will tell you the answer; there is nothing more to do for this task until then, so end your turn.", id, who, r.ID)
}

// ask puts a task before one approver, and takes back what it was asked about the
// same task before there were these files or words.
//
// Nobody can wait for an answer of somebody who takes no more turns, so that is an error
// now and not a deadline later. Lasting keeps a yes for as long as the task is the same.
func (a *Approvals) ask(ctx context.Context, member, id, approver string) (requests.Request, error) {
	t, err := a.inbox.ports.Store.Task(ctx, id)
	if err != nil {
		return requests.Request{}, fmt.Errorf("read the task to approve: %w", err)
	}
	_, ok := a.inbox.ports.Member(approver)
	switch gone := a.inbox.ports.Gone(approver); {
	case !ok && approver != actors.Operator: // its spec is taken up in this moment
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
		Key: approvalKey(t, approver, files), Wait: a.inbox.limit, Text: seekingText(member, t, files),
		Payload: notation.Encode(Payload{TaskID: t.ID, Subject: t.Subject, Version: t.Version, Tree: files}),
	}
	if approver != actors.Operator {
		n.Mail = func(r requests.Request) mail.Outgoing { return approvalMail(r, t, a.inbox.ports.Clock.Now()) }
	}
	r, err := a.inbox.Ask(ctx, actors.Actor{Name: n.Member}, n)
	if err == nil && approver == actors.Operator {
		a.inbox.ports.Notify(ctx, member, r)
	}
	if err != nil {
		return r, err
	}
	return r, a.inbox.withdrawAll(ctx, "the work has changed since, and is asked about anew", func(old requests.Request) bool {
		return old.Kind == requests.AskApproval && old.Member == member && old.To == approver &&
			PayloadOf(old).TaskID == t.ID && old.ID != r.ID
	})
}

// seekingText is what whoever is to approve reads: whose task it is, and as which tree its
// files stand, by which `covey tasks show` has the verdicts of gates on the same files.
func seekingText(member string, t tasks.Task, files string) string {
	text := fmt.Sprintf("%s has finished task %s (%s) and asks for approval", member, t.ID, notation.Preview(t.Subject, 500))
	if files != "" { // those of a working copy, of which there is a difference to look at
		text += fmt.Sprintf("; covey diff %s shows its work, and the answer is for the files as they are now (tree %.10s)",
			member, files)
	}
	return text
}

// approvalMail asks a member to look at a task.
func approvalMail(r requests.Request, t tasks.Task, now time.Time) mail.Outgoing {
	return mail.Outgoing{
		Kind: mail.ApprovalAsked, Text: r.Text, Summary: mail.Summary(r.Text),
		Data: notation.Encode(mail.ApprovalRequest{
			Type: mail.ApprovalAsked, RequestRef: mail.Ref(r.ID), From: r.Member, TaskID: t.ID, Subject: t.Subject,
			Timestamp: now,
		}),
	}
}

// moot withdraws questions about tasks that are completed or gone by other
// ways, such as a person's force: nobody has to look at those.
func (a *Approvals) moot(ctx context.Context) error {
	for _, r := range a.inbox.Open() {
		if r.Kind != requests.AskApproval {
			continue
		}
		id := PayloadOf(r).TaskID
		t, err := a.inbox.ports.Store.Task(ctx, id)
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
		if err := a.inbox.withdraw(ctx, r.ID, why); err != nil {
			return err
		}
	}
	return nil
}
