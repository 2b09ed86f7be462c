package teammate

import (
	"context"
	"encoding/json"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/workspace"
)

// watchFiles makes FileChanged fire, during turns and between them, until t.watching ends or ctx
// does.
//
// The hooks run in the watcher's goroutine, outside of the member's loop, and never block a
// turn.
func (t *Teammate) watchFiles(ctx context.Context) {
	t.outside().tellUnwatched(t.watching.Begin(ctx, func(ctx context.Context, c workspace.FileChange) {
		at := t.outside()
		if out, ok := at.try(ctx, hooks.FileChangedInput{FilePath: c.Path, Change: c.Kind}); ok {
			at.watchPaths(out)
		}
	}))
}

// tellUnwatched warns of files that cannot be watched.
func (s *hookContext) tellUnwatched(err error) {
	if err != nil {
		s.warn("FileChanged: %v", err)
	}
}

// moved fires CwdChanged if a tool has moved the member to another directory, before
// the hooks that see the tool's result.
func (s *hookContext) moved(ctx context.Context, from string) {
	to := s.t.opts.Workdir.Dir()
	if to == from || ctx.Err() != nil {
		return
	}
	out, _ := s.try(ctx, hooks.CwdChangedInput{OldCwd: from, NewCwd: to})
	if !s.watchPaths(out) {
		s.tellUnwatched(s.t.watching.Update()) // names in matchers are also looked up in the new directory
	}
}

// watchPaths replaces the watched paths by those that hooks of SessionStart, CwdChanged
// or FileChanged ask for. It reports whether they asked for any.
func (s *hookContext) watchPaths(out hooks.Outcome) bool {
	raw, ok := out.Output["watchPaths"]
	if !ok {
		return false
	}
	var paths []string
	if err := json.Unmarshal(raw, &paths); err != nil { // the schema check prevents this
		s.warn("watchPaths of a %s hook was ignored: %v", out.Event, err)
		return false
	}
	s.tellUnwatched(s.t.watching.Ask(paths))
	return true
}
