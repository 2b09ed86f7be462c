package writes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
)

// CommittedPolicy is the policy that refuses until a member's changes are committed. In its own git working copy
// a member answers for all changes in its turns, in a folder that others use, too, for the files that its calls
// name. Nothing is read or recorded unless a hook or gate of the team names the policy.
const CommittedPolicy = "work-committed"

// Complete records what CommittedPolicy has to know of an event of a member. It adds nothing to the event. The
// member's goroutine calls it before anything else happens. The turns of a helper are part of its member's. It
// implements crew.Completer.
func (w *Watch) Complete(ctx context.Context, member *members.Member, e events.Event) (events.Event, error) {
	asked := w.deps.Asks(CommittedPolicy)
	switch d := e.Data.(type) {
	case events.TurnStarted:
		if e.Helper == "" {
			open := w.opener(member)
			if !asked {
				open = nil
			}
			w.warn(ctx, member, w.turnsOf(member).Begin(ctx, e.Turn, open))
		}
	case events.TurnEnded:
		if e.Helper == "" {
			w.warn(ctx, member, w.turnsOf(member).End(ctx, w.opener(member)))
		}
	case events.ToolCalled:
		if path, ok := named(member, d); ok && asked && !w.ownCopy(member) {
			w.mu.Lock()
			w.calls[member.Name+"/"+d.ID] = path
			w.mu.Unlock()
		}
	case events.ToolReturned:
		w.mu.Lock()
		path, ok := w.calls[member.Name+"/"+d.ID]
		delete(w.calls, member.Name+"/"+d.ID)
		w.mu.Unlock()
		if ok && !d.IsError {
			w.warn(ctx, member, w.turnsOf(member).Wrote(path))
		}
	}
	return e, nil
}

// turnsOf returns the Turns of a member.
func (w *Watch) turnsOf(member *members.Member) *Turns {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.turns[member.Name]
	if !ok {
		t = OpenTurns(filepath.Join(w.deps.Scratch, member.Name+".turns.json"))
		w.turns[member.Name] = t
	}
	return t
}

// opener returns how to open a member's own copy; nil: it has none. Nothing of the copy is remembered, because it may
// have been created again in the same place.
func (w *Watch) opener(member *members.Member) func(context.Context) (*Folder, error) {
	if !w.ownCopy(member) {
		return nil
	}
	return func(ctx context.Context) (*Folder, error) {
		return w.openFolder(ctx, member, filepath.Join(w.deps.Scratch, member.Name+".turns.index"))
	}
}

// named returns the file that a call names to write, below its member's folder, with links resolved.
func named(member *members.Member, d events.ToolCalled) (string, bool) {
	var in struct {
		FilePath     string `json:"file_path"`
		NotebookPath string `json:"notebook_path"`
	}
	if !slices.Contains([]string{"Write", "Edit", "MultiEdit", "NotebookEdit"}, d.Name) || json.Unmarshal(d.Input, &in) != nil {
		return "", false
	}
	path := in.FilePath + in.NotebookPath
	if path == "" {
		return "", false
	}
	path = texts.Absolute(member.Dir, path)
	root, err := filepath.EvalSymlinks(member.Dir)
	if err != nil {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(real, filepath.Base(path))
	}
	return texts.Below(root, path)
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
	turns := w.turnsOf(member)
	files, err := turns.Changed(ctx, w.opener(member))
	if errors.Is(err, ErrTooLarge) { // people are told, and it refuses nothing
		w.warn(ctx, member, err)
		return runner.Agree()
	}
	var open []string
	if err == nil && len(files) > 0 {
		open, err = uncommitted(ctx, repo, member.Dir, files, turns.Committed)
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
