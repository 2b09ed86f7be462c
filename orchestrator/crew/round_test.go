package crew

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// roundKinds are the teams whose rounds are measured. Each member is idle and has one task.
var roundKinds = []string{
	"claim",   // a ready task for each member
	"mail",    // each has unread mail about its task
	"depends", // also mail, and each member depends on another
	"asked",   // each has a question to answer and waits for an answer
	"locked",  // each is locked out by a usage limit
}

// crewAtRest returns a crew of a lead and idle members, with its own store and without
// processes. Each member has one task.
func crewAtRest(tb testing.TB, kind string, members int) *Crew {
	tb.Helper()
	dir := tb.TempDir()
	store, err := tasks.Open(filepath.Join(dir, "tasks.db"), &tasks.Options{BlobDir: filepath.Join(dir, "blobs")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	c := crewOf(tb, Deps{Store: store}, "lead")
	var load tasks.Loading
	var asking sync.WaitGroup // concurrent, so that they share a commit
	ask := func(n requests.New) {
		asking.Go(func() {
			if _, err := store.Requests().Ask(tb.Context(), actors.Actor{Name: n.Member}, n); err != nil {
				tb.Error(err)
			}
		})
	}
	addSeat(tb, c, &configs.Member{Name: "lead"}).Life.Wait()
	for i := range members {
		s := addSeat(tb, c, &configs.Member{Name: fmt.Sprint("m", i), SelfClaim: true})
		s.Life.Wait()
		next := fmt.Sprint("m", (i+1)%members)
		t := tasks.New{Key: fmt.Sprint("t", i), Subject: "Do it"}
		switch kind {
		case "mail":
			t.Owner = s.Member.Name
		case "depends":
			t.Owner = s.Member.Name
			if i > 0 {
				s.Member.DependsOn = []string{fmt.Sprint("m", i-1)}
			}
		case "asked":
			ask(requests.New{Kind: requests.AskPlan, Member: s.Member.Name, To: next, Key: next})
		case "locked":
			limit := events.Limited{Until: time.Now().Add(time.Hour)}
			if _, err := c.deps.Logins.Complete(tb.Context(), s.Member, events.Event{Data: limit}); err != nil {
				tb.Fatal(err)
			}
		}
		load.Tasks = append(load.Tasks, t)
	}
	if _, err := store.Load(tb.Context(), load); err != nil {
		tb.Fatal(err)
	}
	asking.Wait()
	testkit.Must(tb, c.deps.Asks.TakeUp(tb.Context(), c.answered))
	tb.Cleanup(func() { testkit.Must(tb, c.deps.Asks.Ended(tb.Context())) })
	return c
}

// BenchmarkRound measures the time of one round of the crew per member, which must not
// depend on the number of members. On a busy machine the fastest round counts.
//
//	go test -run xxx -bench Round$ ./orchestrator/crew
func BenchmarkRound(b *testing.B) {
	for _, kind := range roundKinds {
		for _, members := range []int{100, 1000, 4000} {
			b.Run(fmt.Sprintf("%s/members=%d", kind, members), func(b *testing.B) {
				c := crewAtRest(b, kind, members)
				round := func() time.Duration {
					begun := time.Now()
					if _, _, err := (&director{c: c}).round(b.Context()); err != nil {
						b.Fatal(err)
					}
					return time.Since(begun)
				}
				fastest := round()
				for b.Loop() {
					fastest = min(fastest, round())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(members), "ns/member")
				b.ReportMetric(float64(fastest.Nanoseconds())/float64(members), "fastest-ns/member")
			})
		}
	}
}

// TestRoundGrowsWithTheTeam: a round reads the store once for all empty mailboxes, for
// any number of members.
func TestRoundGrowsWithTheTeam(t *testing.T) {
	for _, kind := range roundKinds {
		for _, members := range []int{100, 1000} {
			t.Run(fmt.Sprint(kind, members), func(t *testing.T) {
				c := crewAtRest(t, kind, members)
				s, err := (&director{c: c}).scene(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if moves := plan.Next(s); len(moves) < members && kind != "depends" && kind != "locked" {
					t.Errorf("%d moves", len(moves))
				}
				if kind == "mail" || kind == "depends" {
					return // each member's mail is read
				}
				// One store read per member would exceed twenty.
				allocs := testing.AllocsPerRun(1, func() {
					if _, _, err := (&director{c: c}).round(t.Context()); err != nil {
						t.Error(err)
					}
				})
				if allocs > 15*float64(members) {
					t.Errorf("%.1f allocations for each member", allocs/float64(members))
				}
			})
		}
	}
}

// TestSeatsAreFoundByName: finding a member's seat does not scan the list.
func TestSeatsAreFoundByName(t *testing.T) {
	c := crewAtRest(t, "claim", 3)
	one, ok := c.deps.Seats.Of("m1")
	if !ok || one.Member.Name != "m1" {
		t.Fatalf("seat = %v, %v", one, ok)
	}
	c.deps.Seats.list.Load().all = nil
	if again, ok := c.deps.Seats.Of("m1"); !ok || again != one {
		t.Error("the seat is looked for in the list")
	}
	other := &Seat{crew: c, Member: &members.Member{Member: &configs.Member{Name: "m1"}}}
	c.deps.Seats.put([]*Seat{other})
	if found, _ := c.deps.Seats.Of("m1"); found != other {
		t.Error("the old seat is found")
	}
	if _, ok := c.deps.Seats.Of("m2"); ok {
		t.Error("a seat is found that is not there any more")
	}
}
