//go:build unix

package builtin_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
)

// TestMain makes the test binary act as REC, the program that recorded hooks run, and
// checks that no test leaks a goroutine.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "REC" {
		os.Exit(rec(os.Args[1], os.Args[2]))
	}
	// The clock goroutine of the regular expressions ends some time after the last use.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"))
}

// recSpec describes one call of REC.
type recSpec struct {
	Stdout json.RawMessage
	Stderr string
	Exit   int
	Seq    []recSpec
}

func rec(tag, text string) int {
	var spec recSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return 99
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return 98
	}
	if spec.Seq != nil {
		call := 0
		for ; ; call++ { // each call takes a file of its own
			name := filepath.Join(os.Getenv("REC_DIR"), fmt.Sprintf("%x.%d", tag, call))
			f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o600)
			if err == nil {
				f.Close()
				break
			}
		}
		if call >= len(spec.Seq) {
			return 0
		}
		spec = spec.Seq[call]
	}
	fmt.Print(string(spec.Stdout))
	fmt.Fprint(os.Stderr, spec.Stderr)
	return spec.Exit
}

// recorded is a recorded conversation of a real agent host with its helpers.
type recorded struct {
	Name   string
	Hooks  json.RawMessage
	Head   json.RawMessage // hooks in the head of the helper's own file
	Prompt string
	Script map[string][]struct {
		Text  string
		Delay int
		Tools []struct {
			Name  string
			Input json.RawMessage
		}
	}
	Fired []struct {
		Handler string
		Input   map[string]any
	}
	Requests []struct {
		Conversation string
		New          []string
	}
}

// A member with a script shows the model, the helper and the hooks the same as the
// recordings.
func TestConformanceHelpers(t *testing.T) {
	data, err := os.ReadFile("testdata/golden_helpers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []recorded
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 8 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			replay(t, c)
		})
	}
}

func replay(t *testing.T, c recorded) {
	m := newMember(t, c.scriptText(t))
	m.runner = c.runner(t)
	m.types = append(m.types, fooType())
	m.run(t, c.Prompt)
	for name, script := range m.conversations() {
		var want []string
		for _, r := range c.Requests {
			if r.Conversation == name && !missing(c, r.New) {
				want = append(want, r.New...)
			}
		}
		if got := normal(strings.Join(script, "\n--\n")); got != normal(strings.Join(want, "\n--\n")) {
			t.Errorf("conversation %s:\n%s\nwant\n%s", name, got, normal(strings.Join(want, "\n--\n")))
		}
	}
	got, want := m.fired(), []string(nil)
	for _, f := range c.Fired {
		want = append(want, m.line(f.Handler, f.Input))
	}
	order(got)
	order(want)
	if !slices.Equal(got, want) {
		t.Errorf("fired:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// missing reports a request that is incomplete in the recording: for the result of a
// background helper it has only the model's own text.
func missing(c recorded, texts []string) bool {
	return c.Name == "sub_background" && len(texts) == 1 && texts[0] == "assistant: main end"
}

// order sorts the hooks of one event, which start concurrently.
func order(fired []string) {
	for i := 0; i < len(fired); {
		j := i
		for j < len(fired) && after(fired[j]) == after(fired[i]) {
			j++
		}
		slices.Sort(fired[i:j])
		i = j
	}
}

// after returns a hook run without the handler.
func after(fired string) string {
	_, rest, _ := strings.Cut(fired, " ")
	return rest
}

// variable matches what differs between two runs.
var variable = regexp.MustCompile(`\ba[0-9a-f]{16}\b|duration_ms: \d+|output_file: \S+`)

// normal returns text without what differs between two runs, and with JSON in one
// format.
func normal(text string) string {
	text = variable.ReplaceAllStringFunc(text, func(s string) string {
		name, _, _ := strings.Cut(s, ": ")
		if name == s {
			return "<AGENT>"
		}
		return name + ": <X>"
	})
	return strings.NewReplacer(`": `, `":`, `", "`, `","`, `false, "`, `false,"`, `true, "`, `true,"`).Replace(text)
}

// notices matches what differs between two notices of a helper. The recording lacks the text
// between its file and the last line of its result.
var notices = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`(<task-id>).*(</task-id>)`), "$1<AGENT>$2"},
	{regexp.MustCompile(`(<tool-use-id>).*(</tool-use-id>)`), "$1<TOOLUSE-1>$2"},
	{regexp.MustCompile(`(?s)(<output-file>).*>([^<>]*</result>)`), "$1…$2"},
	{regexp.MustCompile(`(<duration_ms>)\d+`), "$1<X>"},
}

// notice returns a notice of a helper without these differences.
func notice(prompt string) string {
	for _, n := range notices {
		prompt = n.find.ReplaceAllString(prompt, n.put)
	}
	return prompt
}

// scriptText returns the case's script in covey's form.
func (c recorded) scriptText(t *testing.T) []byte {
	t.Helper()
	type call struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}
	type step struct {
		Say   string `json:"say"`
		Call  []call `json:"call,omitempty"`
		Delay string `json:"delay,omitempty"`
	}
	steps := func(name string) []step {
		var all []step
		for _, s := range c.Script[name] {
			next := step{Say: s.Text}
			for _, tool := range s.Tools {
				next.Call = append(next.Call, call{tool.Name, tool.Input})
			}
			if s.Delay > 0 {
				next.Delay = "100ms"
			}
			all = append(all, next)
		}
		return all
	}
	main := steps("a")
	if c.Name == "sub_background" {
		main = append(main, step{Say: "turn end 2"}) // what the recorder's model says when its script is over
	}
	text, err := json.Marshal(map[string]any{
		"steps": main, "usage": map[string]int{"input_tokens": 100, "output_tokens": 10},
		"helpers": []map[string]any{{"when": "SCRIPT:sub", "steps": steps("sub")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// settingsOf parses a section of hooks.
func settingsOf(t *testing.T, section json.RawMessage) hooks.Settings {
	t.Helper()
	if section == nil {
		return nil
	}
	file, warnings := settings.Parse("test", slices.Concat([]byte(`{"hooks":`), section, []byte("}")))
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	return file.Hooks
}

// runner returns a real runner for the hooks of a case.
func (c recorded) runner(t *testing.T) *runner.Runner {
	t.Helper()
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "REC")); err != nil {
		t.Fatal(err)
	}
	hookRunner, err := runner.New([]settings.Source{
		{Name: "spec", Settings: settingsOf(t, c.Hooks)},
		{Name: "foo.md", Settings: settingsOf(t, c.Head).ForHelper(), Helper: "foo"},
	}, &runner.Options{
		Env: append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "REC_DIR="+t.TempDir()),
	})
	if err != nil {
		t.Fatal(err)
	}
	return hookRunner
}
