package main_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// folders are all that the module has at its top, besides hidden ones.
var folders = []string{"cmd", "orchestrator", "teammate", "tasks", "events", "hooks", "bus", "configs", "examples", "docs"}

// dependencies are the modules that go.mod may name directly, each with what
// it does for us that our own code would do worse. A new one needs a row.
var dependencies = map[string]string{
	"github.com/BurntSushi/toml":                      "TOML: hooks in files of Codex",
	"github.com/JohannesKaufmann/html-to-markdown/v2": "web pages as Markdown: WebFetch",
	"github.com/yuin/goldmark":                        "plans of members as HTML on the web page",
	"github.com/fsnotify/fsnotify":                    "news of changed files: FileChanged, settings that are taken up while a team runs",
	"github.com/anishathalye/porcupine":               "is a history of claims linearizable? the judge of crash tests",
	"github.com/bmatcuk/doublestar/v4":                "globs with **: the Glob tool, path rules",
	"github.com/chromedp/chromedp":                    "a browser, driven by the tests of the web page",
	"github.com/coder/acp-go-sdk":                     "the agent's side of ACP in covey acp, and the other side in tests of our ACP client",
	"github.com/dlclark/regexp2":                      "ECMAScript regular expressions: hook matchers are written for them",
	"github.com/goccy/go-yaml":                        "YAML with line, column and source in its errors",
	"github.com/google/jsonschema-go":                 "the spec's JSON Schema, generated from the Go types",
	"github.com/google/uuid":                          "session, prompt and tool-use ids in the form that hook scripts know",
	"github.com/modelcontextprotocol/go-sdk":          "MCP: the team tools for agents that are programs of their own",
	"github.com/nats-io/nats-server/v2":               "the bus, embedded",
	"github.com/nats-io/nats.go":                      "the bus, its client",
	"github.com/nats-io/nkeys":                        "keys of coordinators at NATS servers",
	"github.com/synadia-io/orbit.go/jetstreamext":     "atomic batches of JetStream, by the makers of NATS",
	"github.com/netresearch/go-cron":                  "cron lines of schedules, parsed; the loop and its clock are ours",
	"github.com/oklog/run":                            "the orchestrator's actors",
	"github.com/oklog/ulid/v2":                        "ids that sort by time and are safe as file names",
	"github.com/rogpeppe/go-internal":                 "testscript: the command line tested as a user sees it",
	"github.com/spf13/cobra":                          "the command line, with completion of names from the team",
	"github.com/tmaxmax/go-sse":                       "server-sent events: the streams of models",
	"charm.land/bubbles/v2":                           "the line that is typed on the board: its keys",
	"charm.land/bubbletea/v2":                         "the board",
	"github.com/charmbracelet/x/ansi":                 "widths of what terminals show, escapes disarmed",
	"github.com/creack/pty":                           "a pseudo terminal for tests of what needs one",
	"go.etcd.io/bbolt":                                "the store",
	"go.uber.org/goleak":                              "tests that nothing runs on",
	"golang.org/x/mod":                                "versions compared as semver says: the spec's requires",
	"golang.org/x/sys":                                "peer credentials, sub-reaper, process groups",
	"golang.org/x/term":                               "is it a terminal, and how wide",
	"golang.org/x/tools":                              "txtar archives in tests",
	"honnef.co/go/tools":                              "staticcheck, as a tool",
	"mvdan.cc/sh/v3":                                  "a shell parser: rules see every command of a line",
	"pgregory.net/rapid":                              "property tests",
}

func TestTopLevelFolders(t *testing.T) {
	for _, b := range strayFolders(trackedFiles(t)) {
		t.Error(b)
	}
}

func strayFolders(files []string) []string {
	var out []string
	for _, name := range files {
		top, _, inFolder := strings.Cut(name, "/")
		if inFolder && !strings.HasPrefix(top, ".") && !slices.Contains(folders, top) {
			out = append(out, breach(name, "folder %s is new at the top; put it below one of %s", top,
				strings.Join(folders, ", ")))
		}
	}
	return out
}

