package orchestrator

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
)

// hookInfos lists the hooks that the team has now, callbacks included, with what
// came of them in this run.
func (o *Orchestrator) hookInfos(c *crew) ([]HookInfo, error) {
	infos, err := ListHooks(o.team(), c.live.now().layers.sources, nil)
	if err != nil {
		return nil, err
	}
	for _, h := range runner.Callbacks(o.opts.Hooks) {
		info := hookInfo(h)
		info.Kind, info.Path = "callback", ""
		infos = append(infos, info)
	}
	var tally HookTally
	if c.merges != nil {
		c.merges.ran.joinTo(&tally)
	}
	c.mu.Lock()
	for _, s := range c.seats() {
		tally.Join(&s.watch.hooks)
	}
	c.mu.Unlock()
	CountHooks(infos, &tally)
	return infos, nil
}

// CountHooks fills in what came of each hook.
func CountHooks(infos []HookInfo, tally *HookTally) {
	for i := range infos {
		h := &infos[i]
		n := tally.Of(h.Event, h.Command)
		h.Runs, h.Refusals, h.FailedOpen, h.Would = n.Runs, n.Refusals, n.FailedOpen, n.Would
	}
}

// CountAs takes over what came of the same hook in another list.
func (h *HookInfo) CountAs(infos []HookInfo) {
	for _, other := range infos {
		if other.Event == h.Event && other.Command == h.Command {
			h.Runs, h.Refusals, h.FailedOpen, h.Would = other.Runs, other.Refusals, other.FailedOpen, other.Would
			return
		}
	}
}

// ListHooks lists what is configured in the layers of a team's hooks, and what of
// it runs for an input if there is one. Counts are zero; see CountHooks. team may
// be nil: then every layer is a settings file or a plugin.
func ListHooks(team *configs.Team, sources []settings.Source, in *hooks.Input) ([]HookInfo, error) {
	opts := runner.Options{}
	if team != nil {
		opts.ProjectDir, opts.FailClosed = team.Workspace, team.FailClosed
	}
	found, err := runner.Inspect(sources, in, &opts)
	if err != nil {
		return nil, err
	}
	infos := make([]HookInfo, 0, len(found))
	for _, h := range found {
		info := hookInfo(h)
		info.Kind = KindOf(team, h)
		infos = append(infos, info)
	}
	if in != nil { // gates of merges run for no event of a member
		return infos, nil
	}
	merges, err := MergeGates(team)
	for _, h := range merges {
		info := hookInfo(h)
		info.Event, info.Path, info.Kind = AtMerge, fmt.Sprintf("%s[%d]", AtMerge, h.Hook), KindOf(team, h)
		infos = append(infos, info)
	}
	return infos, err
}

// AtMerge stands in lists for the event of gates that look at merged work.
const AtMerge = "merge"

// MergeGates are the gates that a team's spec has for merges alone. They get the input of
// TaskCompleted. team may be nil.
func MergeGates(team *configs.Team) ([]runner.Configured, error) {
	if team == nil || len(team.Merge.Gates) == 0 {
		return nil, nil
	}
	group := []hooks.Group{{Hooks: team.Merge.Gates}}
	source := settings.Source{Name: "gates of " + team.File, Settings: hooks.Settings{hooks.TaskCompleted: group}}
	return runner.Inspect([]settings.Source{source}, nil, &runner.Options{ProjectDir: team.Workspace})
}

// mergeRuns counts what came of gates at merges. It is safe for concurrent use.
type mergeRuns struct {
	mu    sync.Mutex
	tally HookTally
}

// add counts one run.
func (r *mergeRuns) add(end HookEnd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end.Event = AtMerge
	r.tally.Add(end)
}

// joinTo adds the counts to a tally.
func (r *mergeRuns) joinTo(all *HookTally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all.Join(&r.tally)
}

// hookInfo shows one hook.
func hookInfo(h runner.Configured) HookInfo {
	return HookInfo{
		Event: string(h.Event), Matcher: h.Matcher, If: h.Handler.If, Type: cmp.Or(h.Handler.Type, "policy"),
		Command: h.Label, Source: h.Source.Name, Path: h.Path(), Member: h.Source.Member,
		Gate: h.Handler.Gate, Observes: h.Handler.Mode != "", Never: h.Never, Not: h.Not, Only: h.Only,
	}
}

// KindOf says what kind of layer a hook is from: spec, gates, settings, plugin,
// agent file or managed.
func KindOf(team *configs.Team, h runner.Configured) string {
	switch {
	case h.Source.Managed:
		return "managed"
	case h.Source.Root != "":
		return "plugin"
	case h.Source.Member != "":
		return "agent file"
	case h.Handler.Gate:
		return "gates"
	case team != nil && h.Source.Name == team.File:
		return "spec"
	}
	return "settings"
}
