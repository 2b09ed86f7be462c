package accounts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// ledgerOf is the ledger of a team with a budget, which tells of the levels that are reached.
func ledgerOf(b configs.Budget, tell func(events.BudgetUse)) *Ledger {
	return NewLedger(b, nil, LedgerDeps{Tell: teller(tell), Changed: func() {}})
}

// describe returns what a ledger says of a team.
func describe(l *Ledger, seats ...plan.Seat) plan.Scene {
	s := plan.Scene{Seats: seats}
	l.Describe(&s, nil)
	return s
}

// teller passes on the levels that a ledger tells of.
func teller(tell func(events.BudgetUse)) func(string, events.Data) {
	return func(_ string, e events.Data) {
		if u, ok := e.(events.BudgetUse); ok {
			tell(u)
		}
	}
}

// Whoever spends how much in which order: levels rise, each is told once, what is
// used is the sum, nobody gets more passes to hand over than its share, and nobody makes a request
// when a limit is used up: it is exceeded by one at most.
func TestLedgerProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := configs.Budget{Tokens: rapid.Int64Range(0, 500).Draw(t, "budget")}
		told := map[string]int{}
		l := ledgerOf(budget, func(u events.BudgetUse) {
			key := u.Member + useKey(u)
			if u.Level <= told[key] {
				t.Fatalf("level %d of %s after %d", u.Level, key, told[key])
			}
			told[key] = u.Level
		})
		names := []string{"a", "b", "c"}
		limits := map[string]int64{}
		for _, name := range names {
			limits[name] = rapid.Int64Range(0, 300).Draw(t, "limit of "+name)
			l.Open(name, configs.Limits{MaxTokens: limits[name]}, configs.Agent{}, transcript.History{})
		}
		used, extra, all := map[string]int64{}, map[string]int{}, int64(0)
		for range rapid.IntRange(0, 60).Draw(t, "passes") {
			name := rapid.SampledFrom(names).Draw(t, "who")
			full := limits[name] > 0 && used[name] >= limits[name] || budget.Tokens > 0 && all >= budget.Tokens
			reason, told := l.spent(name)
			over := reason != ""
			p := l.Purse(name)
			err := p.Left(false)
			if over {
				extra[name]++
			}
			if (err != nil) != (full || extra[name] > handOverPasses) || full && !(over && told) {
				t.Fatalf("pass %d of %s to hand over, full %v: %v, %s", extra[name], name, full, err, reason)
			}
			if helper := p.Left(true); (helper != nil) != over {
				t.Fatalf("its helper gets %v", helper)
			}
			if err != nil {
				continue
			}
			n := rapid.Int64Range(0, 60).Draw(t, "tokens")
			p.Spend(agent.Usage{InputTokens: n}, 0)
			used[name], all = used[name]+n, all+n
			var ids []string
			for _, in := range p.Notes() {
				ids = append(ids, in.MessageID)
			}
			p.Shown(ids)
			if again := p.Notes(); len(again) > 0 {
				t.Fatalf("notes are given again: %+v", again)
			}
		}
		for _, u := range l.teamUses() {
			if u.Used != float64(all) || u.Level != told[useKey(u)] {
				t.Fatalf("the team has used %d: %+v, told %d", all, u, told[useKey(u)])
			}
		}
	})
}

