package hooks

import (
	"strings"
	"testing"
)

// TestSameButForTheShell: hooks that differ by `shell: bash` alone are one, which
// the first one's shell runs; other differences make two.
func TestSameButForTheShell(t *testing.T) {
	const ask = `if [ -n "$BASH_VERSION" ] && ! shopt -oq posix; then echo by bash >&2; else echo by sh >&2; fi; exit 2`
	plain, bash := Handler{Type: "command", Command: ask}, Handler{Type: "command", Command: ask, Shell: "bash"}
	other := Handler{Type: "command", Command: ask + " "}
	for name, test := range map[string]struct {
		first, second []Handler
		want          []string
	}{
		"sh first":      {[]Handler{plain}, []Handler{bash}, []string{"by sh"}},
		"bash first":    {[]Handler{bash}, []Handler{plain}, []string{"by bash"}},
		"in one layer":  {[]Handler{bash, plain, bash}, nil, []string{"by bash"}},
		"other command": {[]Handler{plain}, []Handler{{Type: "command", Command: other.Command, Shell: "bash"}}, []string{"by sh", "by bash"}},
	} {
		sources := []Source{{Name: "a", Settings: Settings{Stop: {{Hooks: test.first}}}},
			{Name: "b", Settings: Settings{Stop: {{Hooks: test.second}}}}}
		r, err := NewRunner(sources, nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.Run(t.Context(), Input{Common: Common{SessionID: "s", Cwd: t.TempDir()}, Payload: StopInput{}}, nil)
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