// machineTraces finds what is true on one machine only; a path behind a
// placeholder such as <ROOT> is not. It is put together from pieces, or it
// would find itself.
var machineTraces = regexp.MustCompile(`(?:^|[^\w.~/>-])/(?:wo` + `rk|fa` + `rm)/|\b(?:pro` + `xy|su` + `m)\.gol` +
	`ang\.org|registry\.npm` + `js\.|deb\.deb` + `ian\.`)

// absentText finds citations of a text that readers do not have. docs/hooks.md says
// what HOOKS.md is, so that one may be cited.
var absentText = regexp.MustCompile(`\bDES` + `IGN\b`)

func TestNoTracesOfOneMachine(t *testing.T) {
	t.Parallel()
	for _, name := range trackedFiles(t) {
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			continue // deleted, and not committed yet; or no regular file
		}
		for _, b := range traces(name, src) {
			t.Error(b)
		}
	}
}

func traces(name string, src []byte) []string {
	if bytes.IndexByte(src, 0) >= 0 {
		return nil // no text
	}
	var out []string
	for i, line := range bytes.Split(src, []byte("\n")) {
		if found := machineTraces.Find(line); found != nil {
			out = append(out, breach(name, "line %d holds %q, which is of one machine; write a path that anybody "+
				"could have, or none", i+1, found))
		}
		if found := absentText.Find(line); found != nil {
			out = append(out, breach(name, "line %d cites %s, which is not in this repository; name a page of docs, "+
				"or give the reason", i+1, found))
		}
	}
	return out
}

// trackedFiles are the files that git knows. A copy without git (a module
// download, an archive) holds only those anyway.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
		out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
		if err != nil {
			t.Fatalf("git ls-files: %v", err)
		}
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	}
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestDependenciesHaveReasons(t *testing.T) {
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod edit -json: %v", err)
	}
	for _, b := range unreasoned(t, out) {
		t.Error(b)
	}
}

// unreasoned holds go.mod, as `go mod edit -json` shows it, against
// dependencies.
func unreasoned(t *testing.T, mod []byte) []string {
	t.Helper()
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace []struct{ Old struct{ Path string } }
	}
	if err := json.Unmarshal(mod, &file); err != nil {
		t.Fatal(err)
	}
	var out []string
	required := map[string]bool{}
	for _, r := range file.Require {
		required[r.Path] = true
		if !r.Indirect && dependencies[r.Path] == "" {
			out = append(out, breach("go.mod", "%s is new; do without it, or give it a row with its reason in "+
				"dependencies", r.Path))
		}
	}
	for path := range dependencies {
		if !required[path] {
			out = append(out, breach("go.mod", "%s is not used any more; take its row out of dependencies", path))
		}
	}
	for _, r := range file.Replace {
		out = append(out, breach("go.mod", "replaces %s, so `go install` of covey does not work; release it instead",
			r.Old.Path))
	}
	return out
}

// TestContinuousIntegrationRunsWhatTheReadmeSays keeps the two test commands
// the same: what a newcomer is told to run is what has to pass.
func TestContinuousIntegrationRunsWhatTheReadmeSays(t *testing.T) {
	ci, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := testCommand(string(readme))
	if told == "" {
		t.Fatal("README.md has no line that begins with `go test`; say how to run the tests")
	}
	if !slices.Contains(strings.Split(string(ci), "\n"), told) {
		t.Errorf("README.md says %q, and .ci/run has no such line; make them the same", told)
	}
}

// testCommand is the first command of a Markdown text that runs tests.
func testCommand(markdown string) string {
	for line := range strings.Lines(markdown) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		line, _, _ = strings.Cut(line, " #")
		if strings.HasPrefix(line, "go test ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
