package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/written"
	"github.com/coveyteam/covey/teammate/agent"
)

// workCommitted is the policy that refuses while git does not have what a member has changed.
const workCommitted = "work-committed"

// changedFiles knows which files members have changed, for the policy work-committed: in a git
// working copy of its own a member answers for all that changes there in its turns, in a
// folder that it shares for what written.Ledger says only it can have written. Nothing is
// looked at unless a hook or gate of the team names the policy.
type changedFiles struct {
	w     *sharedWrites
	asked func() bool // reports whether something names the policy

	mu    sync.Mutex
	turns map[string]*written.Turns // by member
}

func newChangedFiles(w *sharedWrites, c *crew) *changedFiles {
	return &changedFiles{w: w, turns: map[string]*written.Turns{}, asked: func() bool {
		state := c.live.now()
		return state != nil && namesPolicy(state.layers.sources, workCommitted)
	}}
}

// namesPolicy reports whether a hook or gate of some layers asks a policy.
func namesPolicy(sources []settings.Source, name string) bool {
	for _, source := range sources {
		for _, groups := range source.Settings {
			for _, g := range groups {
				if slices.ContainsFunc(g.Hooks, func(h hooks.Handler) bool { return h.Policy == name }) {
					return true
				}
			}
		}
	}
	return false
}

// see takes in that a turn begins or ends. The member's goroutine calls it before anything
// follows. The turns of a helper are part of its member's.
func (f *changedFiles) see(ctx context.Context, s *seat, e agent.Event) {
	if e.Helper != "" {
		return
	}
	switch e.Data.(type) {
	case agent.TurnStarted:
		var look *written.Look
		if f.asked() {
			l := f.look(s)
			look = &l
		}
		f.warn(ctx, s, f.of(s).Begin(ctx, e.Turn, look))
	case agent.TurnEnded:
		f.warn(ctx, s, f.of(s).End(ctx, f.look(s)))
	}
}

// of is what is known of a member's turns.
func (f *changedFiles) of(s *seat) *written.Turns {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, ok := f.turns[s.member.Name]
	if !ok {
		t = written.OpenTurns(filepath.Join(f.w.scratch, s.member.Name+".turns.json"))
		f.turns[s.member.Name] = t
	}
	return t
}

// look is how a member's folder is looked at. A copy of its own may have been made anew in
// the same place, so that nothing is remembered of it.
func (f *changedFiles) look(s *seat) written.Look {
	if f.w.ownCopy(s) {
		return written.Look{Who: s.member.Name, Ground: func(ctx context.Context) (*written.Ground, error) {
			return f.w.newGround(ctx, s, filepath.Join(f.w.scratch, s.member.Name+".turns.index"))
		}}
	}
	return written.Look{Who: s.member.Name, Ledger: f.w.ledger(s),
		Ground: func(ctx context.Context) (*written.Ground, error) {
			f.w.rest(s)
			f.w.beside(s)
			return f.w.ground(ctx, s)
		}}
}

// warn tells people that the policy cannot tell what a member has changed.
func (f *changedFiles) warn(ctx context.Context, s *seat, err error) {
	if err != nil && ctx.Err() == nil {
		f.w.warn(s, "the policy %s does not know what %s has changed: %v", workCommitted, s.member.Name, err)
	}
}

// workCommitted refuses while git does not have what the member has changed. What stood
// there uncommitted before, and what others write in the same folder, is not its business.
func (c *crew) workCommitted(ctx context.Context, in hooks.Input) hooks.Result {
	s, ok := c.seat(c.memberOf(in))
	if !ok {
		return agree() // the work of nobody
	}
	if c.writes == nil {
		return broken(errors.New("what a member has changed is known only while its team runs"))
	}
	repo, err := c.trees.Git().Open(ctx, in.Cwd)
	if err != nil {
		return broken(err)
	}
	changes := c.writes.changes
	files, err := changes.of(s).Changed(ctx, changes.look(s))
	if errors.Is(err, written.ErrTooLarge) { // it holds up nobody, as with owns
		changes.warn(ctx, s, err)
		return agree()
	}
	var open []string
	if err == nil && len(files) > 0 {
		open, err = written.Uncommitted(ctx, repo, s.member.Dir, files)
	}
	switch {
	case err != nil:
		return broken(err)
	case len(open) == 0:
		return agree()
	}
	const shown = 50 // a model has no use for more
	text := strings.Join(open[:min(len(open), shown)], "\n")
	if more := len(open) - shown; more > 0 {
		text += fmt.Sprintf("\n… and %d more", more)
	}
	return refuse("There are changes of yours that are not committed:\n%s\nCommit what belongs to your task, or take it back. "+
		"What else `git status` shows is not yours: leave it as it is.", text)
}
