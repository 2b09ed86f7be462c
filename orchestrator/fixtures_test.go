package orchestrator

import (
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/tasks/mail"
)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	mustMkdir(t, filepath.Dir(path))
	if err := testkit.WriteProgram(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t *testing.T, spec string) *configs.Team {
	t.Helper()
	team, err := configs.Load(spec)
	if err != nil {
		t.Fatal(err)
	}
	return team
}

func mustCheck(t *testing.T, team *configs.Team) trust.Report {
	t.Helper()
	r, err := trust.Check(t.Context(), team)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustTrust(t *testing.T, team *configs.Team) {
	t.Helper()
	if err := trust.Remember(t.Context(), team, mustCheck(t, team)); err != nil {
		t.Fatal(err)
	}
}

// deskOf is the merge desk of a crew whose members work in no git repository.
func deskOf(c *crew) *merging.Desk {
	return merging.New(merging.Options{Store: c.store, Trees: &trees.Trees{}, Members: deskMembers{c}})
}

// giveBoard makes the board of a crew for members of such names, the lead first, and a
// store, a loop, an inbox and a merge desk if the crew has none.
func giveBoard(t testing.TB, c *crew, names ...string) {
	t.Helper()
	if c.store == nil {
		c.store = testkit.OpenStore(t)
	}
	if c.loop == nil {
		c.loop = routine.NewLoop(nil)
	}
	if c.notes == nil {
		c.notes = teamtools.NewNotes(c.store.Mail(), func() string { return names[0] }, func() {})
	}
	if c.asks == nil {
		c.asks = inboxOf(c, configs.WaitAsk)
	}
	if c.work.merges == nil {
		c.work.merges = deskOf(c)
	}
	team := &configs.Team{Name: "crew", Lead: configs.Member{Name: names[0]}}
	for _, name := range names[1:] {
		team.Teammates = append(team.Teammates, configs.Member{Name: name})
	}
	c.board = newBoard(team, mail.Folder(t.TempDir()), c)
}
