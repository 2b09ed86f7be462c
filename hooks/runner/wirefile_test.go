//go:build unix

package runner

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/coveyteam/covey/hooks"
	settingspkg "github.com/coveyteam/covey/hooks/settings"
)

var update = flag.Bool("update", false, "rewrite the expected parts of testdata/wire")

// wireOutcome is an Outcome without what differs from run to run.
type wireOutcome struct {
	Matched           int                        `json:"matched"`
	Results           []wireResult               `json:"results"`
	Decision          hooks.Decision             `json:"decision"`
	Feedback          []string                   `json:"feedback,omitempty"`
	Messages          []string                   `json:"messages,omitempty"`
	StopReason        string                     `json:"stop_reason,omitempty"`
	AdditionalContext []string                   `json:"additional_context,omitempty"`
	SystemMessages    []string                   `json:"system_messages,omitempty"`
	Warnings          []string                   `json:"warnings,omitempty"`
	Permission        *hooks.Permission          `json:"permission,omitempty"`
	UpdatedInput      json.RawMessage            `json:"updated_input,omitempty"`
	Output            map[string]json.RawMessage `json:"output,omitempty"`
}

// wireResult is a Result without its time and its long command.
type wireResult struct {
	Outcome  hooks.Status `json:"outcome"`
	ExitCode int          `json:"exit_code"`
	Stdout   string       `json:"stdout,omitempty"`
	Stderr   string       `json:"stderr,omitempty"`
	Feedback string       `json:"feedback,omitempty"`
	Open     bool         `json:"failed_open,omitempty"`
	Warning  string       `json:"warning,omitempty"`
}

// wireForm is an Outcome as it stands in an archive.
func wireForm(t *testing.T, out hooks.Outcome) string {
	t.Helper()
	w := wireOutcome{Matched: out.Matched, Decision: out.Decision, Feedback: out.Feedback, Messages: out.Messages,
		StopReason: out.StopReason, AdditionalContext: out.AdditionalContext, SystemMessages: out.SystemMessages,
		Warnings: out.Warnings, UpdatedInput: out.UpdatedInput, Output: out.Output}
	if out.Permission != (hooks.Permission{}) {
		w.Permission = &out.Permission
	}
	for _, r := range out.Results {
		w.Results = append(w.Results, wireResult{Outcome: r.Outcome, ExitCode: r.ExitCode, Stdout: r.Stdout,
			Stderr: r.Stderr, Feedback: r.Feedback,
			Open: r.FailedOpen, Warning: r.Warning})
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(w); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// TestWire: each archive holds a configuration and an input, and the exact bytes
// that the hook reads and what comes of its answer.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d archives, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			checkWire(t, file)
		})
	}
}

// wireSettings are the hooks of an archive: settings.json holds the section alone, any
// other file of hooks, such as .github/hooks/guard.json, is one of another program.
func wireSettings(t *testing.T, archive *txtar.Archive) hooks.Settings {
	for _, f := range archive.Files {
		if !strings.Contains(f.Name, "/") {
			continue
		}
		file, warnings := settingspkg.Parse(f.Name, f.Data)
		if len(warnings) > 0 {
			t.Fatal(warnings)
		}
		return file.Hooks
	}
	var settings hooks.Settings
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "settings.json" })
	if err := json.Unmarshal(archive.Files[i].Data, &settings); err != nil {
		t.Fatal(err)
	}
	return settings
}

// checkWire runs one archive, or with -update rewrites it.
func checkWire(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{}
	for _, f := range archive.Files {
		parts[f.Name] = f.Data
	}
	settings := wireSettings(t, archive)
	event := hooks.Event(strings.TrimSpace(string(parts["event"])))
	in, err := hooks.ParseInput(event, parts["input.json"], hooks.Common{SessionID: "5e551011", TranscriptPath: "/t/s.jsonl", Cwd: "/",
		PromptID: "9a0", PermissionMode: "acceptEdits"})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	noon := func() time.Time { return time.Date(2026, 2, 9, 12, 0, 0, 0, time.UTC) }
	out, err := b.runnerWith(t, Options{Now: noon}, settingspkg.Source{Name: "test", Settings: settings}).Run(t.Context(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := os.ReadFile(filepath.Join(b.dir, "stdin"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{"stdin": string(stdin), "outcome.json": wireForm(t, out)}
	for i, f := range archive.Files {
		want, checked := got[f.Name]
		if checked && *update {
			archive.Files[i].Data = []byte(want)
		} else if checked && want != string(f.Data) {
			t.Errorf("%s:\n%s\nwant\n%s", f.Name, want, f.Data)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
