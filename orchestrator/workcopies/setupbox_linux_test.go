package workcopies_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestSetupInABox: what a repository has run when a copy of it is set up is held by the sandbox of its member.
func TestSetupInABox(t *testing.T) {
	t.Parallel()
	if s := sandbox.Probe(); s.Level() == sandbox.None {
		t.Skipf("nothing is held here: %v", s.Missing)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	setup := "worktree: {setup: ['sh made.sh " + secret + "']}\n"
	for box, want := range map[string]string{"": "SECRET\n", "sandbox: {level: best}\n": "\n"} {
		g := teamtest.NewGrove(t, teamtest.GroveFiles("cat made", "true", setup+box))
		write(g, "made.sh", "echo \"$(cat \"$1\")\" >made\ntest -e $TMPDIR\n")
		g.Git("add made.sh")
		g.Git("commit -qm setup")
		g.Run(orchestrator.Options{})
		if got := testkit.Read(t, g.Tree("ana", "made")); got != want {
			t.Errorf("with %q the setup has read %q, want %q", strings.TrimSpace(box), got, want)
		}
	}
}
