package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/written"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// verdict is what a turn end, or the completion of a task, hears of what a member has
// written. What it does not own it has to take back; what is protected a person may allow.
func (w *sharedWrites) verdict(ctx context.Context, s *seat) hooks.Result {
	outside, protected, err := w.charges(ctx, s)
	if err != nil {
		return w.unseen(ctx, s, err)
	}
	var texts []string
	if len(outside) > 0 {
		texts = append(texts, fmt.Sprintf("You have changed files that are not yours:\n%s\nYou may write to %s. %s",
			w.listed(s, outside), orNothing(s.member.Owns), w.takeBack(s, outside)))
	}
	kept, err := w.askToKeep(ctx, s, protected)
	switch {
	case err != nil:
		return broken(err)
	case len(texts) == 0:
		return kept
	case kept.Feedback != "":
		texts = append(texts, kept.Feedback)
	}
	return refuse("%s", strings.Join(texts, "\n\n"))
}

// unseen is the verdict where nobody could look. A folder that is too large says so to
// people and holds up nobody; what else goes wrong is a gate that cannot run.
func (w *sharedWrites) unseen(ctx context.Context, s *seat, err error) hooks.Result {
	if !errors.Is(err, written.ErrTooLarge) {
		return broken(err)
	}
	w.fault(ctx, s, err)
	return agree()
}

// listed names files, and whose they are.
func (w *sharedWrites) listed(s *seat, files []string) string {
	named := make([]string, len(files))
	for i, file := range files {
		named[i] = file
		var owners []string
		for _, other := range w.c.seats() {
			if other.member.Owns != nil && len(merging.Outside(other.member.Owns, []string{file})) == 0 {
				owners = append(owners, other.member.Name)
			}
		}
		if len(owners) > 0 {
			named[i] += " (" + strings.Join(owners, ", ") + " may write there)"
		}
	}
	return merging.List(named)
}

// takeBack says how files are put back. Where others work too that must be their own
// writing and nothing else: no command is named that would take more with it.
func (w *sharedWrites) takeBack(s *seat, files []string) string {
	const named = 50
	m := w.markOf(s)
	m.mu.Lock()
	var whole, rest []string
	base := m.From.Base
	for _, file := range files {
		if c := m.Charges[file]; base != "" && !c.Was.Listed {
			whole = append(whole, file)
		} else {
			rest = append(rest, file)
		}
	}
	m.mu.Unlock()
	var how []string
	if len(whole) > 0 {
		how = append(how, fmt.Sprintf("Take that back with `git restore --source=%.12s --worktree -- %s` (`rm` for files that are new).",
			base, merging.Quoted(whole[:min(len(whole), named)])))
	}
	if len(rest) > 0 {
		how = append(how, fmt.Sprintf("Put back as it was when your turn began (or remove, if it is new): %s.", strings.Join(rest[:min(len(rest), named)], ", ")))
	}
	return strings.Join(how, " ") + " Or ask your lead to have somebody do it who may. What is not your doing leave as it is, " +
		"and say so: others write in this folder too."
}

// asksToKeep reports whether a request is about protected files that a member has changed
// where it shares the workspace.
func asksToKeep(r requests.Request) bool {
	return r.Kind == requests.AskMerge && len(payloadOf(r).Files) > 0
}

// askToKeep asks a person whether protected files may stay as a member has left them. Its
// verdict waits until there is an answer. A yes holds for these very files.
func (w *sharedWrites) askToKeep(ctx context.Context, s *seat, files []string) (hooks.Result, error) {
	who, asks := s.member.Name, w.c.asks
	key := ""
	if len(files) > 0 {
		key = w.keeping(s, files)
	}
	if asks != nil {
		// What was asked about other states of them is moot.
		if err := asks.withdrawAll(ctx, who+" has changed them since", func(r requests.Request) bool {
			return asksToKeep(r) && r.Member == who && r.Key != key
		}); err != nil || len(files) == 0 {
			return agree(), err
		}
	}
	if len(files) == 0 {
		return agree(), nil
	}
	list, how := merging.List(files), w.takeBack(s, files)
	r, asked, err := w.c.store.Requests().Asked(ctx, who, requests.AskMerge, key)
	switch {
	case err != nil:
		return agree(), fmt.Errorf("who has been asked about protected files: %w", err)
	case asked && r.Approved():
		w.allow(s, files)
		return agree(), nil
	case asked && (r.State == requests.Denied || r.State == requests.Expired):
		return refuse("You have changed protected files:\n%s\n%s %s", list, keepingText(r), how), nil
	case asks == nil || !asks.present():
		return refuse("You have changed protected files:\n%s\nA person has to allow that, and there is nobody to ask now. %s",
			list, how), nil
	}
	if !asked || !r.Open() {
		r, err = asks.ask(ctx, actors.Actor{Name: who}, requests.New{
			Kind: requests.AskMerge, Member: who, To: actors.Operator, Lasting: true, Key: key, Wait: asks.limit,
			Text: fmt.Sprintf("%s has changed protected files: %s; may they stay?", who,
				wording.Preview(strings.Join(files, ", "), 2000)),
			Payload: rawjson.Encode(requestPayload{Files: files}),
		})
		if err != nil {
			return agree(), fmt.Errorf("ask about protected files: %w", err)
		}
		w.c.notifyPeople(ctx, who, r)
	}
	return await("a person's word on protected files",
		"You have changed protected files, which a person has been asked about "+
			"(request %s):\n%s\nA message will tell you the answer; end your turn until then.", r.ID, list), nil
}

// keeping is the key of a question: files as they are now.
func (w *sharedWrites) keeping(s *seat, files []string) string {
	m := w.markOf(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	parts := []any{"keep"}
	for _, file := range files {
		parts = append(parts, file, m.Charges[file].Now)
	}
	return questionKey(parts...)
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

// allow lets files stay as they were when the member was last looked at. What is written to
// them later is another change.
func (w *sharedWrites) allow(s *seat, files []string) {
	m := w.markOf(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, file := range files {
		delete(m.Charges, file)
	}
	w.fault(context.Background(), s, w.save(s, m))
}

// acquit is for a member in trouble that a person has let go on: what it is charged with
// then may stay.
func (w *sharedWrites) acquit(_ context.Context, r requests.Request) error {
	s, ok := w.c.seat(r.Member)
	if ok && r.Approved() && w.watches(s) {
		w.allow(s, w.charged(s))
	}
	return nil
}

// charged are the files that a member was charged with when it was last looked at.
func (w *sharedWrites) charged(s *seat) []string {
	m := w.markOf(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.Charges))
}

// blame is what people are to know of a member in trouble; empty: nothing.
func (w *sharedWrites) blame(s *seat) string {
	if w == nil || !w.watches(s) {
		return ""
	}
	files := w.charged(s)
	if len(files) == 0 {
		return ""
	}
	return "; it has changed, or somebody beside it has, what it may not: " + strings.Join(files, ", ") +
		" (approve: that may stay)"
}