// No request to a model without a price leaves under a limit in dollars.
func TestLedgerPriceless(t *testing.T) {
	shipped, err := ShippedPrices()
	if err != nil {
		t.Fatal(err)
	}
	own := configs.Agent{Kind: configs.ACP, Preset: configs.Claude, Auth: configs.Login}
	for name, c := range map[string]struct {
		budget configs.Budget
		limits configs.Limits
		agent  configs.Agent
		model  string
		wrong  bool
	}{
		"team's": {configs.Budget{USD: 1}, configs.Limits{}, configs.Agent{}, "openai/alias", true}, "own": {configs.Budget{}, configs.Limits{MaxBudgetUSD: 1}, configs.Agent{}, "openai/alias", true},
		"priced": {configs.Budget{USD: 1}, configs.Limits{}, configs.Agent{}, "openai/gpt-5", false}, "free": {configs.Budget{USD: 1}, configs.Limits{}, configs.Agent{}, "", false},
		"login": {configs.Budget{USD: 1}, configs.Limits{}, own, "anthropic/alias", false}, "none": {configs.Budget{}, configs.Limits{}, configs.Agent{}, "openai/alias", false},
	} {
		l := NewLedger(c.budget, PriceList{shipped}, LedgerDeps{})
		l.Open("a", c.limits, c.agent, transcript.History{})
		if err := l.Purse("a").Used(c.model); (err != nil) != c.wrong || err != nil && !strings.Contains(err.Error(), "openai/alias has no price") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A limit that is raised lets its member go on, and its levels are told anew.
func TestLedgerRaised(t *testing.T) {
	var levels []int
	l := ledgerOf(configs.Budget{}, func(u events.BudgetUse) { levels = append(levels, u.Level) })
	l.Open("a", configs.Limits{MaxTokens: 100}, configs.Agent{}, transcript.History{})
	p := l.Purse("a")
	for range 16 {
		p.Spend(agent.Usage{InputTokens: 10}, 0)
	}
	if err := p.Left(false); !errors.Is(err, agent.ErrMaxTokens) {
		t.Errorf("Left gives %v", err)
	}
	l.SetLimits("a", configs.Limits{MaxTokens: 300})
	if reason, _ := l.spent("a"); reason != "" || p.Left(false) != nil {
		t.Errorf("the raised limit is used up: %s", reason)
	}
	l.SetBudget(configs.Budget{Tokens: 150}, nil)
	if describe(l).Exhausted == "" || !errors.Is(p.Left(true), agent.ErrTeamBudget) {
		t.Error("the lowered budget is not used up")
	}
	if !slices.Equal(levels, []int{50, 75, 90, 100, 50, 100}) {
		t.Errorf("levels %v", levels)
	}
}

// TestHandOverWithinLimit: the passes to hand over are a part of the limit. A member whose requests
// are small against it gets all of them, one with large requests one, also after a restart.
func TestHandOverWithinLimit(t *testing.T) {
	for _, c := range []struct {
		cost    float64
		working int // requests before the member is told to hand over
		over    int // and to hand over
	}{{0.18, 2, 1}, {0.04, 10, 3}, {0.01, 45, 5}, {0.60, 1, 0}} {
		l := ledgerOf(configs.Budget{}, func(events.BudgetUse) {})
		limits := configs.Limits{MaxBudgetUSD: 0.5}
		l.Open("a", limits, configs.Agent{}, transcript.History{})
		working, over := 0, 0
		for l.Purse("a").Left(false) == nil {
			if reason, _ := l.spent("a"); reason == "" {
				working++
			} else {
				over++
			}
			l.Purse("a").Spend(agent.Usage{InputTokens: 1}, c.cost)
		}
		if working != c.working || over != c.over {
			t.Errorf("with requests of %v dollars there are %d, and %d to hand over; want %d, %d", c.cost, working, over, c.working, c.over)
		}
		usd := l.use("a").CostUSD
		h := transcript.History{CostUSD: usd, Largest: transcript.Request{USD: c.cost}}
		l.Open("a", limits, configs.Agent{}, h)
		if reason, _ := l.spent("a"); reason == "" {
			t.Errorf("after a restart %v of 0.5 dollars are not used up", usd)
		}
	}
}

// What a prompt is heard to have used counts once, before its end and after.
func TestLedgerLive(t *testing.T) {
	l := ledgerOf(configs.Budget{Tokens: 100}, func(events.BudgetUse) {})
	l.Open("a", configs.Limits{}, configs.Agent{Kind: configs.ACP}, transcript.History{})
	b := l.NewBill("a", Cost{}, func(Cost) {})
	b.AddLive(agent.Usage{InputTokens: 40}, 0.5)
	b.AddLive(agent.Usage{InputTokens: 70}, 0.75)
	if u := l.teamUses()[0]; u.Used != 70 || u.Level != 50 {
		t.Errorf("in the prompt: %+v", u)
	}
	l.Purse("a").Spend(agent.Usage{InputTokens: 80}, 0) // its record, with all of it
	b.AddPrompt(1, true)
	if usd := l.use("a").CostUSD; l.teamUses()[0].Used != 80 || usd != 1 {
		t.Errorf("after it: %+v, %v dollars", l.teamUses()[0], usd)
	}
}

// A team without limits is asked nothing, however many ask at once.
func TestLedgerAtOnce(t *testing.T) {
	l := ledgerOf(configs.Budget{Tokens: 1000}, func(events.BudgetUse) {})
	var wg sync.WaitGroup
	for i := range 8 {
		name := fmt.Sprint("m", i)
		l.Open(name, configs.Limits{}, configs.Agent{}, transcript.History{})
		wg.Go(func() {
			for range 50 {
				if l.Purse(name).Left(true) == nil {
					l.Purse(name).Spend(agent.Usage{OutputTokens: 3}, 0)
				}
			}
		})
	}
	wg.Wait()
	if used := l.teamUses()[0].Used; used < 1000-1000/handOverShare || used > 1000+8*3 {
		t.Errorf("%v tokens are used of 1000, by 8 at once", used)
	}
}

// Time is counted over runs, and the crew is woken for each share of it.
func TestLedgerTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ledgerOf(configs.Budget{Time: time.Hour}, func(events.BudgetUse) {})
		l.resume(20 * time.Minute)
		for _, want := range []time.Duration{10, 15, 9, 6} {
			wait, ok := l.nextLevel()
			if !ok || wait != want*time.Minute {
				t.Fatalf("it waits for %v, want %d minutes", wait, want)
			}
			time.Sleep(wait)
		}
		if _, ok := l.nextLevel(); ok || describe(l).Exhausted == "" {
			t.Error("the time is not up")
		}
	})
}

