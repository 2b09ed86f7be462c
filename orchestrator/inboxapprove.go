package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate"
)

// A gate `approve: NAME` lets a task be completed once somebody has agreed to it
// as it stands. It does not keep the member waiting in the middle of a call:
// while it waits it could answer nobody, and two who approve each other's work
// would wait for ever. So the gate refuses, the question goes out, and the
// member is told of the answer by mail.

// approvePolicy begins the names of these gates, as configs has them.
const approvePolicy = "approve:"

// approverOf is who answers for the name in a spec: a member, or a person.
func approverOf(name string) string {
	if name == "person" {
		return tasks.Person
	}
	return name
}

// policy is what a gate names: one that ships with covey, or the approval of somebody. It is
// looked for when the gate is asked, because spec and members may change until then.
func (c *crew) policy(name string) hooks.Policy {
	if who, ok := strings.CutPrefix(name, approvePolicy); ok {
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

// approvedBy is the policy that agrees once approver has. It only looks: asking
// is for afterwards, when all other gates have agreed (see seekApproval).
//
// A broken result refuses as well, and says that the gate is at fault and not the work:
// a gate that cannot look must never agree.
func (c *crew) approvedBy(approver string) hooks.Policy {
	return func(ctx context.Context, in hooks.Input) hooks.Result {
		done, ok := in.Payload.(hooks.TaskCompletedInput)
		if !ok || c.asks == nil {
			return broken(fmt.Errorf("approve: only the completion of a task in a running team can be approved"))
		}
		// At a turn end nobody says that the task is done, unless passing completes it.
		member, claims := c.completerOf(ctx, in)
		if !claims && !c.asks.completeOnPass {
			return agree()
		}
		if member == approver {
			return agree() // nobody is asked about its own work: it has said that it will do
		}
		t, err := c.store.Task(ctx, done.TaskID)
		if err != nil {
			return broken(err)
		}
		files, err := c.filesOf(ctx, t, member)
		if err != nil {
			return broken(err)
		}
		r, asked, err := c.store.Asked(ctx, member, tasks.AskApproval, approvalKey(t, approver, files))
		if err != nil {
			return broken(err)
		}
		if asked && r.State == tasks.RequestApproved {
			return agree()
		}
		return refuse("%s%s", approvalLacks, approver)
	}
}

// approvalLacks begins what the policy says, and is how seekApproval knows it.
const approvalLacks = "this task waits for the approval of "

// approvalKey names a task as it stands, with the files that are there for it (filesOf):
// what was approved once needs no second approval, and what was changed since does. That
// a member was started again changes the task's version, and nothing that an approver
// has seen.
func approvalKey(t tasks.Task, approver, files string) string {
	parts := []any{approver, t.Subject, t.Description, t.Metadata}
	if files != "" { // without, it is the key of what was approved before there were files in it
		parts = append(parts, files)
	}
	return t.ID + "/" + questionKey(parts...)
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

// seekApproval looks at what the gates of a task's completion came to. If
// nothing is missing but approval, it is asked for, and the outcome says whose
// answer the member waits for. While other gates refuse, nobody is asked to look
// at work that will change.
//
// Only approval gates that really refuse count; one that is observed (on trial) holds
// nothing up. AwaitsField is covey's own word by which the turn may end though the gate
// has refused, hence what a hook has put there is taken out first.
func (c *crew) seekApproval(ctx context.Context, in hooks.Input, out hooks.Outcome) hooks.Outcome {
	done, ok := in.Payload.(hooks.TaskCompletedInput)
	if out.Output[teammate.AwaitsField] != nil { // a hook may not say so
		out.Output = maps.Clone(out.Output)
		delete(out.Output, teammate.AwaitsField)
	}
	if !ok || out.Decision != hooks.Block {
		return out
	}
	var lacking []string
	others := false
	for _, r := range out.Results {
		name, approves := strings.CutPrefix(r.Command, approvePolicy)
		switch {
		case r.Outcome != hooks.Blocking || r.Observed != "":
		case r.Type == "policy" && approves && strings.Contains(r.Feedback, approvalLacks):
			lacking = append(lacking, approverOf(name))
		default:
			others = true
		}
	}
	if len(lacking) == 0 {
		return out
	}
	if others {
		return withoutApprovals(out)
	}
	return c.awaitApproval(ctx, in, done.TaskID, out, lacking)
}

// withoutApprovals is an outcome without the words of the gates that ask.
func withoutApprovals(out hooks.Outcome) hooks.Outcome {
	asks := func(text string) bool { return strings.Contains(text, approvalLacks) }
	out.Feedback = slices.DeleteFunc(slices.Clone(out.Feedback), asks)
	out.Messages = slices.DeleteFunc(slices.Clone(out.Messages), asks)
	return out
}

// awaitApproval asks those whose approval a task lacks, and words the wait.
//
// If one of several cannot be asked, the outcome says so and the task stays as it is:
// the member completes it once more, and those who were asked are not asked twice, as
// the key is the same.
func (c *crew) awaitApproval(
	ctx context.Context, in hooks.Input, id string, out hooks.Outcome, lacking []string,
) hooks.Outcome {
	var ids, who []string
	for _, approver := range lacking {
		member, _ := c.completerOf(ctx, in)
		r, err := c.askApproval(ctx, member, id, approver)
		if err != nil {
			out = withoutApprovals(out)
			text := fmt.Sprintf("Task #%s needs the approval of %s, who could not be asked: %v", id, approver, err)
			out.Feedback, out.Messages = append(out.Feedback, text), append(out.Messages, text)
			return out
		}
		ids, who = append(ids, r.ID), append(who, answererName(r.To))
	}
	names := strings.Join(who, " and ")
	text := fmt.Sprintf("Task #%s is not completed yet: it waits for the approval of %s (request %s). A message will tell you "+
		"the answer; there is nothing more to do for this task until then, so end your turn.", id, names, strings.Join(ids, ", "))
	out.Feedback, out.Messages = []string{text}, []string{text}
	out.Output = maps.Clone(out.Output)
	if out.Output == nil {
		out.Output = map[string]json.RawMessage{}
	}
	out.Output[teammate.AwaitsField] = raw("the approval of " + names)
	return out
}

// askApproval puts a task before one approver, and takes back what it was asked about the
// same task before there were these files or words.
//
// Nobody can wait for an answer of somebody who takes no more turns, so that is an error
// now and not a deadline later. Lasting keeps a yes for as long as the task is the same.
func (c *crew) askApproval(ctx context.Context, member, id, approver string) (tasks.Request, error) {
	t, err := c.store.Task(ctx, id)
	if err != nil {
		return tasks.Request{}, fmt.Errorf("read the task to approve: %w", err)
	}
	switch s, ok := c.seat(approver); {
	case !ok && approver != tasks.Person: // its spec is taken up in this moment
		return tasks.Request{}, fmt.Errorf("%s is not in the team; try again in a moment", approver)
	case ok && s.goneReason() != "":
		return tasks.Request{}, fmt.Errorf("%s takes no more turns: %s", approver, s.goneReason())
	}
	files, err := c.filesOf(ctx, t, member)
	if err != nil {
		return tasks.Request{}, err
	}
	n := tasks.NewRequest{
		Kind: tasks.AskApproval, Member: member, To: approver, Lasting: true,
		Key: approvalKey(t, approver, files), Wait: c.asks.limit, Text: seekingText(member, t, files),
		Payload: raw(requestPayload{TaskID: t.ID, Subject: t.Subject, Version: t.Version, Tree: files}),
	}
	if approver != tasks.Person {
		n.Mail = func(r tasks.Request) tasks.Outgoing { return approvalMail(r, t, c) }
	}
	r, err := c.asks.ask(ctx, tasks.Actor{Name: n.Member}, n)
	if err == nil && approver == tasks.Person {
		c.notifyPeople(ctx, member, r)
	}
	if err != nil {
		return r, err
	}
	return r, c.asks.withdrawAll(ctx, "the work has changed since, and is asked about anew", func(old tasks.Request) bool {
		return old.Kind == tasks.AskApproval && old.Member == member && old.To == approver &&
			payloadOf(old).TaskID == t.ID && old.ID != r.ID
	})
}

// seekingText is what whoever is to approve reads: whose task it is, and as which tree its
// files stand, by which `covey tasks show` has the verdicts of gates on the same files.
func seekingText(member string, t tasks.Task, files string) string {
	text := fmt.Sprintf("%s has finished task #%s (%s) and asks for approval", member, t.ID, clipped(t.Subject, 500))
	if files != "" {
		text += fmt.Sprintf("; the answer is for the files as they are now (tree %.10s)", files)
	}
	return text
}

// approvalMail asks a member to look at a task.
func approvalMail(r tasks.Request, t tasks.Task, c *crew) tasks.Outgoing {
	return tasks.Outgoing{
		Kind: tasks.ApprovalAsked, Text: r.Text, Summary: preview(firstLine(r.Text)),
		Data: raw(tasks.ApprovalRequest{
			Type: tasks.ApprovalAsked, RequestRef: tasks.Ref(r.ID), From: r.Member, TaskID: t.ID, Subject: t.Subject,
			Timestamp: c.now(),
		}),
	}
}

// mootApprovals withdraws questions about tasks that are completed or gone by other
// ways, such as a person's force: nobody has to look at those.
func (c *crew) mootApprovals(ctx context.Context) error {
	for _, r := range c.asks.list() {
		if r.Kind != tasks.AskApproval {
			continue
		}
		id := payloadOf(r).TaskID
		t, err := c.store.Task(ctx, id)
		why := ""
		switch {
		case errors.Is(err, tasks.ErrNotFound):
			why = "task #" + id + " is gone"
		case err != nil:
			return fmt.Errorf("look at task %s: %w", id, err)
		case t.Status == tasks.Completed:
			why = "task #" + id + " is completed"
		default:
			continue
		}
		if err := c.asks.withdraw(ctx, r.ID, why); err != nil {
			return err
		}
	}
	return nil
}
