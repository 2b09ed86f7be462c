package accounts

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// worker is a member of which a test knows what its turn has used.
type worker struct {
	used, charged int64
	had           []string // the tasks that its turn had
}

// TestSharesProperties: however members take, end and complete tasks between their requests, a
// turn is charged in full as soon as it has a task, never before and never twice, and only to
// tasks that it had; and no member pays for another one.
func TestSharesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Shares{}
		names := []string{"ana", "ben"}
		all := map[string]*worker{"ana": {}, "ben": {}}
		for n := range rapid.IntRange(1, 40).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "who")
			m := all[name]
			var ids []string
			var due tasks.Cost
			switch rapid.SampledFrom([]string{"request", "request", "request", "completed", "turn", "kill"}).Draw(t, "step") {
			case "request":
				var now []string
				for i := range rapid.IntRange(0, 3).Draw(t, "tasks") {
					now = append(now, fmt.Sprintf("%s%d", name, i))
				}
				m.used, m.had = m.used+int64(n), append(m.had, now...)
				ids, due = s.divide(name, now, tasks.Cost{Tokens: int64(n)})
				if len(now) > 0 && !slices.Equal(ids, now) {
					t.Fatalf("%v are in progress, charged are %v", now, ids)
				}
			case "completed":
				id := fmt.Sprintf("%s%d", name, rapid.IntRange(0, 4).Draw(t, "task"))
				m.had = append(m.had, id)
				ids, due = s.complete(name, id)
			case "turn":
				s.begin(name)
				*m = worker{}
			case "kill": // what has waited for a task is lost, and nothing else
				s = Shares{}
				for _, m := range all {
					*m = worker{}
				}
			}
			m.charged += due.Tokens
			for _, id := range ids {
				if !slices.Contains(m.had, id) {
					t.Fatalf("%s pays for task %s, of %v", name, id, m.had)
				}
			}
			for name, m := range all {
				if want := map[bool]int64{true: m.used}[len(m.had) > 0]; m.charged != want {
					t.Fatalf("%s was charged %d of %d, want %d", name, m.charged, m.used, want)
				}
			}
		}
	})
}

// TestSharesOfSeveralTasks: several tasks are taken and left within one turn, and one is completed
// that was never taken.
func TestSharesOfSeveralTasks(t *testing.T) {
	var s Shares
	for i, step := range []struct {
		tokens int64
		now    []string
		done   string
		want   string
	}{
		{tokens: 1, want: "[] 0"},
		{tokens: 2, now: []string{"1", "2", "3"}, want: "[1 2 3] 3"},
		{done: "2", want: "[1 2 3] 0"},
		{tokens: 4, now: []string{"1", "3"}, want: "[1 3] 4"},
		{done: "9", want: "[1 3] 0"}, // completed without being taken, while others are in progress
		{tokens: 5, want: "[1 3] 5"}, // both were given up meanwhile
		{tokens: 6, now: []string{"4"}, want: "[4] 6"},
	} {
		var ids []string
		var due tasks.Cost
		if step.done != "" {
			ids, due = s.complete("dev", step.done)
		} else {
			ids, due = s.divide("dev", step.now, tasks.Cost{Tokens: step.tokens})
		}
		if got := fmt.Sprint(ids, due.Tokens); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}

// TestKilledRunCountsOnce: a run that was killed anywhere leaves transcripts; the next one takes
// them as they are, and has used the same as one that was never killed. A member that begins anew
// within the run counts once, too.
func TestKilledRunCountsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := configs.Limits{MaxTokens: 1000}
		begin := func(written map[string]agent.Usage) *Ledger {
			l := ledgerOf(configs.Budget{Tokens: 3000}, func(events.BudgetUse) {})
			for _, name := range []string{"ana", "ben"} {
				l.Open(name, limits, configs.Agent{}, transcript.History{Usage: written[name]})
			}
			return l
		}
		written := map[string]agent.Usage{}
		l := begin(written)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"ana", "ben"}).Draw(t, "who")
			switch rapid.SampledFrom([]string{"spend", "spend", "kill", "anew"}).Draw(t, "step") {
			case "spend":
				u := agent.Usage{InputTokens: rapid.Int64Range(0, 90).Draw(t, "in"), OutputTokens: rapid.Int64Range(0, 9).Draw(t, "out")}
				l.Purse(name).Spend(u, 0)
				written[name] = written[name].Plus(u)
			case "kill":
				l = begin(written)
			case "anew":
				l.Open(name, limits, configs.Agent{}, transcript.History{Usage: written[name]})
			}
			sum := int64(0)
			for name, u := range written {
				sum += u.Total()
				if own := l.use(name).Limits; own[0].Used != float64(u.Total()) {
					t.Fatalf("%s has used %d: %+v", name, u.Total(), own)
				}
			}
			if team := l.teamUses(); team[0].Used != float64(sum) {
				t.Fatalf("the team has used %d: %+v", sum, team)
			}
		}
	})
}
