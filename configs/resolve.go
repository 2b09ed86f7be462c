package configs

import (
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/configs/hookfiles"
	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/wording"
)

// resolver makes a Team of a decoded spec: it follows references, looks for
// files and fills in defaults. It goes on after mistakes, so that all are
// found; a Team that came with mistakes is thrown away.
//
// What decoding has refused has a place and no value. The resolver takes it
// for given and asks nothing more of it, so that one slip does not draw a tail
// of messages about what is missing.
type resolver struct {
	*schema.Decoder
	opts Options
	file string // absolute path of the spec
	over string // absolute path of its local override; empty: none
	dir  string // where relative paths start

	workspace string // absolute path; empty: it cannot be used, which has been said
	lookup    func(name string) (string, bool)
	expanded  int // length of all values of variables so far, in bytes

	models  map[string]Model
	prompts map[string]prompt // by path: many members may inherit one file
	agents  map[string]Agent
	// writable reports whether files can be made in a folder. Tests replace
	// it, because the superuser may write everywhere.
	writable func(dir string) error
}

// team resolves the whole spec.
func (r *resolver) team(s *teamSpec) *Team {
	t := &Team{
		File:       r.file,
		Override:   r.over,
		Name:       s.name.Or(DefaultName(r.dir)),
		Goal:       s.goal.V,
		Keep:       s.keep.V,
		FailClosed: s.closed.V,
	}
	t.Workspace = r.folder(s.workspace)
	t.Models = r.allModels(s.models)
	t.Agents = r.allAgents(s.agents)
	r.agent(&s.defaults) // a mistake there is one, even if every member overrides it
	t.Lead = r.lead(s)
	t.Teammates = r.allTeammates(s, t.Lead.Name)
	r.dependencies(t, s)
	gates := &gateRules{r.Decoder, r.workspace}
	gates.approvers(t, &s.gates)
	t.Tasks = (&taskRules{r.Decoder}).allTasks(s.tasks, t.Members())
	t.Hooks = (&hookRules{r.Decoder}).hooks(&s.hooks)
	t.Gates = gates.gates(&s.gates)
	for _, path := range s.settings.Items {
		file := r.path(path, "settings file")
		_, warnings := hookfiles.ReadSettings(file, hookfiles.Read)
		r.refused(path, warnings)
		t.Settings = append(t.Settings, file)
	}
	for _, path := range s.plugins.Items {
		dir, _ := r.existingFolder(path, "plugin")
		_, warnings := hookfiles.ReadPlugin(dir, hookfiles.Read)
		r.refused(path, warnings)
		t.Plugins = append(t.Plugins, dir)
	}
	r.teamwork(t, s)
	gates.gatePrograms(t, &s.gates)
	return t
}

// DefaultName is the name of a team that has none: its folder's, made fit.
func DefaultName(dir string) string {
	if name := wording.Slug(filepath.Base(dir)); name != "" && reserved(name) == "" {
		return name
	}
	return "team"
}

// hookRules checks the section `hooks`.
type hookRules struct{ *schema.Decoder }

// hooks checks the section `hooks` by the rules of package hooks.
func (r *hookRules) hooks(s *hookSection) hooks.Settings {
	if s.at == nil {
		return nil
	}
	section := s.settings()
	for _, p := range settings.Validate(section) {
		n := s.node(p)
		if r.Said(n.At) || n.Kind == yaml.Mapping && n.Broken {
			continue
		}
		r.Fail(n.At, "%s", p.Text)
	}
	r.mandatoryHooks(s)
	r.actingHooks(s)
	r.warnSilentEvents(s)
	return section
}

// mandatoryHooks refuses the word on hooks that could not hold a call back in
// any case.
func (r *hookRules) mandatoryHooks(s *hookSection) {
	for event, groups := range s.groups {
		for _, g := range groups.Items {
			for _, h := range g.hooks.Items {
				switch {
				case !h.mandatory.V:
				case event != hooks.PreToolUse && event != hooks.PermissionRequest:
					r.Fail(h.mandatory.At.At, "only hooks on PreToolUse and PermissionRequest can be mandatory, "+
						"not those on %s; remove it", event)
				case h.async.V || h.asyncRewake.V:
					r.Fail(h.mandatory.At.At, "a hook that nobody waits for cannot be mandatory; remove async, or this")
				}
			}
		}
	}
}

// actingHooks refuses may_act on hooks that are asked about calls: what one does would
// be a call that it is asked about, without an end.
func (r *hookRules) actingHooks(s *hookSection) {
	for event, groups := range s.groups {
		if !slices.Contains([]hooks.Event{hooks.PreToolUse, hooks.PermissionRequest, hooks.PermissionDenied}, event) {
			continue
		}
		for _, g := range groups.Items {
			for _, h := range g.hooks.Items {
				if h.mayAct.V {
					r.Fail(h.mayAct.At.At, "a hook on %s cannot act, for it would be asked about its own calls; remove it", event)
				}
			}
		}
	}
}

// warnSilentEvents warns of hooks on events that never come by themselves.
func (r *hookRules) warnSilentEvents(s *hookSection) {
	for _, info := range hooks.Events() {
		if groups, ok := s.groups[info.Event]; ok && !info.Fires && groups.At != nil {
			r.Warn(groups.At.At, "%s: not yet in this version; "+
				"these hooks run only when `covey hooks run` fires them", info.Event)
		}
	}
}
