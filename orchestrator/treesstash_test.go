package orchestrator

import (
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
)

// TestStashIsRefused: all working copies share it with the user.
func TestStashIsRefused(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles("echo x >>shared.txt; git stash", `X=touch; "$X" made`, ""))
	g.write("shared.txt", "of the user\n")
	g.git("stash -q")
	before := g.git("stash list")
	g.run(Options{})
	if after := g.git("stash list"); after != before {
		t.Errorf("the stash is %q, was %q", after, before)
	}
	results := of[events.ToolReturned](g.rig, "tool_result")
	if !slices.ContainsFunc(results, func(r events.ToolReturned) bool {
		return strings.Contains(r.Content, "git stash is shared by all working copies")
	}) {
		t.Errorf("ana was not told:\n%s", show(g.lines.all()))
	}
	if read(t, g.tree("ben", "made")) != "" {
		t.Error("ben's command did not run")
	}
}
