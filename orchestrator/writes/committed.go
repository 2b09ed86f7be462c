package writes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/members"
)

// CommittedPolicy is the policy that refuses until a member's changes are committed.
const CommittedPolicy = "work-committed"

// changedFiles tracks which files members have changed, for the policy work-committed.
// In its own git working copy a member answers for all changes in its turns, in a
// shared folder for those that only it can have made according to Log. It reads
// files only if a hook or gate of the team names the policy.
type changedFiles struct {
	w *Watch

	mu    sync.Mutex
	turns map[string]*Turns // by member
}

// see records that a turn begins or ends. The member's goroutine calls it before
// anything else happens. The turns of a helper are part of its member's.
func (f *changedFiles) see(ctx context.Context, member *members.Member, e events.Event) {
	if e.Helper != "" {
		return
	}
	switch e.Data.(type) {
	case events.TurnStarted:
		var look *Reader
		if f.w.deps.Asks(CommittedPolicy) {
			l := f.reader(member)
			look = &l
		}
		f.warn(ctx, member, f.of(member).Begin(ctx, e.Turn, look))
	case events.TurnEnded:
		f.warn(ctx, member, f.of(member).End(ctx, f.reader(member)))
	}
}

// of returns the Turns of a member.
func (f *changedFiles) of(member *members.Member) *Turns {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, ok := f.turns[member.Name]
	if !ok {
		t = OpenTurns(filepath.Join(f.w.deps.Scratch, member.Name+".turns.json"))
		f.turns[member.Name] = t
	}
	return t
}

// reader returns how to read a member's folder. Nothing of a member's own copy is
// remembered, because it may have been created again in the same place.
func (f *changedFiles) reader(member *members.Member) Reader {
	if f.w.ownCopy(member) {
		return Reader{Who: member.Name, Folder: func(ctx context.Context) (*SharedFolder, error) {
			return f.w.openFolder(ctx, member, filepath.Join(f.w.deps.Scratch, member.Name+".turns.index"))
		}}
	}
	return Reader{Who: member.Name, Log: f.w.log(member.Dir),
		Folder: func(ctx context.Context) (*SharedFolder, error) {
			f.w.rest(member)
			f.w.sharing(member)
			return f.w.Folder(ctx, member)
		}}
}

// warn tells people that the policy does not know what a member has changed.
func (f *changedFiles) warn(ctx context.Context, member *members.Member, err error) {
	if err != nil && ctx.Err() == nil {
		f.w.warn(member, "the policy %s does not know what %s has changed: %v", CommittedPolicy, member.Name, err)
	}
}

// Committed implements CommittedPolicy. It refuses while the member has uncommitted
// changes. It ignores what was uncommitted before, and what others write in the same
// folder.
func (w *Watch) Committed(ctx context.Context, in hooks.Input) hooks.Result {
	member, ok := w.deps.Members.Member(w.deps.Members.MemberOf(in))
	if !ok {
		return runner.Agree() // no member's work
	}
	repo, err := w.deps.Git.Open(ctx, in.Cwd)
	if err != nil {
		return runner.Broken(err)
	}
	files, err := w.changes.of(member).Changed(ctx, w.changes.reader(member))
	if errors.Is(err, ErrTooLarge) { // it refuses nothing, as for owns
		w.changes.warn(ctx, member, err)
		return runner.Agree()
	}
	var open []string
	if err == nil && len(files) > 0 {
		open, err = Uncommitted(ctx, repo, member.Dir, files)
	}
	switch {
	case err != nil:
		return runner.Broken(err)
	case len(open) == 0:
		return runner.Agree()
	}
	const shown = 50 // more would not help a model
	text := strings.Join(open[:min(len(open), shown)], "\n")
	if more := len(open) - shown; more > 0 {
		text += fmt.Sprintf("\n… and %d more", more)
	}
	return runner.Refuse("There are changes of yours that are not committed:\n%s\nCommit what belongs to your task, or undo it. "+
		"What else `git status` shows is not yours: leave it as it is.", text)
}
