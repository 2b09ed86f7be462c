package launch_test

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestWorkCommittedOfAProgram: what the calls of an agent program have named in a folder that it shares
// is found; whose the rest is, nobody knows.
func TestWorkCommittedOfAProgram(t *testing.T) {
	t.Parallel()
	r, _ := newFakeRig(t, teamtest.LeadLetsWork, teamtest.SharedWork+teamtest.OwnedByDev,
		act{When: "not committed", Do: []string{"sneak git add named.txt && git commit -qm mine -- named.txt"}},
		act{When: "You own task #1", Do: []string{teamtest.Claims, "sneak echo 1 >sneaked.txt",
			"edit named.txt 1", teamtest.Finishes}})
	testkit.Commit(t, r.Dir)
	testkit.Put(t, r.Dir, "notes.txt", "a person's\n")
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if said := r.Feedbacks(); len(said) != 1 || !strings.Contains(said[0], "not committed:\n?? named.txt\nCommit") {
		t.Errorf("the policy said %q", said)
	}
}
