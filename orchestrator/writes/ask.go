package writes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks/requests"
)

// verdict returns what the end of a turn, or the completion of a task, reports about
// the files a member has written. It has to undo changes of files that it does not own;
// a person may allow changes of protected files.
func (w *Watch) verdict(ctx context.Context, member *members.Member) hooks.Result {
	outside, protected, err := w.charges(ctx, member)
	if err != nil {
		return w.unseen(ctx, member, err)
	}
	var texts []string
	if len(outside) > 0 {
		texts = append(texts, fmt.Sprintf("You have changed files that are not yours:\n%s\nYou may write to %s. %s",
			w.listed(member, outside), orNothing(member.Owns), w.undoText(member, outside)))
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

// unseen is the verdict when the folder could not be read. A folder that is too large
// is reported to people and refuses nothing; other errors count as a gate that cannot
// run.
func (w *Watch) unseen(ctx context.Context, member *members.Member, err error) hooks.Result {
	if !errors.Is(err, ErrTooLarge) {
		return runner.Broken(err)
	}
	w.fault(ctx, member, err)
	return runner.Agree()
}

// listed lists files with their owners.
func (w *Watch) listed(member *members.Member, files []string) string {
	named := make([]string, len(files))
	for i, file := range files {
		named[i] = file
		var owners []string
		for _, other := range w.deps.Members.Members() {
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

// undoText returns how to restore files. Where others work too, the member must do that by
// its own writes: covey suggests no command that would revert more.
func (w *Watch) undoText(member *members.Member, files []string) string {
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
		how = append(how, fmt.Sprintf("Undo that with `git restore --source=%.12s --worktree -- %s` (`rm` for files that are new).",
			base, quoted(whole[:min(len(whole), named)])))
	}
	if len(rest) > 0 {
		how = append(how, fmt.Sprintf("Restore the state at the start of your turn (or remove what is new): %s.", strings.Join(rest[:min(len(rest), named)], ", ")))
	}
	return strings.Join(how, " ") + " Or ask your lead to let a member who may write there do it. Leave changes of others as they are, " +
		"and say so: others write in this folder too."
}

// People asks persons whether protected files may stay as a member has left them.
type People interface {
	// WithdrawOutdated withdraws the open questions about the member's protected files in other
	// states than that of key.
	WithdrawOutdated(ctx context.Context, member, key string) error
	// Ask asks, unless the question was asked already, and returns the answer so far.
	Ask(ctx context.Context, member, key string, files []string) (Answer, error)
}

// Answer is the state of a question of People.Ask.
type Answer struct {
	Yes  bool   // the files may stay
	No   string // they may not stay: the reason, for the member
	Open string // id of the open question; if all are zero, there is nobody to ask
}

// askToKeep asks a person whether protected files may stay as a member has left them.
// Its verdict waits for the answer. A yes holds for exactly these contents.
func (w *Watch) askToKeep(ctx context.Context, member *members.Member, files []string) (hooks.Result, error) {
	key := ""
	if len(files) > 0 {
		key = w.keeping(member, files)
	}
	if err := w.deps.People.WithdrawOutdated(ctx, member.Name, key); err != nil {
		return runner.Agree(), fmt.Errorf("withdraw questions about protected files: %w", err)
	}
	if len(files) == 0 {
		return runner.Agree(), nil
	}
	a, err := w.deps.People.Ask(ctx, member.Name, key, files)
	if err != nil {
		return runner.Agree(), fmt.Errorf("ask about protected files: %w", err)
	}
	list := List(files)
	switch {
	case a.Yes:
		w.allow(member, files)
		return runner.Agree(), nil
	case a.No != "":
		return runner.Refuse("You have changed protected files:\n%s\n%s %s", list, a.No, w.undoText(member, files)), nil
	case a.Open == "":
		return runner.Refuse("You have changed protected files:\n%s\nA person has to allow that, and there is nobody to ask now. %s",
			list, w.undoText(member, files)), nil
	}
	return runner.Await("a person's word on protected files",
		"You have changed protected files, which a person has been asked about "+
			"(request %s):\n%s\nA message will tell you the answer; end your turn until then.", a.Open, list), nil
}

// keeping returns the key of a question about files in their current state.
func (w *Watch) keeping(member *members.Member, files []string) string {
	m := w.markOf(member)
	m.mu.Lock()
	defer m.mu.Unlock()
	parts := []any{"keep"}
	for _, file := range files {
		parts = append(parts, file, m.Charges[file].Now)
	}
	return requests.KeyOf(parts...)
}

// allow lets files stay as they were last seen. Later writes to them are new changes.
func (w *Watch) allow(member *members.Member, files []string) {
	m := w.markOf(member)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, file := range files {
		delete(m.Charges, file)
	}
	w.fault(context.Background(), member, w.save(member, m))
}

// Answered drops the charges against a member that needed attention, after a person let
// it continue. It implements crew.Answerer.
func (w *Watch) Answered(_ context.Context, r requests.Request) error {
	m, ok := w.deps.Members.Member(r.Member)
	if ok && r.Kind == requests.AskAttention && r.Approved() && w.watches(m) {
		w.allow(m, w.charged(m))
	}
	return nil
}

// charged returns the files that a member was charged with at the last look.
func (w *Watch) charged(member *members.Member) []string {
	m := w.markOf(member)
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.Charges))
}

// ForbiddenChanges describes the charges against a member that needs attention, for people; empty
// if there are none.
func (w *Watch) ForbiddenChanges(member *members.Member) string {
	if !w.watches(member) {
		return ""
	}
	files := w.charged(member)
	if len(files) == 0 {
		return ""
	}
	return "; it, or another member in its folder, has changed files that it may not: " + strings.Join(files, ", ") +
		" (approve lets that stay)"
}
