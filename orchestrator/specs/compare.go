package specs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
)

// Compare returns what a new spec changes. It fails if a key differs that cannot change
// while the team runs.
func Compare(was, now *configs.Team) (events.SpecChanged, error) {
	change := events.SpecChanged{Team: was.Name, Running: true, Members: []events.MemberChange{}, Tasks: []string{}, Settings: []string{}, Gated: len(now.Gates["TaskCompleted"]) > 0}
	if fixed := fixedKeys(was, now); len(fixed) > 0 {
		return change, CannotChange(fixed...)
	}
	for _, m := range now.Members() {
		old, known := Member(was, m.Name)
		if !known {
			change.Members = append(change.Members, events.MemberChange{
				Name: m.Name, Change: events.MemberAdded, Agent: members.AgentTitle(m.Agent),
			})
		} else if keys := memberKeys(old, m); len(keys) > 0 {
			change.Members = append(change.Members,
				events.MemberChange{Name: m.Name, Change: events.MemberChanges, Agent: members.AgentTitle(m.Agent), Keys: keys})
		}
	}
	for _, m := range was.Members() {
		if _, stays := Member(now, m.Name); !stays {
			change.Members = append(change.Members, events.MemberChange{
				Name: m.Name, Change: events.MemberRetires, Agent: members.AgentTitle(m.Agent),
			})
		}
	}
	change.Settings = append(change.Settings, teamKeys(was, now)...)
	return change, nil
}

// CannotChange returns the error for keys that cannot change while the team runs. A
// team's state is stored under its name and workspace, so changing these means another
// team.
func CannotChange(keys ...string) error {
	then := "starts it with the new spec"
	if slices.ContainsFunc(keys, func(key string) bool {
		return strings.HasPrefix(key, "name (") || strings.HasPrefix(key, "workspace (")
	}) {
		then = "then starts another team, without the tasks and messages of this one"
	}
	return texts.Errorf(configs.ErrSpec, "%s cannot change while the team runs; `covey down` ends it, and `covey up` %s",
		strings.Join(keys, ", "), then)
}

// fixedKeys lists the keys that differ and must not, because the team's state is stored
// under them or its parts were made with them.
func fixedKeys(was, now *configs.Team) []string {
	var fixed []string
	add := func(key, was, now string) {
		if was != now {
			fixed = append(fixed, fmt.Sprintf("%s (%s, now %s)", key, was, now))
		}
	}
	add("name", was.Name, now.Name)
	add("workspace", was.Workspace, now.Workspace)
	add("the lead's name", was.Lead.Name, now.Lead.Name)
	add("bus", fmt.Sprint(was.Bus), fmt.Sprint(now.Bus))
	add("fail_closed", fmt.Sprint(was.FailClosed), fmt.Sprint(now.FailClosed))
	return fixed
}

// Member returns a member of a spec by name.
func Member(t *configs.Team, name string) (configs.Member, bool) {
	all := t.Members()
	i := slices.IndexFunc(all, func(m configs.Member) bool { return m.Name == name })
	if i < 0 {
		return configs.Member{}, false
	}
	return all[i], true
}

// keyed is a key of a spec and how to get its value from a T.
type keyed[T any] struct {
	key string
	of  func(T) any
}

// differing lists the keys whose values differ.
func differing[T any](keys []keyed[T], was, now T) []string {
	var out []string
	for _, k := range keys {
		if !reflect.DeepEqual(k.of(was), k.of(now)) {
			out = append(out, k.key)
		}
	}
	return out
}

// memberKeys lists the keys that differ between two versions of a member.
func memberKeys(was, now configs.Member) []string {
	return differing([]keyed[configs.Member]{
		{"agent", func(m configs.Member) any { return m.Agent }},
		{"description", func(m configs.Member) any { return m.Description }},
		{"instructions", func(m configs.Member) any { return m.Instructions }},
		{"prompt_file", func(m configs.Member) any { return m.PromptFile }},
		{"tools", func(m configs.Member) any { return m.Tools }},
		{"permission_mode", func(m configs.Member) any { return m.PermissionMode }},
		{"permission_modes of its policies", func(m configs.Member) any { return m.Modes }},
		{"permissions", func(m configs.Member) any { return m.Permissions }},
		{"isolation", func(m configs.Member) any { return m.Isolation }},
		{"owns", func(m configs.Member) any { return m.Owns }},
		{"self_claim", func(m configs.Member) any { return m.SelfClaim }},
		{"role", func(m configs.Member) any { return m.Role }},
		{"labels", func(m configs.Member) any { return m.Labels }},
		{"plan", func(m configs.Member) any { return m.PlanRequired }},
		{"depends_on", func(m configs.Member) any { return m.DependsOn }},
		{"restart", func(m configs.Member) any { return m.Restart }},
		{"rotate", func(m configs.Member) any { return m.Rotate }},
		{"on", func(m configs.Member) any { return m.On }},
		{"memory", func(m configs.Member) any { return m.Memory }},
		{"sandbox", func(m configs.Member) any { return m.Sandbox }},
		{"limits", func(m configs.Member) any { return m.Limits }},
		{"templates", func(m configs.Member) any { return m.Spawns }},
		{"template", func(m configs.Member) any { return m.Template }},
	}, was, now)
}

// teamKeys lists the top-level keys that differ between two specs, without members, tasks
// and the goal.
func teamKeys(was, now *configs.Team) []string {
	return differing([]keyed[*configs.Team]{
		{"extends", func(t *configs.Team) any { return t.Policies }},
		{"models", func(t *configs.Team) any { return t.Models }},
		{"agents", func(t *configs.Team) any { return t.Agents }},
		{"templates", func(t *configs.Team) any { return t.Templates }},
		{"gates", func(t *configs.Team) any { return []any{t.Gates, t.Merge.Gates, t.GatesAtOnce, t.Tests} }},
		{"hooks", func(t *configs.Team) any { return t.Hooks }},
		{"settings", func(t *configs.Team) any { return []any{t.Settings, t.DefaultMode} }},
		{"plugins", func(t *configs.Team) any { return t.Plugins }},
		{"mcp_servers", func(t *configs.Team) any { return t.MCPServers }},
		{"worktree", func(t *configs.Team) any { return t.Worktree }},
		{"merge", func(t *configs.Team) any { return []any{t.Merge.Into, t.Merge.Via, t.Merge.Per, t.Merge.Given} }},
		{"git", func(t *configs.Team) any { return t.Git }},
		{"protect", func(t *configs.Team) any { return t.Protect }},
		{"sandbox", func(t *configs.Team) any { return []any{t.Sandbox, t.GateSandbox} }},
		{"budget", func(t *configs.Team) any { return t.Budget }},
		{"schedules", func(t *configs.Team) any { return t.Schedules }},
		{"on_ask", func(t *configs.Team) any { return t.OnAsk }},
		{"ask_limit", func(t *configs.Team) any { return t.AskLimit }},
		{"complete_on_pass", func(t *configs.Team) any { return t.CompleteOnPass }},
		{"others_tasks", func(t *configs.Team) any { return t.ReadOthersTasks }},
		{"notify", func(t *configs.Team) any { return t.Notify }},
		{"web", func(t *configs.Team) any { return t.Web }},
		{"nodes", func(t *configs.Team) any { return t.Nodes }},
		{"keep", func(t *configs.Team) any { return t.Keep }},
	}, was, now)
}