// What is not known of a member's use is told once, where it matters.
func TestLedgerUnknown(t *testing.T) {
	l := ledgerOf(configs.Budget{USD: 5}, func(events.BudgetUse) {})
	l.Open("a", configs.Limits{MaxTokens: 10}, configs.Agent{Kind: configs.ACP, Preset: configs.Codex,
		Auth: configs.Key}, transcript.History{})
	l.Open("b", configs.Limits{}, configs.Agent{Kind: configs.ACP, Preset: configs.Claude,
		Auth: configs.Login}, transcript.History{})
	l.Open("c", configs.Limits{}, configs.Agent{Kind: configs.Command, Preset: configs.Qwen,
		Auth: configs.Login}, transcript.History{})
	end := events.TurnEnded{UsageUnknown: true}
	first, second, third := l.unknown("a", end), l.unknown("a", end), l.unknown("a", end)
	if first == "" || second == "" || first == second || third != "" {
		t.Errorf("told %q, %q, %q", first, second, third)
	}
	if got := l.unknown("b", events.TurnEnded{}); got != "" {
		t.Errorf("a subscription costs nothing, and people are told %q", got)
	}
	if !l.teamUses()[0].Least {
		t.Error("the team's dollars are taken for all")
	}
}

// What a program tells of its session is counted once, for the turn and for the member's
// life; a total that falls is that of a program that began anew.
func TestBill(t *testing.T) {
	var kept []float64
	l := ledgerOf(configs.Budget{}, func(events.BudgetUse) {})
	b := l.NewBill("a", Cost{Session: 1, Life: 10}, func(now Cost) { kept = append(kept, now.Session) })
	for _, total := range []float64{0, 1, 1.5, 1.5, 0.25, 0} {
		b.AddPrompt(total, true)
	}
	if b.turn != 0.75 || b.unknown { // half a dollar, and a quarter of a program that counts anew
		t.Errorf("the turn cost %v, unknown %v", b.turn, b.unknown)
	}
	if !slices.Equal(kept, []float64{1.5, 0.25}) {
		t.Errorf("kept was %v", kept)
	}
	b.AddPrompt(0, false)
	if usd, unknown := b.EndTurn(); usd != 0.75 || !unknown {
		t.Errorf("the turn cost %v, unknown %v", usd, unknown)
	}
	if usd, unknown := b.EndTurn(); usd != 0 || unknown {
		t.Errorf("a turn without prompts cost %v, unknown %v", usd, unknown)
	}
	if life := b.NewSession(); life != 10.75 {
		t.Errorf("the member's life cost %v", life)
	}
}

// A turn is cut once, when its time to hand over is over; the next turn has its time anew.
func TestOverrun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ledgerOf(configs.Budget{}, func(events.BudgetUse) {})
		l.Open("a", configs.Limits{}, configs.Agent{Kind: configs.ACP}, transcript.History{})
		l.Open("b", configs.Limits{}, configs.Agent{}, transcript.History{})
		want := func(when string, turn int, late ...string) {
			t.Helper()
			var got []string
			for _, seat := range l.overrun([]plan.Seat{
				{Name: "a", Turn: turn, Spent: "all"}, {Name: "b", Turn: turn, Spent: "all"},
				{Name: "c", Spent: "all", Idle: true}, {Name: "d", Spent: "all", Gone: true}, {Name: "e"},
			}) {
				got = append(got, seat.Name)
			}
			if !slices.Equal(got, late) {
				t.Errorf("%s: %v are late, want %v", when, got, late)
			}
		}
		want("at first", 1)
		time.Sleep(handOverTimeProgram)
		want("after the time of programs", 1, "a")
		want("once more", 1)
		time.Sleep(handOverTime - handOverTimeProgram)
		want("in the next turn", 2)
		time.Sleep(time.Minute)
		if s := describe(l); s.Changes != nil {
			t.Errorf("nothing is used up any more, and it waits %v", *s.Changes)
		}
	})
}

