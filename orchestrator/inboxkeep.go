package orchestrator

import (
	"context"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// asksToKeep reports whether a request is about protected files that a member has changed
// where it shares the workspace.
func asksToKeep(r requests.Request) bool {
	return r.Kind == requests.AskMerge && len(payloadOf(r).Files) > 0
}

// keepingText words the answer.
func keepingText(r requests.Request) string {
	what := subjectOf(r)
	switch {
	case r.State == requests.Expired && !r.Approved():
		return fmt.Sprintf("Nobody has allowed your change of %s in time (request %s): take it back.", what, r.ID)
	case r.Approved():
		return fmt.Sprintf("Your change of %s may stay. Go on.", what)
	case r.Feedback != "":
		return fmt.Sprintf("Your change of %s is not allowed: %s. Take it back.", what,
			strings.TrimRight(r.Feedback, ". \n"))
	}
	return fmt.Sprintf("Your change of %s is not allowed: take it back.", what)
}

// keepers ask people at the inbox about protected files (owned.People).
type keepers struct{ c *crew }

// Moot withdraws the questions about other states of a member's files.
func (k keepers) Moot(ctx context.Context, member, key string) error {
	if k.c.asks == nil {
		return nil
	}
	return k.c.asks.withdrawAll(ctx, member+" has changed them since", func(r requests.Request) bool {
		return asksToKeep(r) && r.Member == member && r.Key != key
	})
}

// Ask puts the question, unless it has been put.
func (k keepers) Ask(ctx context.Context, member, key string, files []string) (owned.Answer, error) {
	asks := k.c.asks
	r, asked, err := k.c.store.Requests().Asked(ctx, member, requests.AskMerge, key)
	switch {
	case err != nil:
		return owned.Answer{}, fmt.Errorf("who has been asked: %w", err)
	case asked && r.Approved():
		return owned.Answer{Yes: true}, nil
	case asked && (r.State == requests.Denied || r.State == requests.Expired):
		return owned.Answer{No: keepingText(r)}, nil
	case asks == nil || !asks.present():
		return owned.Answer{}, nil
	case asked && r.Open():
		return owned.Answer{Open: r.ID}, nil
	}
	r, err = asks.ask(ctx, actors.Actor{Name: member}, requests.New{
		Kind: requests.AskMerge, Member: member, To: actors.Operator, Lasting: true, Key: key, Wait: asks.limit,
		Text: fmt.Sprintf("%s has changed protected files: %s; may they stay?", member,
			wording.Preview(strings.Join(files, ", "), 2000)),
		Payload: rawjson.Encode(requestPayload{Files: files}),
	})
	if err != nil {
		return owned.Answer{}, err
	}
	k.c.notifyPeople(ctx, member, r)
	return owned.Answer{Open: r.ID}, nil
}
