package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/launch"
)

// An event tells whose checkout a job has. What cannot be read may be of a fork.
func TestForkOf(t *testing.T) {
	t.Parallel()
	const own, other = `{"full_name": "us/app", "fork": true}`, `{"full_name": "mallory/app"}, "sha": "abc"`
	for name, tc := range map[string]struct{ event, want, trouble string }{
		"a push":                         {`{"ref": "refs/heads/main", "repository": ` + own + `}`, "", ""},
		"a pull request of a fork":       {`{"pull_request": {"head": {"repo": ` + other + `}, "base": {"repo": ` + own + `}}}`, "mallory/app", ""},
		"of the repository":              {`{"pull_request": {"head": {"repo": ` + own + `}, "base": {"repo": {"full_name": "Us/App"}}}}`, "", ""},
		"of a fork that is gone":         {`{"pull_request": {"head": {"repo": null}, "base": {"repo": ` + own + `}}}`, "a deleted fork", ""},
		"without a base":                 {`{"pull_request": {"head": {"repo": ` + own + `}}}`, "us/app", ""},
		"without anything":               {`{"pull_request": {}}`, "a deleted fork", ""},
		"a run after another":            {`{"workflow_run": {"head_repository": ` + own + `}, "repository": ` + own + `}`, "", ""},
		"a run after that of a fork":     {`{"workflow_run": {"head_repository": {"full_name": "mallory/app"}, "head_sha": "abc"}, "repository": ` + own + `}`, "mallory/app", ""},
		"a run after that of a lost one": {`{"workflow_run": {}, "repository": ` + own + `}`, "a deleted fork", ""},
		"an odd pull request":            {`{"pull_request": 7}`, "", "read the event of this job: "},
		"no JSON":                        {"{", "", "read the event of this job: "},
	} {
		path := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(path, []byte(tc.event), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ForkOf(func(string) string { return path })
		want := Fork{Name: tc.want}
		if tc.want == "mallory/app" {
			want.Head = "abc"
		}
		if got != want || (err == nil) != (tc.trouble == "") || err != nil &&
			!strings.HasPrefix(err.Error(), tc.trouble) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got, err := ForkOf(func(string) string { return "" }); got != (Fork{}) || err != nil {
		t.Errorf("without an event: %+v, %v", got, err)
	}
	if _, err := ForkOf(func(string) string { return filepath.Join(t.TempDir(), "none") }); err == nil {
		t.Error("an event that is not there is of no fork")
	}
}

// A secret that a team of a fork could reach is named, and not shown.
func TestNoSecrets(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("DEPLOY_TOKEN", "")
	team := &configs.Team{}
	for _, own := range launch.SecretsAtHand(team, os.Environ()) { // of the machine that runs the test
		name, isVariable := strings.CutPrefix(own, "the variable ")
		if !isVariable {
			t.Skipf("this machine has %s", own)
		}
		t.Setenv(name, "")
	}
	if err := NoSecrets(team, Fork{Name: "mallory/app"}); err != nil {
		t.Errorf("without secrets: %v", err)
	}
	t.Setenv("DEPLOY_TOKEN", "deploy-me-0815")
	err := NoSecrets(team, Fork{Name: "mallory/app\x1b[2K"})
	if ExitCode(err) != ExitNotTrusted || !strings.Contains(err.Error(), "the variable DEPLOY_TOKEN") ||
		strings.ContainsAny(err.Error(), "\x1b") || strings.Contains(err.Error(), "0815") {
		t.Errorf("with one: %v", err)
	}
}
