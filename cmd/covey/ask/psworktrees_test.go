package ask

import (
	"testing"

	"github.com/coveyteam/covey/orchestrator/workcopies"
)

func TestWorktreeLine(t *testing.T) {
	for want, w := range map[string]workcopies.Status{
		"ana works in /w · branch covey/x/ana · nothing of its own": {Path: "/w",
			Branch: "covey/x/ana"},
		"ana works in /w · branch covey/x/ana · 1 change not committed": {Path: "/w",
			Branch: "covey/x/ana", Dirty: 1},
		"ana works in /w · branch b · 2 changes not committed · 1 commit not merged": {Path: "/w",
			Branch: "b", Dirty: 2, Ahead: 1},
		"ana works in /w · branch b · git reports no more": {Path: "/w",
			Branch: "b", Unknown: true, Dirty: 3},
		"ana works in /w · branch b · +12 −3 lines · 1 commit not merged": {Path: "/w",
			Branch: "b", Ahead: 1, Added: 12, Removed: 3},
		"ana works in /w":                                   {Path: "/w", Unknown: true},
		"ana works in /w · 3 commits not merged":            {Path: "/w", Ahead: 3},
		"ana works in /w x · branch b · nothing of its own": {Path: "/w\nx", Branch: "b"},
	} {
		if got := worktreeLine("ana", w); got != want {
			t.Errorf("%+v: %q, want %q", w, got, want)
		}
	}
}
