package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// workspaceWith is a workspace with these files, and a spec in it.
func workspaceWith(t *testing.T, spec string, files map[string]string) *Team {
	t.Helper()
	dir := t.TempDir()
	files["team.yaml"] = spec
	files["s.yaml"] = "steps: [{say: hi}]\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	team, err := Load(filepath.Join(dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return team
}

// oneMember is a spec whose lead thinks with a script.
const oneMember = "covey: 1\ngoal: g\nmodels: {demo: {provider: script, script: s.yaml}}\nlead: {model: demo}\n"

// hookedAgent is an agent file with hooks in its head.
const hookedAgent = `---
name: reviewer
description: reviews a change
tools: Read, Grep
model: inherit
maxTurns: 7
hooks:
  PreToolUse:
    - matcher: Bash
      hooks: [{type: command, command: ./look.sh}]
  Stop:
    - hooks: [{type: command, command: ./done.sh}]
---

You review.
`

func TestHelpers(t *testing.T) {
	team := workspaceWith(t, oneMember, map[string]string{
		".claude/agents/a.md":      hookedAgent,
		".claude/agents/b.md":      "---\ndescription: writes\ntools: '*'\nmodel: opus\nmaxTurns: -3\n---\nYou write.",
		".claude/agents/c.md":      "---\nname: reviewer\ndescription: comes too late\n---\nx",
		".claude/agents/README.md": "These are our agents.",
		".claude/agents/broken.md": "---\nname: [\n---\nx",
		".claude/agents/notes.txt": "---\nname: notes\n---\nx",
	})
	if err := os.Mkdir(filepath.Join(team.Workspace, ".claude", "agents", "dir.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := team.Helpers()
	if len(got) != 2 {
		t.Fatalf("%d helpers: %+v", len(got), got)
	}
	a, b := got[0], got[1]
	if a.Name != "reviewer" || a.Description != "reviews a change" || a.Prompt != "You review." || a.Model != "" ||
		a.MaxTurns != 7 || !slices.Equal(a.Tools, []string{"Read", "Grep"}) || filepath.Base(a.File) != "a.md" {
		t.Errorf("first: %+v", a)
	}
	if b.Name != "b" || b.Description != "writes" || b.Prompt != "You write." || b.Model != "opus" ||
		b.MaxTurns != 0 || b.Tools != nil {
		t.Errorf("second: %+v", b)
	}
}

// Hooks in a helper's file are its own, and its Stop is that of a helper.
func TestHooksOfHelpers(t *testing.T) {
	team := workspaceWith(t, oneMember, map[string]string{".claude/agents/a.md": hookedAgent})
	l := team.Layers(nil)
	if len(l.Sources) != 1 || len(l.Warnings) > 0 {
		t.Fatalf("%d layers, warnings %v", len(l.Sources), l.Warnings)
	}
	s := l.Sources[0]
	if s.Helper != "reviewer" || s.Member != "" || len(s.Settings[hooks.SubagentStop]) != 1 ||
		len(s.Settings[hooks.PreToolUse]) != 1 || len(s.Settings[hooks.Stop]) != 0 {
		t.Errorf("layer %+v", s)
	}
	if !slices.ContainsFunc(team.HookFiles(), func(f string) bool { return strings.HasSuffix(f, "a.md") }) {
		t.Errorf("hook files %v", team.HookFiles())
	}
}

// TestAgentsOfPlugins: a plugin's agents are helpers by its name. Their hooks, servers and
// permissions have no effect, which is one warning.
func TestAgentsOfPlugins(t *testing.T) {
	const spec = oneMember + "plugins: [./guard]\n"
	team := workspaceWith(t, spec, map[string]string{
		"guard/.claude-plugin/plugin.json": `{"name": "guard"}`,
		"guard/agents/a.md":                hookedAgent,
		"guard/agents/b.md":                "---\nname: writer\npermissionMode: bypassPermissions\nmcpServers: {x: {command: y}}\n---\nYou write.",
		".claude/agents/a.md":              "---\nname: reviewer\n---\nYou review, too.",
	})
	var names []string
	for _, h := range team.Helpers() {
		names = append(names, h.Name)
	}
	if !slices.Equal(names, []string{"reviewer", "guard:reviewer", "guard:writer"}) {
		t.Errorf("helpers %q", names)
	}
	l := team.Layers(nil)
	if len(l.Sources)+len(l.Servers) > 0 || len(l.Warnings) != 1 || l.Warnings[0].Error() != "agents of plugins cannot have these keys, "+
		"which are ignored: guard:reviewer: hooks; guard:writer: mcpServers, permissionMode" {
		t.Errorf("sources %+v, servers %+v, warnings %q", l.Sources, l.Servers, l.Warnings)
	}
}

// A member may fall back from a program to covey's own agent, which has helpers.
func TestHelpersOfAFallback(t *testing.T) {
	const spec = "covey: 1\ngoal: g\nbudget: {on_limit: fallback}\nlead: p\n" +
		"agents: {p: {use: acp, command: [cat], fallback: own}, own: {model: {provider: script, script: s.yaml}}}\n"
	team := workspaceWith(t, spec, map[string]string{".claude/agents/a.md": hookedAgent})
	if got := team.Helpers(); len(got) != 1 || got[0].Name != "reviewer" {
		t.Errorf("helpers %+v", got)
	}
	if l := team.Layers(nil); len(l.Sources) != 1 {
		t.Errorf("layers %+v", l.Sources)
	}
	team.Budget.OnLimit = WaitForLimit // it never falls back
	if got, l := team.Helpers(), team.Layers(nil); len(got) != 0 || len(l.Sources) != 0 {
		t.Errorf("helpers %+v, layers %+v of a member that never falls back", got, l.Sources)
	}
}

// Where no member can have helpers, the workspace's agent files are another
// program's matter: nothing of them runs, and nobody is asked to trust them.
func TestAgentFilesOfOthers(t *testing.T) {
	for name, spec := range map[string]string{
		"no tool":    "covey: 1\ngoal: g\nmodels: {demo: {provider: script, script: s.yaml}}\nlead: {model: demo, tools: [Read]}\n",
		"no builtin": "covey: 1\ngoal: g\nagents: {p: {use: acp, command: [cat]}}\nlead: p\n",
	} {
		t.Run(name, func(t *testing.T) {
			team := workspaceWith(t, spec, map[string]string{".claude/agents/a.md": hookedAgent})
			if l := team.Layers(nil); len(l.Sources) > 0 {
				t.Errorf("layers %+v", l.Sources)
			}
		})
	}
}
