package teammate

import (
	"context"
	"encoding/json"

	"github.com/coveyteam/covey/hooks"
)

// moved tells the CwdChanged hooks that a tool has taken the member to another
// directory, before the hooks that look at the tool's result.
func (at *scope) moved(ctx context.Context, from string) {
	to := at.t.opts.Workdir.Dir()
	if to == from || ctx.Err() != nil {
		return
	}
	out, _ := at.try(ctx, hooks.CwdChangedInput{OldCwd: from, NewCwd: to})
	if !at.watchPaths(out) {
		at.rewatch() // the names that matchers have are looked for in the new directory, too
	}
}

// watchPaths follows what hooks of SessionStart, CwdChanged and FileChanged
// want watched from now on, in place of what they wanted before. It reports
// whether they said anything about that.
func (at *scope) watchPaths(out hooks.Outcome) bool {
	raw, ok := out.Output["watchPaths"]
	if !ok {
		return false
	}
	var paths []string
	if err := json.Unmarshal(raw, &paths); err != nil { // the schema check lets nothing here
		at.warn("watchPaths of a %s hook was left out: %v", out.Event, err)
		return false
	}
	t := at.t
	t.watching.mu.Lock()
	t.watching.asked = paths
	t.watching.mu.Unlock()
	at.rewatch()
	return true
}
