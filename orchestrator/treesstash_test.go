package orchestrator

import (
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

func TestStashes(t *testing.T) {
	for line, want := range map[string]bool{
		"git stash": true, "git stash pop": true, "git stash -u": true, "cd x && git stash push -m y": true,
		"git -C sub -c a=b --no-pager stash drop": true, "X=1 env git stash clear": true, "(git stash)": true,
		"if true; then git stash; fi": true, "x=$(git stash)": true, "git --git-dir .git stash": true,
		"git stash list": false, "git stash show -p": false, "git stash create": false, "git commit -m stash": false,
		"echo git stash": true, // a slip of ours that costs one more try
		"git log stash":  false, "git": false, "git -C": false, "": false, "git 'unclosed": false,
		`"$TOOL" stash`: false, "stash": false, "git branch stash": false,
	} {
		if got := stashes(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

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
	results := of[agent.ToolReturned](g.rig, "tool_result")
	if !slices.ContainsFunc(results, func(r agent.ToolReturned) bool {
		return strings.Contains(r.Content,
			noStash)
	}) {
		t.Errorf("ana was not told:\n%s", show(g.lines.all()))
	}
	if read(t, g.tree("ben", "made")) != "" {
		t.Error("ben's command did not run")
	}
}
