package permission

import (
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/hooks/rules"
)

// rulesOf reads rules that stand in one text.
func rulesOf(t *testing.T, text string) []rules.Rule {
	t.Helper()
	return ruleList(t, strings.Fields(text)...)
}

// textOf is the rules in one text.
func textOf(list []rules.Rule) string {
	var words []string
	for _, r := range list {
		words = append(words, r.String())
	}
	return strings.Join(words, " ")
}

// TestReconfigure: other configured rules count, and what the session has changed
// stays changed.
func TestReconfigure(t *testing.T) {
	for name, c := range map[string]struct{ was, have, now, want string }{
		"new":               {"A", "A", "A B", "A B"},
		"gone":              {"A B", "A B", "A", "A"},
		"session's own":     {"A", "A S", "B", "B S"},
		"session's, listed": {"A", "A S", "A S", "A S"},
		"taken by session":  {"A B", "A", "A B C", "A C"},
		"all gone":          {"A", "A", "", ""},
	} {
		if got := textOf(rebase(rulesOf(t, c.have), rulesOf(t, c.was), rulesOf(t, c.now))); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestReconfigureAtOnce: rules are read while they change.
func TestReconfigureAtOnce(t *testing.T) {
	rights := NewRights(Policy{Mode: "plan", Deny: rulesOf(t, "A")}, nil)
	was, now := Policy{Deny: rulesOf(t, "A")}, Policy{Deny: rulesOf(t, "A B")}
	var running sync.WaitGroup
	running.Go(func() {
		for range 200 {
			if got := textOf(rights.Now().Deny); got != "A" && got != "A B" {
				t.Errorf("deny %q", got)
			}
		}
	})
	for range 100 {
		rights.Reconfigure(was, now)
		rights.Reconfigure(now, was)
	}
	running.Wait()
	rights.Reconfigure(was, now)
	if p := rights.Now(); textOf(p.Deny) != "A B" || p.Mode != "plan" {
		t.Errorf("%+v", p)
	}
}
