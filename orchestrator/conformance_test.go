//go:build unix

package orchestrator_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/trust"
)

// recordedTeam is one recording of a real host that needs more around a member than a
// member alone has: files in the workspace, a shell, the task list, flags of the program.
type recordedTeam struct {
	Name   string
	Flag   string // of the host's command line
	Files  map[string]string
	Mode   string
	Hooks  json.RawMessage
	Prompt string
	Script []recordedStep
	Helper []recordedStep // what a helper's model says
	Fired  []struct {
		Handler string
		Input   map[string]any
	}
	Sees []string // what was new to the model, request by request

	Before string // the goal of a run before, without hooks
	Then   string // the goal of a run behind; before it the transcripts are taken away: /clear there
	Loose  bool   // the order is chance
	More   bool   // the team goes on where the recording ends
	// Unfinished says that tasks stay open: the lead is told, which is one turn more.
	Unfinished bool
	Trusts     string // a file: once it is there, the operator trusts all that has changed; then the file trusted is made
}

// recordedStep is what a model answers once.
type recordedStep struct {
	Text  string
	Tools []struct {
		Name  string
		Input json.RawMessage
	}
}

// recordedTeams reads the recordings; the list of all of them, with what of each is a
// deviation, is testdata/conformance.txt of package hooks.
func recordedTeams(t *testing.T) []recordedTeam {
	t.Helper()
	data, err := os.ReadFile("testdata/conformance.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []recordedTeam
	for line := range bytes.Lines(data) {
		var c recordedTeam
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// TestConformanceTeam replays them through a whole team: the hooks that fire, their
// order, the fields that the recording has of each, and the texts that the model reads.
func TestConformanceTeam(t *testing.T) {
	t.Parallel()
	agrees := map[string]bool{}
	for _, c := range recordedTeams(t) {
		agrees[c.Name] = t.Run(c.Name, func(t *testing.T) { c.replay(t) })
	}
	data, err := os.ReadFile("../hooks/runner/testdata/conformance.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind, note, _ := strings.Cut(rest, " ")
		yes, ran := agrees[name]
		if strings.Contains(kind, "team") != ran {
			t.Errorf("conformance.txt: %s is of kind %s, but replayed by a team: %v", name, kind, ran)
		}
		if ran {
			t.Logf("%-38s team  agrees: %v %s", name, yes, note)
		}
	}
}

func (c recordedTeam) replay(t *testing.T) {
	files := map[string]string{"team.yaml": c.spec(t, c.Prompt), "lead.yaml": c.script(t),
		"hooks.json": `{"hooks":` + string(c.Hooks) + "}"}
	maps.Copy(files, c.Files)
	r := teamtest.NewRig(t, files)
	if c.Before != "" {
		testkit.Put(t, r.Dir, "team.yaml", c.spec(t, c.Before))
		testkit.Put(t, r.Dir, "hooks.json", "{}")
		r.Run(orchestrator.Options{})
		testkit.Put(t, r.Dir, "team.yaml", files["team.yaml"])
		testkit.Put(t, r.Dir, "hooks.json", files["hooks.json"])
	}
	opts := orchestrator.Options{}
	switch c.Flag {
	case "init-only":
		opts.Setup = orchestrator.SetupInit
	case "maintenance":
		opts.Setup = orchestrator.SetupMaintenance
	}
	var trusting sync.WaitGroup
	if c.Trusts != "" {
		trusting.Go(func() {
			if err := trustOnce(r, c.Trusts); err != nil {
				t.Error(err)
			}
		})
	}
	o := r.Orchestrator(opts)
	run := o.Run
	if c.Flag == "init-only" {
		run = o.Setup
	}
	r.Finish(testkit.Patience, run)
	trusting.Wait()
	if c.Then != "" {
		if err := os.RemoveAll(r.Place().Transcripts()); err != nil {
			t.Fatal(err)
		}
		testkit.Put(t, r.Dir, "team.yaml", c.spec(t, c.Then))
		r.Run(opts)
	}
	c.compare(t, r, firedIn(t, r.Dir+".fired"))
}

// trustOnce waits for a file, and trusts what a running team has changed by then. The file
// trusted is there once the team has looked at that.
func trustOnce(r *teamtest.Rig, file string) (err error) {
	deadline := time.Now().Add(testkit.Patience)
	for {
		if _, err := os.Stat(filepath.Join(r.Dir, file)); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s did not come", file)
		}
		time.Sleep(5 * time.Millisecond)
	}
	// The command that waits is let go whatever happens, so that the team comes to its end.
	defer func() { err = errors.Join(err, os.WriteFile(filepath.Join(r.Dir, "trusted"), nil, 0o600)) }()
	team, err := configs.Load(filepath.Join(r.Dir, "team.yaml"))
	if err != nil {
		return err
	}
	report, err := trust.Check(r.T.Context(), team)
	if err != nil {
		return err
	}
	if err := trust.Remember(r.T.Context(), team, report); err != nil {
		return err
	}
	client, err := api.Dial(r.T.Context(), r.Place())
	if err != nil {
		return err
	}
	_, err = client.Reload(r.T.Context())
	return errors.Join(err, client.Close())
}

// spec is a team of one whose goal is what the person said.
func (c recordedTeam) spec(t *testing.T, goal string) string {
	t.Helper()
	settings := []string{"hooks.json"}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		if strings.HasPrefix(name, ".claude/settings.") {
			settings = append(settings, name)
		}
	}
	text, err := json.Marshal(map[string]any{
		"covey": 1, "name": "crew", "goal": goal, "settings": settings,
		"models": map[string]any{"demo": map[string]string{"provider": "script", "script": "lead.yaml"}},
		"lead":   map[string]string{"model": "demo", "permission_mode": c.Mode},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// script is the recorded model's.
func (c recordedTeam) script(t *testing.T) string {
	t.Helper()
	script := map[string]any{"exhausted": "stop", "steps": stepsOf(c.Script)}
	if c.Helper != nil {
		script["helpers"] = []any{map[string]any{"steps": stepsOf(c.Helper)}}
	}
	text, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stepsOf are steps as a script has them.
func stepsOf(recorded []recordedStep) (steps []map[string]any) {
	for _, s := range recorded {
		step := map[string]any{"say": s.Text}
		var calls []map[string]any
		for _, call := range s.Tools {
			calls = append(calls, map[string]any{"tool": call.Name, "input": call.Input})
		}
		if calls != nil {
			step["call"] = calls
		}
		steps = append(steps, step)
	}
	return steps
}

// firing is one call of REC.
type firing struct {
	handler string
	input   map[string]any
}

// firedIn reads what testdata/bin/REC, a program in PATH, has noted.
func firedIn(t *testing.T, log string) []firing {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []firing
	for line := range strings.Lines(string(data)) {
		handler, text, _ := strings.Cut(line, "\t")
		f := firing{handler: handler}
		if err := json.Unmarshal([]byte(text), &f.input); err != nil {
			t.Fatalf("%s: %v in %q", handler, err, text)
		}
		all = append(all, f)
	}
	return all
}

// beside are the events whose hooks run beside what goes on, so that their place in
// the order is chance, there as here.
var beside = []string{"InstructionsLoaded", "Notification", "MessageDisplay"}

// compare holds what has fired and what the model has read to the recording.
func (c recordedTeam) compare(t *testing.T, r *teamtest.Rig, fired []firing) {
	t.Helper()
	want, got := c.wanted(), c.shown(fired, r.Dir)
	if c.More && len(got) > len(want) {
		got = got[:len(want)]
	}
	for _, list := range [][]string{want, got} {
		sortRuns(list, " hook_event_name=ConfigChange ") // files that changed together
		slices.SortStableFunc(list, func(a, b string) int { return strings.Compare(c.aside(a), c.aside(b)) })
	}
	if !slices.Equal(got, want) {
		t.Errorf("fired:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	transcript := transcriptOf(t, r)
	for _, text := range c.Sees {
		role, text, _ := strings.Cut(text, ": ")
		text = strings.ReplaceAll(strings.TrimPrefix(text, "[tool_result] "), "<CWD>", r.Dir)
		if role == "user" && !strings.Contains(transcript, strings.Trim(jsonText(t, text), `"`)) {
			t.Errorf("the model did not read %q in\n%s", text, transcript)
		}
	}
}

// sortRuns sorts what stands next to each other and has these words.
func sortRuns(list []string, words string) {
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && strings.Contains(list[j], words) {
			j++
		}
		slices.Sort(list[i:j])
		i = max(j, i+1)
	}
}

// wanted are the hooks of the recording, and the Notification of its end that a team that
// works fires in addition. covey ends a session with the reason "other", because it does not
// know yet that the next run clears it.
func (c recordedTeam) wanted() []string {
	var all []string
	cwd := any("<CWD>")
	for _, f := range c.Fired {
		if f.Input["hook_event_name"] == "SessionEnd" && f.Input["reason"] == "clear" {
			f.Input = maps.Clone(f.Input)
			f.Input["reason"] = "other"
		}
		all = append(all, describe(f.Handler, f.Input, f.Input, "<CWD>"))
		cwd = f.Input["cwd"]
	}
	if c.Unfinished {
		all = append(all, describe("all.Stop", nil, nil, "<CWD>"))
	}
	if c.Flag != "init-only" && !c.Unfinished && bytes.Contains(c.Hooks, []byte("REC all.Notification ")) {
		done := map[string]any{"hook_event_name": "Notification", "cwd": cwd,
			"message": "crew has completed its work", "notification_type": "agent_completed"}
		all = append(all, describe("all.Notification", done, done, "<CWD>"))
		if c.Then != "" {
			all = append(all, all[len(all)-1])
		}
	}
	return all
}

// shown are the hooks that ran, each with the fields that the next one of its name has
// in the recording.
func (c recordedTeam) shown(fired []firing, dir string) []string {
	var all []string
	seen := map[string]int{}
	for _, f := range fired {
		fields, n := f.input, 0
		key := fmt.Sprint(f.handler, f.input["agent_id"] != nil) // a helper works beside its member
		for _, w := range c.Fired {
			if w.Handler != f.handler || (w.Input["agent_id"] != nil) != (f.input["agent_id"] != nil) {
				continue
			}
			if n == seen[key] {
				fields = w.Input
			}
			n++
		}
		if n <= seen[key] && c.Unfinished {
			fields = nil // what it is about is in no recording
		}
		seen[key]++
		all = append(all, describe(f.handler, f.input, fields, dir))
	}
	return all
}

// aside is what such an event is sorted by; others keep their order.
func (c recordedTeam) aside(line string) string {
	if c.Loose || slices.ContainsFunc(beside, func(event string) bool { return strings.Contains(line+" ", " hook_event_name="+event+" ") }) {
		return line
	}
	return "~"
}

// callID is the id of a tool call, there as here, or of a helper.
var callID = regexp.MustCompile(`<TOOLUSE-\d+>|toolu_[a-z0-9_]+|\ba[0-9a-f]{16}\b`)

// helperFile is where a helper's conversation is.
var helperFile = regexp.MustCompile(`[^\s=:]*/\S+\.(output|jsonl)`)

// cutNotice is what recordings leave out of the notice that a helper has ended, and what it
// used.
var cutNotice = regexp.MustCompile(`(?s)<output-file>.*</usage>`)

// denial is what a model is told of a call that was denied, in each host's own words.
var denial = regexp.MustCompile(`Permission to use \w+ (has been|was not)[^\]]*\.`)

// describe writes the fields of input that the recording has.
func describe(handler string, input, fields map[string]any, cwd string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if value, ok := input[name]; ok && !own(name) {
			fmt.Fprintf(&b, " %s=%v", name, value)
		}
	}
	text := helperFile.ReplaceAllString(cutNotice.ReplaceAllString(b.String(), "<CUT>"), "<FILE>")
	text = callID.ReplaceAllString(strings.ReplaceAll(text, cwd, "<CWD>"), "<ID>")
	return handler + denial.ReplaceAllString(text, "<DENIED>")
}

// own names fields whose values are the host's own: ids, and what it thinks of its
// prompt cache when it goes on.
func own(name string) bool {
	return slices.Contains([]string{"session_id", "transcript_path", "tool_use_id", "prompt_id", "duration_ms",
		"context_tokens", "estimated_cache_write_usd", "prompt_cache_likely_expired", "seconds_since_last_response"}, name)
}

// transcriptOf is the lead's whole transcript.
func transcriptOf(t *testing.T, r *teamtest.Rig) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.Place().Transcripts(), "lead", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}

// jsonText is text as it stands in a line of JSON.
func jsonText(t *testing.T, text string) string {
	t.Helper()
	var buf strings.Builder
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(buf.String())
}
