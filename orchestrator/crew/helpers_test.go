package crew_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// helperTeam is a lead alone whose helper, of a kind that the workspace
// describes, makes a file.
func helperTeam(call string) map[string]string {
	return map[string]string{
		"team.yaml": `covey: 1
name: crew
goal: Ship it.
models: {lead: {provider: script, script: lead.yaml}}
defaults: {permission_mode: bypassPermissions}
lead: {model: lead}
hooks:
  SubagentStop:
    - matcher: scribe
      hooks: [{type: command, command: "grep -q '\"stop_hook_active\":true' || { echo write more >&2; exit 2; }"}]
`,
		".claude/agents/scribe.md": `---
name: scribe
description: writes things down
tools: Bash
hooks:
  PreToolUse:
    - hooks: [{type: command, command: "echo head >>seen"}]
---
Write.
`,
		"lead.yaml": `steps:
  - call: [` + call + `]
  - {say: all written, times: -1}
helpers:
  - when: ^note it
    steps:
      - call: [{tool: Bash, input: {command: "echo one >>made"}}]
      - say: I wrote one
      - when: write more
        call: [{tool: Bash, input: {command: "echo two >>made"}}]
      - say: I wrote two
`,
	}
}

const noteIt = `{tool: Agent, input: {description: notes, prompt: note it, subagent_type: scribe}}`

// TestHelperOfPlugin: a plugin's agent works as a helper, and hooks in its file do not run.
func TestHelperOfPlugin(t *testing.T) {
	t.Parallel()
	files := helperTeam(strings.Replace(noteIt, "scribe", "\"guard:scribe\"", 1))
	files["team.yaml"] = strings.Replace(files["team.yaml"], "matcher: scribe", "matcher: guard:scribe", 1) + "plugins: [guard]\n"
	files["guard/agents/scribe.md"], files[".claude/agents/scribe.md"] = files[".claude/agents/scribe.md"], "no agent"
	r := teamtest.NewRig(t, files)
	r.Want(r.Run(orchestrator.Options{}), 0, "all work is done")
	if got := r.Read("made"); got != "one\ntwo\n" {
		t.Errorf("it wrote %q", got)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "seen")); err == nil {
		t.Error("a hook in its file ran")
	}
	if got := r.Warnings("guard:scribe: hooks"); len(got) != 1 {
		t.Errorf("warnings %q", got)
	}
}

// A member's helper plays its own script, under the hooks of the team and of its
// own file, and the journal tells what is whose.
func TestHelperInTeam(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, helperTeam(noteIt))
	r.Want(r.Run(orchestrator.Options{}), 0, "all work is done")
	if got := r.Read("made"); got != "one\ntwo\n" {
		t.Errorf("it wrote %q", got)
	}
	if got := r.Read("seen"); got != "head\nhead\n" {
		t.Errorf("the hook in its file ran as %q", got)
	}
	ended := teamtest.Of[events.HelperEnded](r, "subagent_ended")
	if len(ended) != 1 || ended[0].AgentType != "scribe" || ended[0].Reason != "completed" || ended[0].ToolUses != 2 {
		t.Errorf("ended %+v", ended)
	}
	for _, l := range r.Lines.All() {
		own := strings.Contains(string(l.Data), "I wrote") && l.Type == "text" || strings.HasPrefix(l.Type,
			"subagent_")
		if own != (l.Helper == ended[0].ID) && (own || l.Type == "text") {
			t.Errorf("line %d (%s) is of helper %q", l.Seq, l.Type, l.Helper)
		}
	}
	results := teamtest.Of[events.ToolReturned](r, "tool_result")
	if last := results[len(results)-1]; last.Name != "Agent" || !strings.Contains(last.Content,
		"\n  I wrote two\n") ||
		!strings.Contains(last.Content, "<tools-used-before-summary>Bash</tools-used-before-summary>") {
		t.Errorf("the caller got %+v", last)
	}
}

// The team waits for a helper in the background, and its member hears of it.
func TestHelperInBackgroundOfTeam(t *testing.T) {
	t.Parallel()
	files := helperTeam(strings.Replace(noteIt, "scribe}", "scribe, run_in_background: true}", 1))
	files["lead.yaml"] = strings.Replace(files["lead.yaml"], "echo one >>made", "sleep 0.2; echo one >>made", 1)
	files["team.yaml"] += "  UserPromptSubmit: [{hooks: [{type: command, command: cat >>submitted}]}]\n"
	r := teamtest.NewRig(t, files)
	r.Want(r.Run(orchestrator.Options{}), 0, "all work is done")
	if got := r.Read("made"); got != "one\ntwo\n" {
		t.Errorf("it wrote %q", got)
	}
	// A hook finds the frame of the notice as it is in other hosts.
	if got := r.Read("submitted"); strings.Count(got, `"hook_event_name":"UserPromptSubmit"`) != 2 ||
		!strings.Contains(got, `"prompt":"<task-notification>\n<task-id>a`) {
		t.Errorf("UserPromptSubmit hooks read %s", got)
	}
	turns := teamtest.Of[events.TurnStarted](r, "turn_started")
	if len(turns) != 2 || !strings.Contains(turns[1].Prompt, "<result>I wrote two</result>") {
		t.Errorf("turns %+v", turns)
	}
}

// A team that is killed again and again in the middle of helpers makes nothing
// twice, and comes to its end.
func TestHelperTeamKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it kills processes at random, again and again; other tests kill them at a moment and go on in this one")
	}
	for name, call := range map[string]string{
		"foreground": noteIt,
		"background": strings.Replace(noteIt, "scribe}", "scribe, run_in_background: true}", 1),
	} {
		t.Run(name, func(t *testing.T) {
			// Each life lasts a little longer than the one before, so that kills hit all of it.
			r := teamtest.NewRig(t, helperTeam(call))
			for lines := 3; ; lines++ {
				if ended := r.RunAndKill(lines); ended {
					break
				}
				if lines > 60 {
					t.Fatal("the team never ends")
				}
			}
			made := ""
			if _, err := os.Stat(filepath.Join(r.Dir, "made")); err == nil {
				made = r.Read("made")
			}
			for _, word := range []string{"one", "two"} {
				if n := strings.Count(made, word); n > 1 {
					t.Errorf("%s was written %d times", word, n)
				}
			}
		})
	}
}
