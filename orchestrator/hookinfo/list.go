// Package hookinfo lists the hooks of a team from its spec, settings files and plugins,
// and counts their results. It needs no running team. It makes no promise of
// compatibility to programs outside covey.
//
// `covey hooks list`, `covey validate` and the doctor show what List returns, so they
// agree with a run about the order of hooks and the layer of each.
package hookinfo

import (
	"cmp"
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
)

// Info is one configured hook, for `covey hooks list`.
type Info struct {
	Event      string `json:"event"`
	Matcher    string `json:"matcher,omitempty"`
	If         string `json:"if,omitempty"`
	Type       string `json:"type"`
	Command    string `json:"command"`
	Source     string `json:"source"`           // the file or plugin that defines it
	Kind       string `json:"kind"`             // of the source: spec, gates, settings, plugin, agent file, managed, callback
	Path       string `json:"path"`             // its place in the source, below the hooks section; empty for a callback
	Member     string `json:"member,omitempty"` // the only member that it applies to
	Gate       bool   `json:"gate"`             // refuses when it cannot run
	Observes   bool   `json:"observes"`         // its verdict is recorded but has no effect
	Never      string `json:"never,omitempty"`  // why it can never run
	Not        string `json:"not,omitempty"`    // why it does not run for the given input
	Only       string `json:"only,omitempty"`   // the condition under which it runs
	Runs       int    `json:"runs"`             // in this run of the team
	Refusals   int    `json:"refusals"`         // likewise
	FailedOpen int    `json:"failed_open"`      // likewise
	Would      int    `json:"would"`            // likewise: how often a hook of mode observe would have had an effect
}

// Callbacks lists the Go hooks that a program has registered.
func Callbacks(registered *hooks.Registry) []Info {
	var infos []Info
	for _, h := range runner.Callbacks(registered) {
		info := infoOf(h)
		info.Kind, info.Path = "callback", ""
		infos = append(infos, info)
	}
	return infos
}

// SetCounts sets the counts of each hook.
func SetCounts(infos []Info, tally *Tally) {
	for i := range infos {
		h := &infos[i]
		n := tally.Of(h.Event, h.Command)
		h.Runs, h.Refusals, h.FailedOpen, h.Would = n.Runs, n.Refusals, n.FailedOpen, n.Would
	}
}

// CountAs copies the counts of the same hook from another list.
func (h *Info) CountAs(infos []Info) {
	for _, other := range infos {
		if other.Event == h.Event && other.Command == h.Command {
			h.Runs, h.Refusals, h.FailedOpen, h.Would = other.Runs, other.Refusals, other.FailedOpen, other.Would
			return
		}
	}
}

// List lists the configured hooks of a team's layers, and whether each runs for an input,
// if there is one. Counts are zero; see SetCounts. team may be nil: then every layer is a
// settings file or a plugin. workspace is where path rules of an `if` begin.
func List(team *configs.Team, workspace string, sources []settings.Source, in *hooks.Input) ([]Info, error) {
	opts := runner.Options{ProjectDir: workspace, FailClosed: team != nil && team.FailClosed}
	found, err := runner.Inspect(sources, in, &opts)
	if err != nil {
		return nil, err
	}
	infos := make([]Info, 0, len(found))
	for _, h := range found {
		info := infoOf(h)
		info.Kind = KindOf(team, h)
		infos = append(infos, info)
	}
	if in != nil { // gates of merges run for no event of a member
		return infos, nil
	}
	merges, err := MergeGates(team)
	for _, h := range merges {
		info := infoOf(h)
		info.Event, info.Path, info.Kind = AtMerge, fmt.Sprintf("%s[%d]", AtMerge, h.Hook), KindOf(team, h)
		infos = append(infos, info)
	}
	return infos, err
}

// AtMerge is the event under which lists show the gates of merges.
const AtMerge = "merge"

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

// infoOf describes one hook.
func infoOf(h runner.Configured) Info {
	return Info{
		Event: string(h.Event), Matcher: h.Matcher, If: h.Handler.If, Type: cmp.Or(h.Handler.Type, "policy"),
		Command: h.Label, Source: h.Source.Name, Path: h.Path(), Member: h.Source.Member,
		Gate: h.Handler.Gate, Observes: h.Handler.Mode != "", Never: h.Never, Not: h.Not, Only: h.Only,
	}
}

// KindOf returns the kind of the layer that a hook is from: spec, gates, settings,
// plugin, agent file or managed.
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

// Gate is one gate of a spec.
type Gate struct {
	runner.Configured
	Moment string // its event, or AtMerge
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
		gates = append(gates, Gate{h, AtMerge})
	}
	return gates, nil
}
