package runner

import (
	"slices"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// A matcher of FileChanged says which files are watched, too.
func TestWatchNames(t *testing.T) {
	groups := func(matchers ...string) hooks.Settings {
		var list []hooks.Group
		for _, m := range matchers {
			list = append(list, hooks.Group{Matcher: m, Hooks: []hooks.Handler{{Type: "command", Command: "true " + m}}})
		}
		return hooks.Settings{hooks.FileChanged: list}
	}
	for _, c := range []struct {
		matchers []string
		want     []string
	}{
		{[]string{"watched.txt"}, []string{"watched.txt"}},
		{[]string{".envrc|.env", "Makefile", ".env"}, []string{".env", ".envrc", "Makefile"}},
		{[]string{"Makefile|justfile"}, []string{"Makefile", "justfile"}},
		{[]string{`.*\.go|go.mod`}, []string{"go.mod"}},
		{[]string{"", "*"}, nil},
	} {
		r, err := New([]settings.Source{{Name: "spec", Settings: groups(c.matchers...)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.WatchNames(); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.matchers, got, c.want)
		}
	}
}
