package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// checkCI: the reviewer leaves a file, the gate refuses once, and nothing of it is left.
func checkCI(t *testing.T, e example) {
	e.checkAllDone(t, 1)
	if e.count(func(l journalLine) bool { return l.Type == "task" && l.Data.Op == "refused" }) != 1 {
		t.Error("the gate did not refuse the review that leaves a file, once")
	}
}

// workflowStep is one step of a workflow or of a composite action.
type workflowStep struct {
	ID, Name, Uses, If, Shell, Run string
	With, Env                      map[string]string
}

// runner is a machine that runs the example's workflow, as far as the workflow and our action use
// one: its environment, the contexts of expressions, and a release in a folder.
type runner struct {
	dir      string
	env      []string
	contexts map[string]string
	outcome  string // of the job so far: success or failure
	log      string // of all steps
}

// readSteps reads the steps of a YAML file below some keys.
func readSteps(t *testing.T, path, at string, file any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	where, err := yaml.PathString(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := where.Read(bytes.NewReader(data), file); err != nil {
		t.Fatalf("%s: %s: %v", path, at, err)
	}
}

// newRunner returns a runner for an event, whose checkout is that of an action that fetched all.
func newRunner(t *testing.T, event map[string]any) *runner {
	t.Helper()
	dir := t.TempDir()
	archs := map[string]string{"amd64": "X64", "arm64": "ARM64"}
	systems := map[string]string{"linux": "Linux", "darwin": "macOS"}
	r := &runner{dir: dir, contexts: map[string]string{}, outcome: "success"}
	text, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"event.json": text, "summary": nil, "output": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"home", "temp", "release"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.publish(t, fmt.Sprintf("covey_0.1.0_%s_%s", runtime.GOOS, runtime.GOARCH))
	r.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "CI=true", "GITHUB_ACTIONS=true",
		"RUNNER_OS=" + systems[runtime.GOOS], "RUNNER_ARCH=" + archs[runtime.GOARCH], "RUNNER_TEMP=" + filepath.Join(dir, "temp"),
		"GITHUB_EVENT_PATH=" + filepath.Join(dir, "event.json"), "GITHUB_STEP_SUMMARY=" + filepath.Join(dir, "summary"),
		"GITHUB_OUTPUT=" + filepath.Join(dir, "output"), "COVEY_INSTALL_BASE=file://" + filepath.Join(dir, "release"),
	}
	return r
}

// publish makes the archive of a release that holds this build of covey.
func (r *runner) publish(t *testing.T, name string) {
	t.Helper()
	covey, err := exec.LookPath("covey")
	if err != nil {
		t.Fatal(err)
	}
	program := []byte("#!/bin/sh\nexec '" + covey + "' \"$@\"\n")
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	head := &tar.Header{Name: name + "/covey", Mode: 0o755, Size: int64(len(program))}
	if err := files.WriteHeader(head); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write(program); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	r.contexts["SHA256_OF_covey_0.1.0_linux_amd64.tar.gz"] = fmt.Sprintf("%x", sha256.Sum256(archive.Bytes()))
	if err := os.WriteFile(filepath.Join(r.dir, "release", name+".tar.gz"), archive.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// expression is ${{ … }}, whose content is a name, or several with || between them.
var expression = regexp.MustCompile(`\$\{\{ ([\w.| -]+) \}\}`)

// value evaluates the expressions in a text.
func (r *runner) value(text string) string {
	if sum, ok := r.contexts[text]; ok { // what the user of the workflow fills in
		return sum
	}
	return expression.ReplaceAllStringFunc(text, func(found string) string {
		for name := range strings.SplitSeq(expression.FindStringSubmatch(found)[1], "||") {
			if value := r.contexts[strings.TrimSpace(name)]; value != "" {
				return value
			}
		}
		return ""
	})
}

// workflow runs the workflow of the example in a checkout.
func (r *runner) workflow(t *testing.T, checkout string) {
	t.Helper()
	var steps []workflowStep
	readSteps(t, filepath.Join(root, "examples", "ci", "workflow.yml"), "$.jobs.review.steps", &steps)
	for _, s := range steps {
		switch {
		case strings.HasPrefix(s.Uses, "actions/checkout@"):
			if s.With["fetch-depth"] != "0" || s.With["persist-credentials"] != "false" {
				t.Errorf("the checkout has %v", s.With)
			}
		case strings.HasPrefix(s.Uses, "coveyteam/covey/.github/actions/covey@"):
			r.action(t, s, checkout)
		case strings.HasPrefix(s.Uses, "actions/upload-artifact@"):
			if path := r.value(s.With["path"]); path != filepath.Join(r.dir, "temp", "covey", "results") || s.If != "always()" {
				t.Errorf("the workflow keeps %q if %q", path, s.If)
			}
		default:
			t.Errorf("a step that this runner does not know: %+v", s)
		}
	}
}

// action runs our action as a step of a workflow uses it.
func (r *runner) action(t *testing.T, used workflowStep, checkout string) {
	t.Helper()
	path := filepath.Join(root, ".github", "actions", "covey", "action.yml")
	inputs := map[string]struct{ Default string }{}
	readSteps(t, path, "$.inputs", &inputs)
	for name, in := range inputs {
		r.contexts["inputs."+name] = r.value(in.Default)
	}
	for name, value := range used.With {
		if _, ok := inputs[name]; !ok {
			t.Errorf("the action has no input %s", name)
		}
		r.contexts["inputs."+name] = r.value(value)
	}
	var steps []workflowStep
	readSteps(t, path, "$.runs.steps", &steps)
	for _, s := range steps {
		if r.outcome == "success" || s.If == "always()" {
			r.step(t, s, checkout)
		}
	}
	outputs := map[string]struct{ Value string }{}
	readSteps(t, path, "$.outputs", &outputs)
	for name, out := range outputs {
		r.contexts["steps."+used.ID+".outputs."+name] = r.value(out.Value)
	}
}

// step runs one step of the action.
func (r *runner) step(t *testing.T, s workflowStep, checkout string) {
	t.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
	cmd.Dir, cmd.Env = checkout, r.env
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+r.value(value))
	}
	out, err := cmd.CombinedOutput()
	r.log += string(out)
	if err != nil {
		r.outcome = "failure"
		r.log += fmt.Sprintf("%s: %v\n", s.Name, err)
	}
	for line := range strings.Lines(r.file(t, "output")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			r.contexts["steps."+s.ID+".outputs."+name] = value
		}
	}
}

