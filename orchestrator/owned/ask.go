package owned

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/tasks/requests"
)

// verdict is what a turn end, or the completion of a task, hears of what a member has
// written. What it does not own it has to take back; what is protected a person may allow.
func (w *Writes) verdict(ctx context.Context, member *roster.Member) hooks.Result {
	outside, protected, err := w.charges(ctx, member)
	if err != nil {
		return w.unseen(ctx, member, err)
	}
	var texts []string
	if len(outside) > 0 {
		texts = append(texts, fmt.Sprintf("You have changed files that are not yours:\n%s\nYou may write to %s. %s",
			w.listed(member, outside), orNothing(member.Owns), w.takeBack(member, outside)))
	}
	kept, err := w.askToKeep(ctx, member, protected)
	switch {
	case err != nil:
		return runner.Broken(err)
	case len(texts) == 0:
		return kept
	case kept.Feedback != "":
		texts = append(texts, kept.Feedback)
	}
	return runner.Refuse("%s", strings.Join(texts, "\n\n"))
}

// unseen is the verdict where nobody could look. A folder that is too large says so to
// people and holds up nobody; what else goes wrong is a gate that cannot run.
func (w *Writes) unseen(ctx context.Context, member *roster.Member, err error) hooks.Result {
	if !errors.Is(err, ErrTooLarge) {
		return runner.Broken(err)
	}
	w.fault(ctx, member, err)
	return runner.Agree()
}

// listed names files, and whose they are.
func (w *Writes) listed(member *roster.Member, files []string) string {
	named := make([]string, len(files))
	for i, file := range files {
		named[i] = file
		var owners []string
		for _, other := range w.opts.Members() {
			if other.Owns != nil && len(Outside(other.Owns, []string{file})) == 0 {
				owners = append(owners, other.Name)
			}
		}
		if len(owners) > 0 {
			named[i] += " (" + strings.Join(owners, ", ") + " may write there)"
		}
	}
	return List(named)
}

// takeBack says how files are put back. Where others work too that must be their own
// writing and nothing else: no command is named that would take more with it.
func (w *Writes) takeBack(member *roster.Member, files []string) string {
	const named = 50
	m := w.markOf(member)
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
			base, quoted(whole[:min(len(whole), named)])))
	}
	if len(rest) > 0 {
		how = append(how, fmt.Sprintf("Put back as it was when your turn began (or remove, if it is new): %s.", strings.Join(rest[:min(len(rest), named)], ", ")))
	}
	return strings.Join(how, " ") + " Or ask your lead to have somebody do it who may. What is not your doing leave as it is, " +
		"and say so: others write in this folder too."
}

// People are asked whether protected files may stay as a member has left them.
type People interface {
	// Moot withdraws what people were asked about the member's protected files in other
	// states than that of key.
	Moot(ctx context.Context, member, key string) error
	// Ask asks, unless that was done, and gives what is known of the answer.
	Ask(ctx context.Context, member, key string, files []string) (Answer, error)
}

// Answer is what is known of an answer to People.Ask.
type Answer struct {
	Yes  bool   // the files may stay
	No   string // they may not: why, for the member
	Open string // the id of the question that is open; empty, with neither: there is nobody to ask
}

// askToKeep asks a person whether protected files may stay as a member has left them. Its
// verdict waits until there is an answer. A yes holds for these very files.
func (w *Writes) askToKeep(ctx context.Context, member *roster.Member, files []string) (hooks.Result, error) {
	key := ""
	if len(files) > 0 {
		key = w.keeping(member, files)
	}
	if err := w.opts.People.Moot(ctx, member.Name, key); err != nil || len(files) == 0 {
		return runner.Agree(), err
	}
	a, err := w.opts.People.Ask(ctx, member.Name, key, files)
	if err != nil {
		return runner.Agree(), fmt.Errorf("ask about protected files: %w", err)
	}
	list := List(files)
	switch {
	case a.Yes:
		w.allow(member, files)
		return runner.Agree(), nil
	case a.No != "":
		return runner.Refuse("You have changed protected files:\n%s\n%s %s", list, a.No, w.takeBack(member, files)), nil
	case a.Open == "":
		return runner.Refuse("You have changed protected files:\n%s\nA person has to allow that, and there is nobody to ask now. %s",
			list, w.takeBack(member, files)), nil
	}
	return runner.Await("a person's word on protected files",
		"You have changed protected files, which a person has been asked about "+
			"(request %s):\n%s\nA message will tell you the answer; end your turn until then.", a.Open, list), nil
}

// keeping is the key of a question: files as they are now.
func (w *Writes) keeping(member *roster.Member, files []string) string {
	m := w.markOf(member)
	m.mu.Lock()
	defer m.mu.Unlock()
	parts := []any{"keep"}
	for _, file := range files {
		parts = append(parts, file, m.Charges[file].Now)
	}
	return requests.KeyOf(parts...)
}

// allow lets files stay as they were when the member was last looked at. What is written to
// them later is another change.
func (w *Writes) allow(member *roster.Member, files []string) {
	m := w.markOf(member)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, file := range files {
		delete(m.Charges, file)
	}
	w.fault(context.Background(), member, w.save(member, m))
}

// Acquit is for a member in trouble that a person has let go on: what it is charged with
// then may stay.
func (w *Writes) Acquit(member *roster.Member) {
	if w.watches(member) {
		w.allow(member, w.charged(member))
	}
}

// charged are the files that a member was charged with when it was last looked at.
func (w *Writes) charged(member *roster.Member) []string {
	m := w.markOf(member)
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.Charges))
}

// Blame is what people are to know of a member in trouble; empty: nothing.
func (w *Writes) Blame(member *roster.Member) string {
	if !w.watches(member) {
		return ""
	}
	files := w.charged(member)
	if len(files) == 0 {
		return ""
	}
	return "; it has changed, or somebody beside it has, what it may not: " + strings.Join(files, ", ") +
		" (approve: that may stay)"
}
