package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
)

func TestTeamSummary(t *testing.T) {
	team := &configs.Team{Name: "crew", Teammates: make([]configs.Member, 2), Tasks: make([]configs.Task, 1)}
	if got := teamSummary(team); got != "team crew, 3 members, 1 task" {
		t.Errorf("got %q", got)
	}
	if got := teamSummary(&configs.Team{Name: "solo"}); got != "team solo, 1 member" {
		t.Errorf("got %q", got)
	}
}

// TestBackgroundArgs: the program in the background gets the same team, and
// nothing that it would have to ask for.
func TestBackgroundArgs(t *testing.T) {
	team := &configs.Team{File: "/x/team.yaml"}
	for _, tc := range []struct {
		flags upFlags
		goal  string
		want  string
	}{
		{upFlags{detach: true}, "", "up --allow-unenforced -- /x/team.yaml"},
		{upFlags{keep: true, fresh: true, trust: true}, "-v is a flag",
			"up --allow-unenforced --trust --keep --fresh -- /x/team.yaml|-v is a flag"},
	} {
		want := slices.Concat(strings.Fields(strings.Split(tc.want, "|")[0]), strings.Split(tc.want, "|")[1:])
		if got := backgroundArgs(team, tc.flags, tc.goal); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestFindParent: who was not started in the background has nobody to tell.
func TestFindParent(t *testing.T) {
	for _, value := range []string{"", "x", "-1", "2"} {
		t.Setenv(readyVariable, value)
		if p := findParent(); p != nil {
			t.Errorf("%s=%s: found a parent", readyVariable, value)
		}
	}
	(*parent)(nil).ready(isUp) // must not fail
}

// TestParentHears: the word goes through the descriptor once, and the variable
// that names it is gone.
func TestParentHears(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	p := &parent{write}
	p.ready(isUp)
	buf := make([]byte, 16)
	if n, err := read.Read(buf); err != nil || string(buf[:n]) != isUp {
		t.Errorf("heard %q (%v)", buf[:n], err)
	}
	if n, err := read.Read(buf); err == nil || n != 0 {
		t.Error("the descriptor stays open")
	}
}
