package tasks

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"

	"pgregory.net/rapid"
)

func TestLacking(t *testing.T) {
	has := Skills{Role: "reviewer", Labels: []string{"go", "sql"}, Tools: []string{"Read", "Bash"}}
	for _, tt := range []struct {
		wants Wants
		has   Skills
		want  string
	}{
		{Wants{}, Skills{}, ""},
		{Wants{}, has, ""},
		{Wants{Role: "reviewer", Labels: []string{"sql"}, Tools: []string{"Bash", "Read"}}, has, ""},
		{Wants{Tools: []string{"Bash", "Edit"}}, has, "tool Edit"},
		{Wants{Tools: []string{"Edit"}}, Skills{}, ""}, // no list of tools: it has all
		{Wants{Tools: []string{"Edit"}}, Skills{Tools: []string{}}, "tool Edit"},
		{Wants{Labels: []string{"go", "css"}}, has, "label css"},
		{Wants{Labels: []string{"go"}}, Skills{}, "label go"},
		{Wants{Role: "author"}, has, "role author"},
		{Wants{Role: "author", Labels: []string{"css"}, Tools: []string{"Edit"}}, has, "role author, label css, tool Edit"},
	} {
		if have := strings.Join(tt.wants.Lacking(tt.has), ", "); have != tt.want {
			t.Errorf("%+v for %+v lacks %q, want %q", tt.wants, tt.has, have, tt.want)
		}
	}
}

// TestWishesBindWhoTakes: a member does not take by itself what it does not suit, in
// whatever words; what others hand to it, it may do.
func TestWishesBindWhoTakes(t *testing.T) {
	terms := func(string) Terms { return Terms{Skills: &Skills{Tools: []string{"Read"}}} }
	own := Claim{Member: "ann", Skills: terms("ann").Skills}
	for name, take := range map[string]func(*Store, actors.Actor) error{
		"claim": func(s *Store, a actors.Actor) error { _, err := s.Claim(t.Context(), a, "1", own); return err },
		"owner": func(s *Store, a actors.Actor) error {
			_, _, err := s.Update(t.Context(), a, "1", Patch{Owner: ptr("ann"), Terms: terms})
			return err
		},
		"owner and status": func(s *Store, a actors.Actor) error {
			_, _, err := s.Update(t.Context(), a, "1", Patch{Owner: ptr("ann"), Status: ptr(InProgress), Terms: terms})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, nil)
			add(t, s, New{Wants: Wants{Tools: []string{"Bash"}}})
			drain(t, s)
			wantError(t, take(s, as("ann")), ErrUnsuited, "task 1", "tool Bash", "ann does not have")
			wantList(t, "events", told(t, drain(t, s)), []string{})
			if err := take(s, as("lead")); err != nil {
				t.Errorf("handed over: %v", err)
			}
		})
	}
	s := open(t, nil)
	add(t, s, New{Owner: "ann", Wants: Wants{Tools: []string{"Bash"}}})
	if _, err := s.Claim(t.Context(), as("ann"), "1", own); err != nil {
		t.Errorf("a task that it was given: %v", err)
	}
}

// TestStatusWithoutOwnerIsATake: a session that sets a task in progress which nobody
// owns takes it by itself.
func TestStatusWithoutOwnerIsATake(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{Wants: Wants{Role: "author"}})
	ann := actors.Actor{Name: "ann", Session: attach(t, s, "ann").Epoch}
	p := Patch{Status: ptr(InProgress), Terms: func(string) Terms { return Terms{Skills: &Skills{Role: "reviewer"}} }}
	_, _, err := s.Update(t.Context(), ann, "1", p)
	wantError(t, err, ErrUnsuited, "role author")
}

// TestLimitHoldsOnAllWays: whatever is tried in whatever order, nobody comes to have
// more in progress than its terms allow.
func TestLimitHoldsOnAllWays(t *testing.T) {
	dir, round := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		s, err := Open(filepath.Join(dir, fmt.Sprint(round, ".db")), nil)
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		const limit = 2
		list := make([]New, 6)
		for i := range list {
			list[i] = New{Subject: fmt.Sprint("task ", i)}
		}
		if _, err := s.Add(t.Context(), actors.Actor{}, list); err != nil {
			rt.Fatal(err)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"claim": func(rt *rapid.T) {
				_, _ = s.Claim(t.Context(), as(anyMember(rt)), anyTask(rt), Claim{Member: anyMember(rt), Max: limit})
			},
			"update": func(rt *rapid.T) {
				p := Patch{Terms: func(string) Terms { return Terms{Max: limit} }}
				if rapid.Bool().Draw(rt, "owner too") {
					p.Owner = ptr(anyOwner(rt))
				}
				if rapid.Bool().Draw(rt, "status too") {
					p.Status = ptr(rapid.SampledFrom([]Status{Pending, InProgress, Completed}).Draw(rt, "status"))
				}
				_, _, _ = s.Update(t.Context(), as(anyMember(rt)), anyTask(rt), p)
			},
			"": func(rt *rapid.T) {
				for _, name := range memberNames {
					list, err := s.InProgress(t.Context(), name)
					if err != nil || len(list) > limit {
						rt.Fatalf("%s has %v in progress, %v", name, ids(list), err)
					}
				}
			},
		})
	})
}

func anyTask(rt *rapid.T) string { return fmt.Sprint(rapid.IntRange(1, 6).Draw(rt, "task")) }

// TestLimitNamesTheWayOut: who gets work that it has no room for is told what it has.
func TestLimitNamesTheWayOut(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	add(t, s, New{})
	claim(t, s, "1", "ann")
	claim(t, s, "2", "bob")
	p := Patch{Owner: ptr("bob"), Terms: func(string) Terms { return Terms{Max: 1} }}
	_, _, err := s.Update(t.Context(), as("lead"), "1", p)
	wantError(t, err, ErrBusy, "bob has task 2", "limit 1", "complete or release")
	p.Status = ptr(Pending)
	task, _, err := s.Update(t.Context(), as("lead"), "1", p)
	if ok(t, task, err); task.Owner != "bob" || task.Status != Pending {
		t.Errorf("handed over as pending: %+v", task)
	}
}
