package teammate

import (
	"context"
	"encoding/json"

	"github.com/coveyteam/covey/hooks"
)

// moved fires CwdChanged if a tool has moved the member to another directory, before
// the hooks that see the tool's result.
func (at *scope) moved(ctx context.Context, from string) {
	to := at.t.opts.Workdir.Dir()
	if to == from || ctx.Err() != nil {
		return
	}
	out, _ := at.try(ctx, hooks.CwdChangedInput{OldCwd: from, NewCwd: to})
	if !at.watchPaths(out) {
		at.rewatch() // names in matchers are also looked up in the new directory
	}
}

// watchPaths replaces the watched paths by those that hooks of SessionStart, CwdChanged
// or FileChanged ask for. It reports whether they asked for any.
func (at *scope) watchPaths(out hooks.Outcome) bool {
	raw, ok := out.Output["watchPaths"]
	if !ok {
		return false
	}
	var paths []string
	if err := json.Unmarshal(raw, &paths); err != nil { // the schema check prevents this
		at.warn("watchPaths of a %s hook was ignored: %v", out.Event, err)
		return false
	}
	t := at.t
	t.watching.mu.Lock()
	t.watching.asked = paths
	t.watching.mu.Unlock()
	at.rewatch()
	return true
}
