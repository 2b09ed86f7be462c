package teammate

import (
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/hooks/rules"
)

// rulesOf reads rules that stand in one text.
func rulesOf(t *testing.T, text string) []rules.Rule {
	t.Helper()
	var list []rules.Rule
	for _, word := range strings.Fields(text) {
		r, err := rules.Parse(word)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
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
	mate := &Teammate{rights: &rights{p: Permissions{Mode: "plan", Deny: rulesOf(t, "A")}}}
	was, now := Permissions{Deny: rulesOf(t, "A")}, Permissions{Deny: rulesOf(t, "A B")}
	var running sync.WaitGroup
	running.Go(func() {
		for range 200 {
			if got := textOf(mate.Permissions().Deny); got != "A" && got != "A B" {
				t.Errorf("deny %q", got)
			}
		}
	})
	for range 100 {
		mate.Reconfigure(was, now)
		mate.Reconfigure(now, was)
	}
	running.Wait()
	mate.Reconfigure(was, now)
	if p := mate.Permissions(); textOf(p.Deny) != "A B" || p.Mode != "plan" {
		t.Errorf("%+v", p)
	}
}
