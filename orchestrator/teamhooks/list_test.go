package teamhooks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// TestListHooks: hooks are listed by event, then by layer in the configured order, each
// with its kind and command.
func TestListHooks(t *testing.T) {
	command := func(line string) hooks.Handler { return hooks.Handler{Type: "command", Command: line} }
	one := func(event hooks.Event, matcher string, list ...hooks.Handler) hooks.Settings {
		return hooks.Settings{event: {{Matcher: matcher, Hooks: list}}}
	}
	sources := []settings.Source{
		{Name: "/w/team.yaml", Settings: hooks.Settings{
			hooks.Stop:       {{Hooks: []hooks.Handler{command("s1"), {Type: "prompt", Prompt: "Is it?", Mode: "observe"}}}},
			hooks.PreToolUse: {{Matcher: "Bash", Hooks: []hooks.Handler{command("p")}}},
		}},
		{Name: "gates of /w/team.yaml", Settings: one(hooks.Stop, "", hooks.Handler{Policy: "work-committed", Gate: true})},
		{Name: "/w/a.json", Settings: one(hooks.Stop, "", hooks.Handler{Type: "http", URL: "http://localhost/x"})},
		{Name: "/etc/managed.json", Managed: true,
			Settings: one(hooks.Stop, "", hooks.Handler{Type: "mcp_tool", Server: "srv", Tool: "look"})},
		{Name: "ralph", Root: "/w/ralph", Settings: one(hooks.Stop, "", command("r"))},
		{Name: "/w/ana.md", Member: "ana", Settings: one(hooks.Stop, "", command("m"))},
	}
	infos, err := List(&configs.Team{File: "/w/team.yaml"}, "/w", sources, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range infos {
		got = append(got, fmt.Sprintf("%s %s|%s|%s|%s|%s", h.Path, h.Matcher, h.Type, h.Command, h.Kind, h.Member))
		if h.Observes != (h.Type == "prompt") || h.Gate != (h.Kind == "gates") || h.Never+h.Not+h.Only != "" {
			t.Errorf("%+v", h)
		}
	}
	want := []string{
		"PreToolUse[0].hooks[0] Bash|command|p|spec|", "Stop[0].hooks[0] |command|s1|spec|",
		"Stop[0].hooks[1] |prompt|Is it?|spec|", "Stop[0].hooks[0] |policy|work-committed|gates|",
		"Stop[0].hooks[0] |http|http://localhost/x|settings|", "Stop[0].hooks[0] |command|r|plugin|",
		"Stop[0].hooks[0] |command|m|agent file|ana", "Stop[0].hooks[0] |mcp_tool|srv/look|managed|",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