// file returns a file of the runner.
func (r *runner) file(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestExampleWorkflow runs the example's workflow with our action: for a pull request of a fork that
// changes the work, for one that changes the gate, for a push, and with a wrong sum.
func TestExampleWorkflow(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("workflows need bash")
	}
	pull := func(head string) map[string]any {
		repo := func(name string) map[string]any { return map[string]any{"repo": map[string]any{"full_name": name}} }
		return map[string]any{"pull_request": map[string]any{"head": repo(head), "base": repo("us/app")}}
	}
	for name, tc := range map[string]struct {
		event                 map[string]any
		change                string // of the pull request
		sum                   string // in place of that of the archive
		outcome, log, summary string
	}{
		"a fork that changes the work": {pull("mallory/app"), "echo x >README", "", "success",
			"done 1 of 1", "done 1 of 1"},
		"a fork that changes the gate": {pull("mallory/app"),
			"echo exit 0 >ci/gates/changes-nothing.sh", "", "failure",
			"+exit 0\n", ""},
		"a push": {map[string]any{"ref": "refs/heads/main"}, "", "", "success",
			"done 1 of 1", "done 1 of 1"},
		"a wrong sum": {pull("us/app"), "", "0815", "failure",
			"not 0815; it was changed, or the sum is of another archive", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, tc.event)
			if tc.sum != "" {
				r.contexts["SHA256_OF_covey_0.1.0_linux_amd64.tar.gz"] = tc.sum
			}
			checkout := filepath.Dir(copyExample(t, "ci"))
			gitOutput(t, checkout, "init", "-q", "-b", "main")
			gitOutput(t, checkout, "add", ".")
			gitOutput(t, checkout, "commit", "-q", "-m", "base")
			base := strings.TrimSpace(gitOutput(t, checkout, "rev-parse", "HEAD"))
			r.contexts["github.sha"] = base
			if tc.event["pull_request"] != nil {
				r.contexts["github.event.pull_request.base.sha"], r.contexts["github.sha"] = base, "the merge"
			}
			if tc.change != "" {
				if out, err := exec.Command("sh", "-c", "cd '"+checkout+"' && "+tc.change).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				gitOutput(t, checkout, "add", ".")
				gitOutput(t, checkout, "commit", "-q", "-m", "what the pull request changes")
			}
			r.workflow(t, checkout)
			if r.outcome != tc.outcome || !strings.Contains(r.log, tc.log) {
				t.Errorf("%s, want %s and %q in\n%s", r.outcome, tc.outcome, tc.log, r.log)
			}
			if got := r.file(t, "summary"); (tc.summary == "") != (got == "") ||
				!strings.Contains(got, tc.summary) {
				t.Errorf("want %q in the summary\n%s", tc.summary, got)
			}
			if r.outcome == "failure" && strings.Contains(r.log, "turn 1 begins") {
				t.Errorf("the team has run\n%s", r.log)
			}
			if r.outcome == "success" {
				r.file(t, "temp/covey/results/junit.xml")
				if !strings.HasPrefix(r.log, "::stop-commands::") {
					t.Errorf("what members print could be commands\n%s", r.log)
				}
			}
		})
	}
}
