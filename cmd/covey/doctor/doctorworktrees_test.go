package doctor

import (
	"errors"
	"testing"

	"github.com/coveyteam/covey/orchestrator/workcopies"
)

func TestWorktreeFindings(t *testing.T) {
	fault, two := errors.New("git cannot be used"), []string{"ana", "ben"}
	for _, c := range []struct {
		look workcopies.Outlook
		want string // the finding's level; empty: none
	}{
		{workcopies.Outlook{Repository: true}, ""},
		{workcopies.Outlook{Members: two, Repository: true}, "ok"},
		{workcopies.Outlook{Members: two, Fault: fault}, "ok"},
		{workcopies.Outlook{Members: two, Fault: fault, Repository: true}, "warn"},
	} {
		got := ""
		for _, f := range worktreeFindings(c.look) {
			got += string(f.Verdict)
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.look, got, c.want)
		}
	}
}
