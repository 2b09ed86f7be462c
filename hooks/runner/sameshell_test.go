package runner

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// TestSameButForTheShell: hooks that differ by `shell: bash` alone are one, which
// the first one's shell runs; other differences make two.
func TestSameButForTheShell(t *testing.T) {
	const ask = `if [ -n "$BASH_VERSION" ] && ! shopt -oq posix; then echo by bash >&2; else echo by sh >&2; fi; exit 2`
	plain, bash := hooks.Handler{Type: "command", Command: ask}, hooks.Handler{Type: "command", Command: ask, Shell: "bash"}
	other := hooks.Handler{Type: "command", Command: ask + " "}
	for name, test := range map[string]struct {
		first, second []hooks.Handler
		want          []string
	}{
		"sh first":      {[]hooks.Handler{plain}, []hooks.Handler{bash}, []string{"by sh"}},
		"bash first":    {[]hooks.Handler{bash}, []hooks.Handler{plain}, []string{"by bash"}},
		"in one layer":  {[]hooks.Handler{bash, plain, bash}, nil, []string{"by bash"}},
		"other command": {[]hooks.Handler{plain}, []hooks.Handler{{Type: "command", Command: other.Command, Shell: "bash"}}, []string{"by sh", "by bash"}},
	} {
		sources := []settings.Source{{Name: "a", Settings: hooks.Settings{hooks.Stop: {{Hooks: test.first}}}},
			{Name: "b", Settings: hooks.Settings{hooks.Stop: {{Hooks: test.second}}}}}
		r, err := New(sources, nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.Run(t.Context(), hooks.Input{Common: hooks.Common{SessionID: "s", Cwd: t.TempDir()}, Payload: hooks.StopInput{}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(out.Feedback, "\n")
		if strings.Count(said, "]: by ") != len(test.want) {
			t.Errorf("%s: %q, want %q", name, said, test.want)
		}
		for _, want := range test.want {
			if !strings.Contains(said, "]: "+want) {
				t.Errorf("%s: %q, want %q", name, said, test.want)
			}
		}
	}
}
