package hookinfo

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

// TestHookTally: runs are counted by event and command, and the counts of members are
// joined.
func TestHookTally(t *testing.T) {
	var ana, ben, all Tally
	ana.Add(End{Event: "Stop", Command: "x", Outcome: "success"})
	ana.Add(End{Event: "Stop", Command: "x", Outcome: "blocking", ExitCode: 2})
	ana.Add(End{Event: "PreToolUse", Command: "x", Outcome: "blocking", Observed: "block"})
	ben.Add(End{Event: "Stop", Command: "x", Outcome: "non_blocking_error", ExitCode: 127, FailedOpen: true})
	ben.Add(End{Event: "Stop", Command: "x", Outcome: "cancelled", ExitCode: -1, FailedOpen: true})
	ben.Add(End{Event: "Stop", Command: "y", Outcome: "blocking", ExitCode: -1, FailedOpen: false})
	ben.Add(End{Event: "Stop", Command: "z", ExitCode: -1, FailedOpen: true, Warning: "cannot\nstart"})
	ana.Add(End{Event: "PreToolUse", Command: "x", Outcome: "success", Observed: "pass"})
	all.Join(&ana)
	all.Join(&ben)
	for _, want := range []Count{
		{Event: "Stop", Command: "x", Runs: 4, Refusals: 1, FailedOpen: 2, Why: "no answer in time"},
		{Event: "PreToolUse", Command: "x", Runs: 2, Would: 1, Verdict: "refused"},
		{Event: "Stop", Command: "y", Runs: 1, Refusals: 1},
		{Event: "Stop", Command: "z", Runs: 1, FailedOpen: 1, Why: "cannot start"},
		{Event: "Stop", Command: "never"},
	} {
		if got := all.Of(want.Event, want.Command); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if n := all.FailedOpen(); n != 3 || len(all.Noteworthy()) != 3 || len(ana.Noteworthy()) != 1 || ana.FailedOpen() != 0 {
		t.Errorf("%d failed open; %+v", n, all.Noteworthy())
	}
	infos := []Info{{Event: "Stop", Command: "x"}, {Event: "Stop", Command: "w"}}
	SetCounts(infos, &all)
	if infos[0].Runs != 4 || infos[0].FailedOpen != 2 || infos[1].Runs != 0 {
		t.Errorf("%+v", infos)
	}
	other := Info{Event: "Stop", Command: "x"}
	if other.CountAs(infos); other.Refusals != 1 {
		t.Errorf("%+v", other)
	}
}
