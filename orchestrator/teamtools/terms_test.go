package teamtools

import (
	"errors"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
)

// TestLimitOnAllWays: a member at its limit gets no more work, whoever hands it over
// and in whatever words, unless a person uses force.
func TestLimitOnAllWays(t *testing.T) {
	started, pending, dev := tasks.InProgress, tasks.Pending, "dev"
	for name, p := range map[string]tasks.Patch{
		"status":           {Status: &started},
		"owner":            {Owner: &dev},
		"owner and status": {Owner: &dev, Status: &started},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTable(t)
			b.add(tasks.New{Subject: "hers"})
			b.add(tasks.New{Subject: "one more"})
			lead, member := b.as("lead", ""), b.as("dev", "")
			if _, err := b.board.Claim(t.Context(), member, "1", "dev"); err != nil {
				t.Fatal(err)
			}
			by := lead
			if p.Owner == nil {
				by = member
			}
			if p.Status == nil { // somebody else has it in progress
				if _, err := b.board.Claim(t.Context(), lead, "2", "ops"); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := b.board.Update(t.Context(), by, "2", p)
			if !errors.Is(err, tasks.ErrBusy) {
				t.Fatalf("error %v", err)
			}
			person := b.as("", "")
			person.Force = true
			if p.Owner != nil {
				if _, _, err := b.board.Update(t.Context(), person, "2", p); err != nil {
					t.Errorf("with force: %v", err)
				}
			}
		})
	}
	b := newTable(t)
	b.add(tasks.New{Subject: "hers"})
	b.add(tasks.New{Subject: "later"})
	if _, err := b.board.Claim(t.Context(), b.as("dev", ""), "1", "dev"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.board.Update(t.Context(), b.as("lead", ""), "2", tasks.Patch{Owner: &dev, Status: &pending}); err != nil {
		t.Errorf("given for later: %v", err)
	}
}

// TestWishesBindSelfClaims: a member does not take what it does not suit by asking
// for it in other words; the lead may give it all the same.
func TestWishesBindSelfClaims(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "run it", Wants: tasks.Wants{Tools: []string{"Bash"}}})
	dev, started := "dev", tasks.InProgress
	me := b.as("dev", "")
	_, claimed := b.board.Claim(t.Context(), me, "1", "dev")
	_, _, owned := b.board.Update(t.Context(), me, "1", tasks.Patch{Owner: &dev})
	_, _, begun := b.board.Update(t.Context(), me, "1", tasks.Patch{Status: &started})
	for way, err := range map[string]error{"claim": claimed, "owner": owned, "status": begun} {
		if !errors.Is(err, tasks.ErrUnsuited) || !strings.Contains(err.Error(), "tool Bash") {
			t.Errorf("%s: %v", way, err)
		}
	}
	if _, _, err := b.board.Update(t.Context(), b.as("lead", ""), "1", tasks.Patch{Owner: &dev, Status: &started}); err != nil {
		t.Errorf("by the lead: %v", err)
	}
}

func TestSkillsOf(t *testing.T) {
	has := members.Skills(&configs.Member{Role: "reviewer", Labels: []string{"go"}, Tools: []string{"Read"}})
	for _, tt := range []struct {
		wants tasks.Wants
		want  bool
	}{
		{tasks.Wants{}, true},
		{tasks.Wants{Role: "reviewer", Labels: []string{"go"}, Tools: []string{"Read"}}, true},
		{tasks.Wants{Role: "author"}, false},
		{tasks.Wants{Labels: []string{"css"}}, false},
		{tasks.Wants{Tools: []string{"Bash"}}, false},
	} {
		if have := tt.wants.Suits(has); have != tt.want {
			t.Errorf("%+v suits: %v", tt.wants, have)
		}
	}
}