// TestInterruptsOverrun: the turn of a program that goes on with a full limit is interrupted once,
// and what others may still take bounds the sleep of the crew's loop.
func TestInterruptsOverrun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cut []string
		l := NewLedger(configs.Budget{}, nil, LedgerDeps{
			Tell: teller(func(events.BudgetUse) {}), Changed: func() {},
			Interrupt: func(member, reason string) { cut = append(cut, member+": "+reason) },
		})
		for name, kind := range map[string]configs.AgentKind{"a": configs.ACP, "b": configs.Builtin} {
			l.Open(name, configs.Limits{MaxTokens: 10}, configs.Agent{Kind: kind}, transcript.History{})
			l.Purse(name).Spend(agent.Usage{InputTokens: 10}, 0)
		}
		for range 2 {
			s := describe(l, plan.Seat{Name: "a", Turn: 1}, plan.Seat{Name: "b", Turn: 1})
			if s.Changes == nil || *s.Changes != handOverTime || s.Seats[0].Spent == "" {
				t.Errorf("the scene is %+v", s)
			}
		}
		if len(cut) != 1 || !strings.HasPrefix(cut[0], "a: limits.max_tokens is used up") {
			t.Errorf("interrupted were %q", cut)
		}
	})
}

// TestBudgetSettings: each limit is named as the spec has it, and the notes of its
// levels grow in urgency, each told once.
func TestBudgetSettings(t *testing.T) {
	for want, u := range map[string]events.BudgetUse{
		"budget.tokens": {What: events.Tokens}, "budget.usd": {What: events.USD}, "budget.time": {What: events.Time},
		"limits.max_tokens": {Member: "dev", What: events.Tokens}, "limits.max_budget_usd": {Member: "dev", What: events.USD},
	} {
		if got := useSetting(u); got != want {
			t.Errorf("%+v is %s", u, got)
		}
	}
	for _, test := range []struct {
		used   float64
		passes int
		want   string
	}{
		{499, 5, ""}, {500, 5, "(limits.max_tokens)."}, {750, 5, "Plan the rest"}, {900, 5, "begin nothing large"},
		{1000, 5, "at most 5 model requests"}, {2000, 1, "This is your last prompt."},
	} {
		u := bounded([]events.BudgetUse{{Member: "dev", What: events.Tokens, Used: test.used, Limit: 1000}})[0]
		notes := useNote(u, nil, test.passes)
		if (len(notes) == 0) != (test.want == "") || len(notes) > 0 && !strings.Contains(notes[0].Text, test.want) {
			t.Errorf("at %v: %+v", test.used, notes)
		}
		if len(notes) > 0 && len(useNote(u, map[string]bool{notes[0].MessageID: true}, test.passes)) != 0 {
			t.Errorf("at %v it is told twice", test.used)
		}
	}
}

// TestTellsUse: what a member uses is told at once, that of a running prompt too; what has neither a limit
// nor a cost is not told of, and a limit that goes is.
func TestTellsUse(t *testing.T) {
	var told []string
	l := NewLedger(configs.Budget{}, nil, LedgerDeps{Changed: func() {}, Tell: func(member string, e events.Data) {
		if use, ok := e.(events.MemberUse); ok {
			told = append(told, fmt.Sprintf("%s %.2f %v %v", member, use.CostUSD, use.Limits, use.Team))
		}
	}})
	want := func(texts ...string) {
		t.Helper()
		if !slices.Equal(told, texts) {
			t.Errorf("told %q, want %q", told, texts)
		}
		told = nil
	}
	join := func(name string, limits configs.Limits, h transcript.History) {
		t.Helper()
		l.Open(name, limits, configs.Agent{Kind: configs.ACP}, h)
		testkit.Must(t, l.Joined(t.Context(), &members.Member{Member: &configs.Member{Name: name}}))
	}
	join("free", configs.Limits{}, transcript.History{})
	l.Purse("free").Spend(agent.Usage{InputTokens: 5}, 0)
	want()
	join("dear", configs.Limits{}, transcript.History{CostUSD: 2})
	want("dear 2.00 [] []")
	join("a", configs.Limits{MaxTokens: 100}, transcript.History{Usage: agent.Usage{InputTokens: 10}})
	want("a 0.00 [10 of 100 tokens (10 %)] []")
	b := l.NewBill("a", Cost{}, func(Cost) {})
	b.AddLive(agent.Usage{InputTokens: 20}, 0.5)
	b.AddLive(agent.Usage{InputTokens: 20}, 0.5) // nothing new
	want("a 0.50 [30 of 100 tokens (30 %)] []")
	l.SetBudget(configs.Budget{Tokens: 1000}, nil)
	want(" 0.00 [] [35 of 1000 tokens (4 %)]")
	l.SetLimits("a", configs.Limits{})
	l.SetBudget(configs.Budget{}, nil)
	want("a 0.50 [] [35 of 1000 tokens (4 %)]", " 0.00 [] []")
}
