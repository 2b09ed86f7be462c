package orchestrator

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Whoever spends how much in which order: levels rise, each is told once, what is
// used is the sum, and nobody gets more passes to hand over than its share.
func TestLedgerProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := configs.Budget{Tokens: rapid.Int64Range(0, 500).Draw(t, "budget")}
		l := newLedger(budget, nil, 0, time.Now())
		told := map[string]int{}
		l.tell = func(u journal.BudgetUse) {
			key := u.Member + useKey(u)
			if u.Level <= told[key] {
				t.Fatalf("level %d of %s after %d", u.Level, key, told[key])
			}
			told[key] = u.Level
		}
		names := []string{"a", "b", "c"}
		limits := map[string]int64{}
		for _, name := range names {
			limits[name] = rapid.Int64Range(0, 300).Draw(t, "limit of "+name)
			l.open(name, configs.Limits{MaxTokens: limits[name]}, configs.Agent{}, transcript.History{})
		}
		used, extra, all := map[string]int64{}, map[string]int{}, int64(0)
		for range rapid.IntRange(0, 60).Draw(t, "passes") {
			name := rapid.SampledFrom(names).Draw(t, "who")
			over := limits[name] > 0 && used[name] >= limits[name] || budget.Tokens > 0 && all >= budget.Tokens
			p := purse{l, name}
			err := p.Left(false)
			if over {
				extra[name]++
			}
			if (err != nil) != (extra[name] > handOverPasses) {
				t.Fatalf("pass %d of %s beyond its limit: %v", extra[name], name, err)
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
		for _, u := range l.report() {
			if u.Used != float64(all) || u.Level != told[useKey(u)] {
				t.Fatalf("the team has used %d: %+v, told %d", all, u, told[useKey(u)])
			}
		}
	})
}

// A limit that is raised lets its member go on, and its levels are told anew.
func TestLedgerRaised(t *testing.T) {
	l := newLedger(configs.Budget{}, nil, 0, time.Now())
	var levels []int
	l.tell = func(u journal.BudgetUse) { levels = append(levels, u.Level) }
	l.open("a", configs.Limits{MaxTokens: 100}, configs.Agent{}, transcript.History{})
	p := purse{l, "a"}
	p.Spend(agent.Usage{InputTokens: 160}, 0)
	for range handOverPasses {
		if err := p.Left(false); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Left(false); !errors.Is(err, agent.ErrMaxTokens) {
		t.Errorf("Left gives %v", err)
	}
	l.setLimits("a", configs.Limits{MaxTokens: 200})
	if reason, _ := l.spent("a"); reason != "" || p.Left(false) != nil {
		t.Errorf("the raised limit is used up: %s", reason)
	}
	l.setBudget(configs.Budget{Tokens: 150}, nil)
	if l.broke() == "" || !errors.Is(p.Left(true), agent.ErrTeamBudget) {
		t.Error("the lowered budget is not used up")
	}
	if !slices.Equal(levels, []int{100, 75, 100}) {
		t.Errorf("levels %v", levels)
	}
}

// What a prompt is heard to have used counts once, before its end and after.
func TestLedgerLive(t *testing.T) {
	l := newLedger(configs.Budget{Tokens: 100}, nil, 0, time.Now())
	l.open("a", configs.Limits{}, configs.Agent{Kind: configs.ACP}, transcript.History{})
	b := bill{keep: func() {}, book: func(add func(*account)) { l.spend("a", add) }}
	b.addLive(spentSoFar(40, 0.5))
	b.addLive(spentSoFar(70, 0.75))
	if u := l.report()[0]; u.Used != 70 || u.Level != 50 {
		t.Errorf("in the prompt: %+v", u)
	}
	purse{l, "a"}.Spend(agent.Usage{InputTokens: 80}, 0) // its record, with all of it
	b.addTotal(spentSoFar(80, 1))
	if _, usd := l.reportOf("a"); l.report()[0].Used != 80 || usd != 1 {
		t.Errorf("after it: %+v, %v dollars", l.report()[0], usd)
	}
}

// A team without limits is asked nothing, however many ask at once.
func TestLedgerAtOnce(t *testing.T) {
	l := newLedger(configs.Budget{Tokens: 1000}, nil, 0, time.Now())
	var wg sync.WaitGroup
	for i := range 8 {
		name := fmt.Sprint("m", i)
		l.open(name, configs.Limits{}, configs.Agent{}, transcript.History{})
		wg.Go(func() {
			for range 50 {
				if (purse{l, name}).Left(true) == nil {
					purse{l, name}.Spend(agent.Usage{OutputTokens: 3}, 0)
				}
			}
		})
	}
	wg.Wait()
	if used := l.report()[0].Used; used < 1000 || used > 1000+8*3 {
		t.Errorf("%v tokens are used of 1000, by 8 at once", used)
	}
}

// Time is counted over runs, and the crew is woken for each share of it.
func TestLedgerTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(configs.Budget{Time: time.Hour}, nil, 0, time.Now())
		l.resume(20 * time.Minute)
		for _, want := range []time.Duration{10, 15, 9, 6} {
			wait, ok := l.nextLevel()
			if !ok || wait != want*time.Minute {
				t.Fatalf("it waits for %v, want %d minutes", wait, want)
			}
			time.Sleep(wait)
		}
		if _, ok := l.nextLevel(); ok || l.broke() == "" {
			t.Error("the time is not up")
		}
	})
}

// What is not known of a member's use is told once, where it matters.
func TestLedgerUnknown(t *testing.T) {
	l := newLedger(configs.Budget{USD: 5}, nil, 0, time.Now())
	l.open("a", configs.Limits{MaxTokens: 10}, configs.Agent{Kind: configs.ACP, Preset: configs.Codex,
		Auth: configs.Key}, transcript.History{})
	l.open("b", configs.Limits{}, configs.Agent{Kind: configs.ACP, Preset: configs.Claude,
		Auth: configs.Login}, transcript.History{})
	l.open("c", configs.Limits{}, configs.Agent{Kind: configs.Command, Preset: configs.Qwen,
		Auth: configs.Login}, transcript.History{})
	end := agent.TurnEnded{UsageUnknown: true}
	first, second, third := l.unknown("a", end), l.unknown("a", end), l.unknown("a", end)
	if first == "" || second == "" || first == second || third != "" {
		t.Errorf("told %q, %q, %q", first, second, third)
	}
	if got := l.unknown("b", agent.TurnEnded{}); got != "" {
		t.Errorf("a subscription costs nothing, and people are told %q", got)
	}
	if !l.report()[0].Least {
		t.Error("the team's dollars are taken for all")
	}
}
