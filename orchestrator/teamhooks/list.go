package teamhooks

import (
	"cmp"
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/api"
)

// Callbacks lists the Go hooks that a program has registered.
func Callbacks(registered *hooks.Registry) []api.Hook {
	var infos []api.Hook
	for _, h := range runner.Callbacks(registered) {
		info := hookOf(h)
		info.Kind, info.Path = "callback", ""
		infos = append(infos, info)
	}
	return infos
}

// List lists the configured hooks of a team's layers, and whether each runs for an input,
// if there is one. Counts are zero; see SetCounts. team may be nil: then every layer is a
// settings file or a plugin. workspace is where path rules of an `if` begin.
func List(team *configs.Team, workspace string, sources []settings.Source, in *hooks.Input) ([]api.Hook, error) {
	opts := runner.Options{ProjectDir: workspace, FailClosed: team != nil && team.FailClosed}
	found, err := runner.Inspect(sources, in, &opts)
	if err != nil {
		return nil, err
	}
	infos := make([]api.Hook, 0, len(found))
	for _, h := range found {
		info := hookOf(h)
		info.Kind = kindOf(team, h)
		infos = append(infos, info)
	}
	if in != nil { // gates of merges run for no event of a member
		return infos, nil
	}
	merges, err := MergeGates(team)
	for _, h := range merges {
		info := hookOf(h)
		info.Event, info.Path, info.Kind = api.AtMerge, fmt.Sprintf("%s[%d]", api.AtMerge, h.Hook), kindOf(team, h)
		infos = append(infos, info)
	}
	return infos, err
}

// MergeGates returns the gates that a team's spec has only for merges. They get the input
// of TaskCompleted. team may be nil.
func MergeGates(team *configs.Team) ([]runner.Configured, error) {
	if team == nil || len(team.Merge.Gates) == 0 {
		return nil, nil
	}
	group := []hooks.Group{{Hooks: team.Merge.Gates}}
	source := settings.Source{Name: "gates of " + team.File, Settings: hooks.Settings{hooks.TaskCompleted: group}}
	return runner.Inspect([]settings.Source{source}, nil, &runner.Options{ProjectDir: team.Workspace})
}

// hookOf describes one hook.
func hookOf(h runner.Configured) api.Hook {
	return api.Hook{
		Event: string(h.Event), Matcher: h.Matcher, If: h.Handler.If, Type: cmp.Or(h.Handler.Type, "policy"),
		Command: h.Label, Source: h.Source.Name, Path: h.Path(), Member: h.Source.Member,
		Gate: h.Handler.Gate, Observes: h.Handler.Mode != "", Never: h.Never, Not: h.Not, Only: h.Only,
	}
}

// kindOf returns the kind of the layer that a hook is from: spec, gates, settings,
// plugin, agent file or managed.
func kindOf(team *configs.Team, h runner.Configured) string {
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

// Gate is one gate of a spec.
type Gate struct {
	runner.Configured
	Moment string // its event, or api.AtMerge
}

// Gates lists the gates of a team, those of merges last.
func Gates(team *configs.Team) ([]Gate, error) {
	found, err := runner.Inspect([]settings.Source{{Name: team.File, Settings: team.Gates}}, nil,
		&runner.Options{ProjectDir: team.Workspace})
	if err != nil {
		return nil, fmt.Errorf("list gates: %w", err)
	}
	merges, err := MergeGates(team)
	if err != nil {
		return nil, fmt.Errorf("list gates: %w", err)
	}
	var gates []Gate
	for _, h := range found {
		gates = append(gates, Gate{h, string(h.Event)})
	}
	for _, h := range merges {
		gates = append(gates, Gate{h, api.AtMerge})
	}
	return gates, nil
}
