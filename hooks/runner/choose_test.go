package runner

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// TestChooseProperties: of equal hooks the last runs, in its place; others keep
// their order, and hooks whose group does not fit never run.
func TestChooseProperties(t *testing.T) {
	commands := rapid.SampledFrom([]string{"a", "b", "c"})
	matchers := rapid.SampledFrom([]string{"", "Bash", "Write", "Ba.*", "Write|Bash"})
	rapid.Check(t, func(t *rapid.T) {
		var sources []settings.Source
		var fitting []string // labels in the order of configuration, with their layer
		for layer := range rapid.IntRange(0, 4).Draw(t, "layers") {
			source := settings.Source{Name: fmt.Sprint(layer), Settings: hooks.Settings{}}
			for range rapid.IntRange(0, 3).Draw(t, "groups") {
				matcher := matchers.Draw(t, "matcher")
				group := hooks.Group{Matcher: matcher}
				for _, command := range rapid.SliceOfN(commands, 0, 3).Draw(t, "commands") {
					group.Hooks = append(group.Hooks, hooks.Handler{Type: "command", Command: command, Timeout: float64(layer + 1)})
					if matcher != "Write" {
						fitting = append(fitting, fmt.Sprintf("%s of %d", command, layer+1))
					}
				}
				source.Settings[hooks.PreToolUse] = append(source.Settings[hooks.PreToolUse], group)
			}
			sources = append(sources, source)
		}
		r, err := New(sources, nil)
		if err != nil {
			t.Fatal(err)
		}
		in := hooks.Input{Payload: hooks.PreToolUseInput{ToolName: "Bash"}}
		chosen, warnings := r.choose(t.Context(), r.listening(in), in)
		var got []string
		for _, h := range chosen {
			got = append(got, fmt.Sprintf("%s of %g", h.Command, h.Timeout))
		}
		var want []string
		for i, label := range fitting {
			same := func(other string) bool { return other[0] == label[0] }
			if !slices.ContainsFunc(fitting[i+1:], same) {
				want = append(want, label)
			}
		}
		if !slices.Equal(got, want) || warnings != nil {
			t.Fatalf("chose %q, want %q; warnings %q", got, want, warnings)
		}
	})
}
