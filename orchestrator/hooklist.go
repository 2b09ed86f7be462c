package orchestrator

import (
	"cmp"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
)

// hookInfos lists the hooks that the team has now, callbacks included, with what
// came of them in this run.
func (o *Orchestrator) hookInfos(c *crew) ([]HookInfo, error) {
	infos, err := ListHooks(o.team(), c.live.now().layers.sources, nil)
	if err != nil {
		return nil, err
	}
	for _, h := range o.opts.Hooks.List() {
		info := hookInfo(h)
		info.Kind, info.Path = "callback", ""
		infos = append(infos, info)
	}
	var tally HookTally
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
func ListHooks(team *configs.Team, sources []hooks.Source, in *hooks.Input) ([]HookInfo, error) {
	opts := hooks.Options{}
	if team != nil {
		opts.ProjectDir, opts.FailClosed = team.Workspace, team.FailClosed
	}
	found, err := hooks.Inspect(sources, in, &opts)
	if err != nil {
		return nil, err
	}
	infos := make([]HookInfo, 0, len(found))
	for _, h := range found {
		info := hookInfo(h)
		info.Kind = KindOf(team, h)
		infos = append(infos, info)
	}
	return infos, nil
}

// hookInfo shows one hook.
func hookInfo(h hooks.Configured) HookInfo {
	return HookInfo{
		Event: string(h.Event), Matcher: h.Matcher, If: h.Handler.If, Type: cmp.Or(h.Handler.Type, "policy"),
		Command: h.Label, Source: h.Source.Name, Path: h.Path(), Member: h.Source.Member,
		Gate: h.Handler.Gate, Observes: h.Handler.Mode != "", Never: h.Never, Not: h.Not, Only: h.Only,
	}
}

// KindOf says what kind of layer a hook is from: spec, gates, settings, plugin,
// agent file or managed.
func KindOf(team *configs.Team, h hooks.Configured) string {
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
