package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newestAgents are the ways to run a preset that TestNewestAgents tries: the program's
// name in the folder, and whether it asks before it runs a command, as docs/agents.md
// has it.
func newestAgents() []struct {
	preset, bin string
	asks        bool
} {
	return []struct {
		preset, bin string
		asks        bool
	}{
		{"claude", "claude-agent-acp", true}, {"claude", "claude", false},
		{"codex", "codex-acp", false}, {"codex", "codex", false},
		{"gemini", "gemini", true}, {"opencode", "opencode", true},
		{"copilot", "copilot", true}, {"qwen", "qwen", true},
	}
}

// TestNewestAgents has the newest version of each agent program in the folder that
// COVEY_AGENTS_NEWEST names (.ci/agents/newest fills it) work in a team, and tells which
// versions those are. What is in the folder of COVEY_AGENTS_DIR in the same version is
// tried there.
func TestNewestAgents(t *testing.T) {
	dir := os.Getenv("COVEY_AGENTS_NEWEST")
	if dir == "" {
		t.Skip("needs agent programs: COVEY_AGENTS_NEWEST must name the folder that .ci/agents/newest prints")
	}
	two := make(chan struct{}, 2)
	for _, way := range newestAgents() {
		inBoxes(t, way.bin, func(t *testing.T, box string) {
			t.Parallel()
			program := filepath.Join(dir, "bin", way.bin)
			version := packageVersion(program)
			if version == "" {
				t.Skipf("there is no %s in %s", way.bin, dir)
			}
			if version == packageVersion(filepath.Join(os.Getenv("COVEY_AGENTS_DIR"), "bin", way.bin)) {
				t.Skipf("%s is the pinned one", version)
			}
			takeTurns(t, two)
			t.Logf("%s is tried", version)
			env := newestEnvironment(t, dir, way.bin)
			team := startTeam(t, layOut(t, "gauntlet", way.preset, box), env, "--allow-unenforced")
			team.finish(t)
			team.checkBox(t, box)
			team.checkTools(t)
			team.checkRefusals(t)
			team.checkTurnEnds(t)
			team.checkLedger(t)
			if way.asks {
				team.checkRules(t)
			} else {
				team.checkBreach(t)
			}
			if t.Failed() {
				t.Log(team.story(t))
			}
		})
	}
}

// TestNewestAgentsReplay records what the newest programs are told by a script, and replays it without the script's
// server: each does the same again, its tools for real. Programs ask no vendor.
func TestNewestAgentsReplay(t *testing.T) {
	dir := os.Getenv("COVEY_AGENTS_NEWEST")
	if dir == "" {
		t.Skip("needs agent programs: COVEY_AGENTS_NEWEST must name the folder that .ci/agents/newest prints")
	}
	two := make(chan struct{}, 2)
	for _, way := range newestAgents() {
		t.Run(way.bin, func(t *testing.T) {
			t.Parallel()
			if packageVersion(filepath.Join(dir, "bin", way.bin)) == "" {
				t.Skipf("there is no %s in %s", way.bin, dir)
			}
			takeTurns(t, two)
			workspace, tape := t.TempDir(), filepath.Join(t.TempDir(), "tape")
			for name, text := range map[string]string{
				"team.yaml": "covey: 1\nname: crew\ngoal: Do it.\ndefaults: {permission_mode: bypassPermissions}\n" +
					"agents: {prog: {use: " + way.preset + ", model: {provider: script, script: dev.yaml}}}\n" +
					"lead: {model: {provider: script, script: lead.yaml}}\nteammates: {dev: prog}\ntasks: [{id: a, subject: Make it, owner: dev}]\n",
				"lead.yaml": "steps: [{say: Fine., times: -1}]\n",
				"dev.yaml": "steps:\n  - {say: I make it., call: [{tool: Bash, input: {command: \"date > made; pwd; cat made\"}}]}\n" +
					"  - {say: It is made., call: [{tool: team_task_update, input: {taskId: \"1\", status: completed}}]}\n  - {say: Done., times: -1}\n",
			} {
				if err := os.WriteFile(filepath.Join(workspace, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			env := newestEnvironment(t, dir, way.bin)
			for _, flag := range []string{"--record", "--replay"} {
				cmd := exec.CommandContext(t.Context(), "covey", "-C", workspace, "up", "--trust", "--allow-unenforced", "--fresh", flag, tape)
				cmd.Env = env
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", flag, err, out)
				}
				if err := os.Remove(filepath.Join(workspace, "made")); err != nil {
					t.Errorf("%s: its shell did not work: %v", flag, err)
				}
			}
		})
	}
}

// newestEnvironment is one in which bin is the only agent program on the PATH: a preset
// takes the first that it finds.
func newestEnvironment(t *testing.T, dir, bin string) []string {
	t.Helper()
	path := t.TempDir()
	for _, name := range []string{bin, "node"} {
		from := filepath.Join(dir, "bin", name)
		if _, err := os.Stat(from); err != nil {
			continue // the machine's own node will do
		}
		if err := os.Symlink(from, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("needs node for the agent programs: %v", err)
	}
	return append(os.Environ(), "COVEY_STATE_HOME="+t.TempDir(), "NO_COLOR=1",
		"PATH="+path+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// checkBreach: of a program that does not ask, what a rule denies was not done, or was
// told of.
func (team *liveTeam) checkBreach(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(team.dir, "workspace", "sealed", "early")); err != nil {
		return
	}
	if !slices.ContainsFunc(team.line, func(l journalLine) bool {
		return l.Type == "warning" && strings.Contains(l.Data.Text, "the rule Bash(touch *) forbids it")
	}) {
		t.Error("what a rule denies was done, and nobody was told")
	}
}

// packageVersion is the npm package that a program belongs to, with its version; empty:
// there is none.
func packageVersion(program string) string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	for dir := filepath.Dir(real); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		var manifest struct{ Name, Version string }
		data, err := os.ReadFile(filepath.Join(dir, "package.json"))
		if err == nil && json.Unmarshal(data, &manifest) == nil && manifest.Name != "" {
			return manifest.Name + " " + manifest.Version
		}
	}
	return ""
}
