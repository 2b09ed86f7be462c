package crew

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
)

// crewOf makes a crew for the named members, the lead first, without seats. It uses the
// store, the journal and the clock of p, and has no agents.
func crewOf(t testing.TB, p Deps, names ...string) *Crew {
	t.Helper()
	team := &configs.Team{Name: "crew", Lead: configs.Member{Name: names[0]}}
	for _, name := range names[1:] {
		team.Teammates = append(team.Teammates, configs.Member{Name: name})
	}
	p.Team, p.StaysUp = func() *configs.Team { return team }, func() bool { return false }
	if p.Store == nil {
		p.Store = testkit.OpenStore(t, tasks.Open)
	}
	p.Log, p.Loop, p.Group, p.Seats, p.Watch = slog.New(slog.DiscardHandler), members.NewLoop(nil), &members.Group{}, &Seats{}, &members.Watch{}
	p.State = view.NewLive(p.Store.Outbox())
	p.State.Apply(events.Event{Data: events.TeamStarted{Members: names}})
	p.Logins, p.Holds = loginsOf(p.Store, p.Journal, p.Seats), &members.Holds{}
	p.Ledger, p.Notices = accounts.NewLedger(configs.Budget{}, nil, accounts.LedgerDeps{}), &accounts.Notices{}
	p.Background = teamhooks.NewBackground(p.Store, p.Clock, p.Loop.Poke, func(string, events.Data) {})
	p.Notes = teamtools.NewNotes(p.Store.Mail(), func() string { return names[0] }, p.Loop.Poke)
	p.Asks = inbox.New(team, inbox.Deps{
		Store: p.Store, Journal: p.Journal, Clock: p.Clock, Log: p.Log, Members: p.Seats, Group: p.Group, Changed: p.Loop.Poke,
		Attached: func() int { return 0 }, Lend: p.Logins.Lend,
	})
	p.Merges = merging.New(merging.Deps{Store: p.Store, Trees: &workcopies.Trees{}, Members: p.Seats})
	p.Board = teamtools.New(team, teamtools.Deps{
		Store: p.Store, Letters: mail.Folder(t.TempDir()), Members: p.Seats, Requests: p.Asks, Questions: p.Asks.Questions, Plans: p.Asks.Plans,
		Work: p.Merges, Goals: specs.NewGoals(p.Store, ""), News: p.Notes,
		Act: func(_ context.Context, _ string, do func() error) error { return do() },
	})
	return New(p, func(context.Context, *Seat) (Occupant, error) {
		return Occupant{Teammate: &teammate.Teammate{}}, nil // it takes no turns
	})
}

// runJournal runs a journal until the test ends. The functions see must not block.
func runJournal(t *testing.T, store *tasks.Store, see ...func(events.Line)) *state.Journal {
	t.Helper()
	j, err := state.OpenJournal(filepath.Join(t.TempDir(), "journal.jsonl"), state.JournalOptions{
		Team: "crew", Store: store, Log: slog.New(slog.DiscardHandler), See: func(events.Line) {}, Failed: func(error) {},
	})
	testkit.Must(t, err)
	go j.Run(events.TeamStarted{}, state.Views{
		Line: func(l events.Line) {
			for _, f := range see {
				f(l)
			}
		}, Stored: func(events.Line) {}, Grew: func(uint64) {},
	})
	t.Cleanup(func() { testkit.Must(t, j.Close()) })
	return j
}

// loginsOf returns the logins of a team that waits for its limits.
func loginsOf(store *tasks.Store, j *state.Journal, seats *Seats) *accounts.Logins {
	return accounts.NewLogins(accounts.LoginDeps{
		Store: store, Journal: j, Members: seats, Changed: func() {}, Command: launch.LoginCommand,
		OnLimit: func() configs.OnLimit { return configs.WaitForLimit },
	})
}

// addSeat gives a member a seat that no store knows.
func addSeat(t testing.TB, c *Crew, m *configs.Member) *Seat {
	t.Helper()
	s, err := c.newSeat(t.Context(), m, actors.Member{Session: "session-" + m.Name})
	testkit.Must(t, err)
	c.deps.Seats.add(s)
	return s
}
