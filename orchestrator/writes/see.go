package writes

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"context"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
)

// announced is a call that names the file it writes to.
type announced struct {
	path string // slash-separated, below the member's folder; empty: the call was not seen yet
	may  bool   // it was permitted
}

// Complete records an event of a member: when it could write, and which files it announced.
// It adds nothing to the event, but must have it before slow steps, because it reads the clock.
// It implements crew.Completer.
func (w *Watch) Complete(ctx context.Context, member *members.Member, e events.Event) (events.Event, error) {
	if !w.ownCopy(member) {
		w.seeShared(ctx, member, e)
	}
	w.changes.see(ctx, member, e)
	return e, nil
}

// seeShared is Complete for a member that shares its folder.
func (w *Watch) seeShared(ctx context.Context, member *members.Member, e events.Event) {
	l, who, now := w.log(member.Dir), member.Name, time.Now()
	switch d := e.Data.(type) {
	case events.TurnStarted:
		if !byCalls(member) {
			l.Begin(who, "turn", now)
		}
		w.begin(ctx, member, d.Cause)
	case events.TurnEnded:
		l.End(who, "turn", now)
	case events.ToolCalled:
		if byCalls(member) && writesAnything(d.Name) {
			l.Begin(who, d.ID, now)
		}
		w.called(member, d)
	case events.PermissionDecided:
		w.decided(member, d)
	case events.ToolReturned:
		w.returned(member, d)
		if w.deps.Members.HasBackground(member.Name) {
			w.mu.Lock()
			w.lingers[who] = append(w.lingers[who], d.ID)
			w.mu.Unlock()
			return
		}
		l.End(who, d.ID, now)
	case events.HookStarted:
		if d.Command != FilesPolicy {
			l.Begin(Hooks, d.ToolUseID+d.Command, now)
		}
	case events.HookFinished:
		if d.Background { // writes made meanwhile cannot be charged to it
			l.Void(Hooks, d.ToolUseID+d.Command)
		}
		l.End(Hooks, d.ToolUseID+d.Command, now)
	}
}

// byCalls reports whether a member writes only while one of covey's tools runs. A
// program, or an agent written in Go, may write at any time of its turn.
func byCalls(member *members.Member) bool { return member.CurrentAgent().Kind == configs.Builtin }

// writesAnything reports whether a call of a tool can write to files that it does not name.
func writesAnything(tool string) bool { return tool == "Bash" || strings.HasPrefix(tool, "mcp__") }

// rest ends the spans of calls that left processes running, once those have ended.
func (w *Watch) rest(member *members.Member) {
	if w.deps.Members.HasBackground(member.Name) {
		return
	}
	w.mu.Lock()
	calls := w.lingers[member.Name]
	delete(w.lingers, member.Name)
	w.mu.Unlock()
	for _, id := range calls {
		w.log(member.Dir).End(member.Name, id, time.Now())
	}
}

// called records a call that names the file it writes to.
func (w *Watch) called(member *members.Member, d events.ToolCalled) {
	path, ok := w.named(member, d)
	if !ok {
		return
	}
	key := member.Name + "/" + d.ID
	w.mu.Lock()
	a := w.calls[key]
	a.path = path
	w.calls[key] = a
	w.mu.Unlock()
	if a.may {
		w.log(member.Dir).Announce(member.Name, path, w.leave(member, a))
	}
}

// decided records whether a call may run.
func (w *Watch) decided(member *members.Member, d events.PermissionDecided) {
	if !slices.Contains(editTools(), d.Tool) {
		return
	}
	key := member.Name + "/" + d.ID
	w.mu.Lock()
	a := w.calls[key]
	a.may = d.Decision == "allow"
	w.calls[key] = a
	if !a.may {
		delete(w.calls, key)
	}
	w.mu.Unlock()
	if a.may && a.path != "" {
		w.log(member.Dir).Announce(member.Name, a.path, w.leave(member, a))
	}
}

// returned records the result of a call that names the file it writes to.
func (w *Watch) returned(member *members.Member, d events.ToolReturned) {
	key := member.Name + "/" + d.ID
	w.mu.Lock()
	a, ok := w.calls[key]
	delete(w.calls, key)
	w.mu.Unlock()
	switch {
	case !ok || a.path == "" || !a.may && byCalls(member):
	case d.IsError:
		w.log(member.Dir).Drop(a.path)
	default:
		at := &SharedFolder{Dir: member.Dir}
		w.log(member.Dir).Wrote(member.Name, a.path, at.PrintOf(a.path), w.leave(member, a))
	}
}

// leave reports whether a member may make a call. A permitted call to a protected file
// was allowed by a person; a program that calls without asking does not own the file.
func (w *Watch) leave(member *members.Member, a announced) bool {
	return a.may && len(Outside(member.Owns, []string{a.path})) == 0
}

// editTools returns the tools that write only to the file they name.
func editTools() []string { return []string{"Write", "Edit", "MultiEdit", "NotebookEdit"} }

// named returns the file that a call announces to write, below its member's folder,
// with links resolved.
func (w *Watch) named(member *members.Member, d events.ToolCalled) (string, bool) {
	var in struct {
		FilePath     string `json:"file_path"`
		NotebookPath string `json:"notebook_path"`
	}
	if !slices.Contains(editTools(), d.Name) || json.Unmarshal(d.Input, &in) != nil {
		return "", false
	}
	path := in.FilePath + in.NotebookPath
	if path == "" {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(member.Dir, path)
	}
	root, err := filepath.EvalSymlinks(member.Dir)
	if err != nil {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(real, filepath.Base(path))
	}
	rel, err := filepath.Rel(root, path)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}
