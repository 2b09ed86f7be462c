package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/coveyteam/covey/hooks/sandbox"
)

// agentPatience is how long a test waits for an agent program to do something.
// gemini's sessions can be entered again only after the minute they were made in.
const agentPatience = 150 * time.Second

// realAgents are the programs that .ci/agents installs: presets, and what each
// is called on the PATH.
func realAgents() map[string]string {
	return map[string]string{
		"claude": "claude-agent-acp", "codex": "codex-acp", "gemini": "gemini", "opencode": "opencode",
	}
}

// needAgents puts the programs of these presets on the PATH of what the test
// starts, as an environment. They are in the folder that COVEY_AGENTS_DIR names,
// which .ci/agents/install fills and prints. Without them the test is skipped;
// under COVEY_AGENTS_REQUIRED it fails, but for what COVEY_AGENTS_WITHOUT names.
func needAgents(t *testing.T, presets ...string) []string {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("COVEY_AGENTS_REQUIRED") != "" {
		missing = t.Fatalf
	}
	if runtime.GOOS == "windows" {
		t.Skip("the gates and programs of these teams are for /bin/sh")
	}
	dir := os.Getenv("COVEY_AGENTS_DIR")
	if dir == "" {
		missing("needs agent programs: COVEY_AGENTS_DIR must name the folder that .ci/agents/install prints")
	}
	bin := filepath.Join(dir, "bin")
	for _, preset := range presets {
		if preset == os.Getenv("COVEY_AGENTS_WITHOUT") {
			t.Skipf("needs %s, which COVEY_AGENTS_WITHOUT leaves out", preset)
		}
		if _, err := os.Stat(filepath.Join(bin, realAgents()[preset])); err != nil {
			missing("needs the agent program of %s: %v; .ci/agents/install installs it", preset, err)
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		missing("needs node for the agent programs: %v", err)
	}
	return append(os.Environ(), "COVEY_STATE_HOME="+t.TempDir(), "NO_COLOR=1",
		"PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// takeTurns lets as many tests run at once as slots has room for: the largest of
// the programs takes more than half a gigabyte, and a processor for seconds.
func takeTurns(t *testing.T, slots chan struct{}) {
	slots <- struct{}{}
	t.Cleanup(func() { <-slots }) // after the team has ended
}

// inBoxes runs a test of an agent program without a sandbox, and in one of level 2 whose network reaches
// nothing. box is what the spec says of it.
func inBoxes(t *testing.T, name string, run func(t *testing.T, box string)) {
	t.Run(name, func(t *testing.T) { run(t, "") })
	t.Run(name+" in a box", func(t *testing.T) {
		if s := sandbox.Probe(); s.Level() < sandbox.Mounts {
			t.Skipf("level 2 is not held here: %v", s.Missing)
		}
		run(t, "sandbox: {level: mounts, network: off, write: [.]}\n")
	})
}

// checkBox: the program ran in the box of the spec.
func (team *liveTeam) checkBox(t *testing.T, box string) {
	t.Helper()
	boxed := func(l journalLine) bool {
		return l.Type == "sandbox" && l.Member == "kim" && l.Data.Level == int(sandbox.Mounts)
	}
	if box != "" && team.find(0, boxed) < 0 {
		t.Error("kim's program was in no box")
	}
}

// layOut writes the files of a testdata/realagents archive, for one preset, whose spec has more at its
// end. Qwen's tools take absolute paths alone: WORKSPACE stands for the workspace in an archive.
func layOut(t *testing.T, name, preset, more string) string {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", "realagents", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	fill := strings.NewReplacer("PROGRAM", preset, "WORKSPACE", filepath.Join(dir, "workspace"))
	for _, f := range a.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text := fill.Replace(string(f.Data))
		if f.Name == "team.yaml" {
			text += more
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// liveTeam is a team that runs: its journal is read as it grows.
type liveTeam struct {
	example // what was read so far, for find and count
	cmd     *exec.Cmd
	lines   chan journalLine // closed when `covey up` has ended
	errOut  bytes.Buffer
	seen    int // lines that await has passed
}

// startTeam starts `covey up --json` with more flags. The test kills it if it still runs
// at its end.
func startTeam(t *testing.T, dir string, env []string, flags ...string) *liveTeam {
	t.Helper()
	team := &liveTeam{example: example{dir: dir, env: env}, lines: make(chan journalLine, 1000)}
	team.cmd = exec.Command("covey", append([]string{"up", "--trust", "--json"}, flags...)...)
	team.cmd.Dir, team.cmd.Env, team.cmd.Stderr = dir, env, &team.errOut
	out, err := team.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := team.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = team.cmd.Process.Signal(os.Interrupt) // it ends its programs, if it still runs
		for range team.lines {
		}
		_ = team.cmd.Wait()
	})
	go team.read(out) // it ends with the program
	return team
}

// read takes in what the program prints, to the last line.
func (team *liveTeam) read(out io.Reader) {
	defer close(team.lines)
	in := bufio.NewScanner(out)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var l journalLine
		if json.Unmarshal(in.Bytes(), &l) == nil {
			team.lines <- l
		}
	}
}

// await waits for a line that fits, behind the one that was waited for last.
func (team *liveTeam) await(t *testing.T, what string, fits func(journalLine) bool) journalLine {
	t.Helper()
	patience := time.NewTimer(agentPatience)
	defer patience.Stop()
	for {
		for team.seen < len(team.line) {
			l := team.line[team.seen]
			if team.seen++; fits(l) {
				return l
			}
		}
		select {
		case l, running := <-team.lines:
			if !running {
				_ = team.cmd.Wait() // what it printed on stderr is complete then
				t.Fatalf("the team ended without %s\n%s%s", what, team.errOut.String(), team.story(t))
			}
			team.line = append(team.line, l)
		case <-patience.C:
			t.Fatalf("no %s within %v\n%s", what, agentPatience, team.story(t))
		}
	}
}

// finish waits for the end of the team, which must have done all its work.
func (team *liveTeam) finish(t *testing.T) {
	t.Helper()
	end := team.await(t, "end of the team", func(l journalLine) bool { return l.Type == "team_ended" })
	if end.Data.ExitCode != 0 {
		t.Errorf("the team ended with code %d: %s\n%s", end.Data.ExitCode, end.Data.Reason, team.story(t))
	}
	for l := range team.lines { // to the end of the program
		team.line = append(team.line, l)
	}
}

// story is what happened, for people.
func (team *liveTeam) story(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("covey", "logs")
	cmd.Dir, cmd.Env = team.dir, team.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// transcriptOf reads a member's transcript, whose tool calls must each have one
// result, and returns it.
func (e example) transcriptOf(t *testing.T, member string) string {
	t.Helper()
	home := ""
	for _, v := range e.env {
		if value, ok := strings.CutPrefix(v, "COVEY_STATE_HOME="); ok {
			home = value
		}
	}
	files, err := filepath.Glob(filepath.Join(home, "*", "transcripts", member, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("transcripts of %s: %v, %v", member, files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	// A script may give the same call twice, in a session that has forgotten the first.
	calls, results := map[string]int{}, map[string]int{}
	for line := range bytes.Lines(data) {
		var l struct {
			Message struct {
				Content []struct {
					Type, ID  string
					ToolUseID string `json:"tool_use_id"`
				}
			}
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("transcript of %s: %v in %s", member, err, line)
		}
		for _, b := range l.Message.Content {
			switch b.Type {
			case "tool_use":
				calls[b.ID]++
			case "tool_result":
				results[b.ToolUseID]++
			}
		}
	}
	if !maps.Equal(calls, results) {
		t.Errorf("the transcript of %s has the calls %v and the results %v", member, calls, results)
	}
	return string(data)
}
