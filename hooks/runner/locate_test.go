package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// TestLocate: the caller says which script runs; the hook keeps its name.
func TestLocate(t *testing.T) {
	mine, theirs := t.TempDir(), t.TempDir()
	for dir, word := range map[string]string{mine: "trusted", theirs: "forged"} {
		script := "#!/bin/sh\necho " + word + " $1 >&2; exit 2\n"
		if err := os.WriteFile(filepath.Join(dir, "x.sh"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for form, h := range map[string]hooks.Handler{
		"shell": {Type: "command", Command: "./x.sh one"},
		"exec":  {Type: "command", Command: "./x.sh", Args: []string{"one"}},
		"gate":  {Type: "command", Command: "./x.sh one", Gate: true},
	} {
		t.Run(form, func(t *testing.T) {
			locate := func(_ hooks.Input, h hooks.Handler) (string, []string) {
				return strings.Replace(h.Command, "./", mine+"/", 1), h.Args
			}
			sources := []settings.Source{{Settings: hooks.Settings{hooks.Stop: {{Hooks: []hooks.Handler{h}}}}}}
			r, err := New(sources, &Options{Locate: locate})
			if err != nil {
				t.Fatal(err)
			}
			out, err := r.Run(context.Background(), hooks.Input{Common: hooks.Common{Cwd: theirs}, Payload: hooks.StopInput{}}, nil)
			if err != nil || len(out.Results) != 1 {
				t.Fatalf("%+v, %v", out, err)
			}
			if got := out.Results[0]; !strings.Contains(got.Stderr, "trusted one") || !strings.HasPrefix(got.Command, "./x.sh") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestRootOfRules: an `if` about paths is about those in the member's own folder.
func TestRootOfRules(t *testing.T) {
	h := hooks.Handler{Type: "command", Command: "exit 2", If: "Edit(/src/**)"}
	sources := []settings.Source{{Settings: hooks.Settings{hooks.PreToolUse: {{Hooks: []hooks.Handler{h}}}}}}
	r, err := New(sources, &Options{ProjectDir: "/ws", Session: func(in hooks.Input) Session {
		if in.SessionID == "ana" {
			return Session{Root: "/copies/ana"}
		}
		return Session{}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		session, path string
		matched       int
	}{
		{"ana", "/copies/ana/src/a.go", 1}, {"ana", "/ws/src/a.go", 0}, {"ben", "/ws/src/a.go", 1}, {"ben", "/copies/ana/src/a.go", 0},
	} {
		in := hooks.Input{Common: hooks.Common{SessionID: c.session, Cwd: "/"}, Payload: hooks.PreToolUseInput{
			ToolName: "Edit", ToolInput: []byte(`{"file_path":"` + c.path + `"}`), ToolUseID: "x",
		}}
		if out, err := r.Run(t.Context(), in, nil); err != nil || out.Matched != c.matched {
			t.Errorf("%s edits %s: %d hooks, %v", c.session, c.path, out.Matched, err)
		}
	}
}
