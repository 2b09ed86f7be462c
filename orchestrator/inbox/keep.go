package inbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/writes"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// asksToKeep reports whether a request is about protected files that a member has
// changed in the shared workspace.
func asksToKeep(r requests.Request) bool {
	return r.Kind == requests.AskMerge && len(PayloadOf(r).Files) > 0
}

// keepingText returns the text of the answer to such a request.
func keepingText(r requests.Request) string {
	what := subjectOf(r)
	switch {
	case r.State == requests.Expired && !r.Approved():
		return fmt.Sprintf("Nobody has allowed your change of %s in time (request %s): undo it.", what, r.ID)
	case r.Approved():
		return fmt.Sprintf("Your change of %s may stay. Go on.", what)
	case r.Feedback != "":
		return fmt.Sprintf("Your change of %s is not allowed: %s. Undo it.", what,
			strings.TrimRight(r.Feedback, ". \n"))
	}
	return fmt.Sprintf("Your change of %s is not allowed: undo it.", what)
}

// FileApprovals asks people about changes of protected files. It implements
// writes.People.
type FileApprovals struct{ inbox *Inbox }

// FileApprovals returns the FileApprovals of the team.
func (b *Inbox) FileApprovals() FileApprovals { return FileApprovals{b} }

// WithdrawOutdated withdraws the requests about other states of a member's files.
func (k FileApprovals) WithdrawOutdated(ctx context.Context, member, key string) error {
	return k.inbox.withdrawAll(ctx, member+" has changed them since", func(r requests.Request) bool {
		return asksToKeep(r) && r.Member == member && r.Key != key
	})
}

// Ask asks a person whether files may stay changed, unless it has been asked
// under this key.
func (k FileApprovals) Ask(ctx context.Context, member, key string, files []string) (writes.Answer, error) {
	b := k.inbox
	r, asked, err := b.deps.Store.Requests().Asked(ctx, member, requests.AskMerge, key)
	switch {
	case err != nil:
		return writes.Answer{}, fmt.Errorf("find the request about protected files: %w", err)
	case asked && r.Approved():
		return writes.Answer{Yes: true}, nil
	case asked && (r.State == requests.Denied || r.State == requests.Expired):
		return writes.Answer{No: keepingText(r)}, nil
	case !b.Present():
		return writes.Answer{}, nil
	case asked && r.Open():
		return writes.Answer{Open: r.ID}, nil
	}
	r, err = b.Ask(ctx, actors.Actor{Name: member}, requests.New{
		Kind: requests.AskMerge, Member: member, To: actors.Operator, Lasting: true, Key: key, Wait: b.limit,
		Text: fmt.Sprintf("%s has changed protected files: %s; may they stay?", member,
			texts.Preview(strings.Join(files, ", "), 2000)),
		Payload: texts.Encode(Payload{Files: files}),
	})
	if err != nil {
		return writes.Answer{}, err
	}
	b.Notify(ctx, member, r)
	return writes.Answer{Open: r.ID}, nil
}
