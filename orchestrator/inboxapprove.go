package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/mailtext"
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

// approverOf is who answers for the name in a spec: a member, or a person.
func approverOf(name string) string {
	if name == "person" {
		return actors.Operator
	}
	return name
}

// policy is what a gate names: one that ships with covey, or the approval of somebody. It is
// looked for when the gate is asked, because spec and members may change until then.
func (c *crew) policy(name string) runner.Policy {
	if who, ok := Approver(name); ok {
		return c.approvedBy(approverOf(who))
	}
	return c.policies()[name]
}

// completing is the key under which a context has the name of whoever completes a
// task. A context without it only looks at one, as a turn end does.
type completing struct{}

// completerOf is whose completion of a task the gates look at: a member's, or the
// operator's. claims says that somebody says so in words.
func (c *crew) completerOf(ctx context.Context, in hooks.Input) (who string, claims bool) {
	if by, ok := ctx.Value(completing{}).(string); ok && by != "" {
		return by, true
	}
	return cmp.Or(c.memberOf(in), c.seats()[0].member.Name), false
}

// Approver is whose approval the policy of a gate is, as the spec names it.
func Approver(policy string) (name string, ok bool) { return strings.CutPrefix(policy, approvePolicy) }

// approvedBy is the policy that agrees once approver has, and waits until then. It only
// looks: the question is put when all other gates have agreed (hooks.Wait).
//
// A broken result refuses as well, and says that the gate is at fault and not the work:
// a gate that cannot look must never agree.
func (c *crew) approvedBy(approver string) runner.Policy {
	return func(ctx context.Context, in hooks.Input) hooks.Result {
		done, ok := in.Payload.(hooks.TaskCompletedInput)
		if !ok || c.asks == nil {
			return runner.Broken(fmt.Errorf("approve: only the completion of a task in a running team can be approved"))
		}
		// At a turn end nobody says that the task is done, unless passing completes it.
		member, claims := c.completerOf(ctx, in)
		if !claims && !c.asks.completeOnPass {
			return runner.Agree()
		}
		if member == approver {
			return runner.Agree() // nobody is asked about its own work: it has said that it will do
		}
		t, err := c.store.Task(ctx, done.TaskID)
		if err != nil {
			return runner.Broken(err)
		}
		files, err := c.filesOf(ctx, t, member)
		if err != nil {
			return runner.Broken(err)
		}
		r, asked, err := c.store.Requests().Asked(ctx, member, requests.AskApproval, approvalKey(t, approver, files))
		if err != nil {
			return runner.Broken(err)
		}
		if asked && r.State == requests.Approved {
			return runner.Agree()
		}
		waits := runner.Await("the approval of "+answererName(approver), "task %s needs the approval of %s", t.ID,
			answererName(approver))
		waits.Wait.Ask = func(ctx context.Context) hooks.Result { return c.awaitApproval(ctx, member, t.ID, approver) }
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
// member's alone (mergeDesk.treeOf); there a yes holds for the task's words.
func (c *crew) filesOf(ctx context.Context, t tasks.Task, completer string) (string, error) {
	s, ok := c.seat(cmp.Or(t.Owner, completer))
	if !ok {
		return "", nil
	}
	tree, err := c.merges.treeOf(ctx, s)
	if err != nil {
		return "", fmt.Errorf("look at the files of %s: %w", s.member.Name, err)
	}
	return tree, nil
}

// awaitApproval asks for an approval that a task lacks, and words the wait. If nobody can
// be asked that is a refusal, and the task stays as it is: the member completes it once
// more, and those who were asked meanwhile are not asked twice, as the key is the same.
func (c *crew) awaitApproval(ctx context.Context, member, id, approver string) hooks.Result {
	r, err := c.askApproval(ctx, member, id, approver)
	who := answererName(approver)
	if err != nil {
		return runner.Refuse("Task %s needs the approval of %s, who could not be asked: %v", id, who, err)
	}
	return runner.Await("the approval of "+who, "Task %s is not completed yet: it waits for the approval of %s (request %s). A message "+
		"will tell you the answer; there is nothing more to do for this task until then, so end your turn.", id, who, r.ID)
}

// askApproval puts a task before one approver, and takes back what it was asked about the
// same task before there were these files or words.
//
// Nobody can wait for an answer of somebody who takes no more turns, so that is an error
// now and not a deadline later. Lasting keeps a yes for as long as the task is the same.
func (c *crew) askApproval(ctx context.Context, member, id, approver string) (requests.Request, error) {
	t, err := c.store.Task(ctx, id)
	if err != nil {
		return requests.Request{}, fmt.Errorf("read the task to approve: %w", err)
	}
	switch s, ok := c.seat(approver); {
	case !ok && approver != actors.Operator: // its spec is taken up in this moment
		return requests.Request{}, fmt.Errorf("%s is not in the team; try again in a moment", approver)
	case ok && s.goneReason() != "":
		return requests.Request{}, fmt.Errorf("%s takes no more turns: %s", approver, s.goneReason())
	}
	files, err := c.filesOf(ctx, t, member)
	if err != nil {
		return requests.Request{}, err
	}
	n := requests.New{
		Kind: requests.AskApproval, Member: member, To: approver, Lasting: true,
		Key: approvalKey(t, approver, files), Wait: c.asks.limit, Text: seekingText(member, t, files),
		Payload: rawjson.Encode(requestPayload{TaskID: t.ID, Subject: t.Subject, Version: t.Version, Tree: files}),
	}
	if approver != actors.Operator {
		n.Mail = func(r requests.Request) mail.Outgoing { return approvalMail(r, t, c) }
	}
	r, err := c.asks.ask(ctx, actors.Actor{Name: n.Member}, n)
	if err == nil && approver == actors.Operator {
		c.notifyPeople(ctx, member, r)
	}
	if err != nil {
		return r, err
	}
	return r, c.asks.withdrawAll(ctx, "the work has changed since, and is asked about anew", func(old requests.Request) bool {
		return old.Kind == requests.AskApproval && old.Member == member && old.To == approver &&
			payloadOf(old).TaskID == t.ID && old.ID != r.ID
	})
}

// seekingText is what whoever is to approve reads: whose task it is, and as which tree its
// files stand, by which `covey tasks show` has the verdicts of gates on the same files.
func seekingText(member string, t tasks.Task, files string) string {
	text := fmt.Sprintf("%s has finished task %s (%s) and asks for approval", member, t.ID, wording.Preview(t.Subject, 500))
	if files != "" { // those of a working copy, of which there is a difference to look at
		text += fmt.Sprintf("; covey diff %s shows its work, and the answer is for the files as they are now (tree %.10s)",
			member, files)
	}
	return text
}

// approvalMail asks a member to look at a task.
func approvalMail(r requests.Request, t tasks.Task, c *crew) mail.Outgoing {
	return mail.Outgoing{
		Kind: mail.ApprovalAsked, Text: r.Text, Summary: mailtext.Summary(r.Text),
		Data: rawjson.Encode(mail.ApprovalRequest{
			Type: mail.ApprovalAsked, RequestRef: mail.Ref(r.ID), From: r.Member, TaskID: t.ID, Subject: t.Subject,
			Timestamp: c.clock.Now(),
		}),
	}
}

// mootApprovals withdraws questions about tasks that are completed or gone by other
// ways, such as a person's force: nobody has to look at those.
func (c *crew) mootApprovals(ctx context.Context) error {
	for _, r := range c.asks.list() {
		if r.Kind != requests.AskApproval {
			continue
		}
		id := payloadOf(r).TaskID
		t, err := c.store.Task(ctx, id)
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
		if err := c.asks.withdraw(ctx, r.ID, why); err != nil {
			return err
		}
	}
	return nil
}
