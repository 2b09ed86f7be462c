package api

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
)

// TestWhoIsAtASocket: the socket says who calls, unless the kernel knows better.
func TestWhoIsAtASocket(t *testing.T) {
	byOther := process.Caller{Kind: process.OtherNamespace, PID: 8}
	byDocs := process.Caller{Kind: process.MemberTool, Member: "docs", PID: 9}
	byDocsHook := process.Caller{Kind: process.ActingHook, Member: "docs", PID: 10}
	s := &Sockets{}
	describe := func(id bus.Identity, err error) string {
		switch {
		case err != nil:
			return "refused"
		case id.NeedsKey:
			return id.Kind + " " + id.Name + " with the key"
		}
		return id.Kind + " " + id.Name
	}
	for _, c := range []struct {
		by                         process.Caller
		operators, nobodys, member string // as who it counts at the socket of the operator, of nobody, and of api
	}{
		{byOperator, "operator _ with the key", "stray _", "tool api with the key"},
		{byOther, "elsewhere _", "elsewhere _", "tool api with the key"},
		{byStray, "stray _", "stray _", "tool api with the key"},
		{byAPI, "tool api", "tool api", "tool api"},
		{byHook, "hook api", "hook api", "hook api"},
		{byActing, "acting_hook api", "acting_hook api", "acting_hook api"},
		{byTeamHook, "hook _", "hook _", "hook _"},
		{byDocs, "tool docs", "tool docs", "refused"},
		{byDocsHook, "acting_hook docs", "acting_hook docs", "refused"},
	} {
		for socket, at := range map[string]struct{ got, want string }{
			"the operator's": {describe(s.operator(c.by)), c.operators},
			"nobody's":       {describe(s.nobody(c.by)), c.nobodys},
			"api's":          {describe(s.member("api")(c.by)), c.member},
		} {
			if at.got != at.want {
				t.Errorf("%s at %s socket counts as %q, want %q", c.by, socket, at.got, at.want)
			}
		}
	}
}

// TestSocketsOfMembers: a member's socket is there from its first process until it leaves the team.
func TestSocketsOfMembers(t *testing.T) {
	f := newFakeTeam(t)
	work := t.TempDir()
	p, err := state.PlaceIn(t.TempDir(), "crew", work)
	testkit.Must(t, err)
	s := &Sockets{Bus: f.bus, Place: p, Processes: process.New(process.Unmarked), Warn: t.Errorf}
	socketOf := func(member string) string {
		env := s.Env(member)
		if len(env) != 1 || env[0] != state.SocketVariable+"="+p.MemberSocket(member) {
			t.Fatalf("Env(%s) = %v", member, env)
		}
		return p.MemberSocket(member)
	}
	early := socketOf("early") // its setup begins before the team listens
	testkit.Must(t, s.Listen())
	for name, value := range map[string]string{state.RunVariable: p.Dir, "COVEY_TEAM": "crew", "COVEY_WORKSPACE": p.Workspace} {
		t.Setenv(name, value)
	}
	// This process is the operator to the kernel: at a member's socket it is the member.
	asks := func(socket string, want error) {
		t.Helper()
		t.Setenv(state.SocketVariable, socket)
		c, err := Dial(t.Context(), p)
		testkit.Must(t, err)
		defer c.Close()
		_, claim := c.ClaimTask(t.Context(), TaskClaim{ID: "1"})
		if _, err := c.Down(t.Context(), ""); !errors.Is(err, ErrDenied) || !errors.Is(claim, want) || want == nil && claim != nil {
			t.Errorf("down: %v, claim: %v", err, claim)
		}
	}
	for _, member := range []string{early, socketOf("api")} {
		asks(member, nil)
	}
	asks(socketOf(""), ErrDenied)
	// Without the key of its folder it is nobody's.
	testkit.Must(t, os.Rename(bus.KeyPath(early), early+".kept"))
	t.Setenv(state.SocketVariable, early)
	if c, err := Dial(t.Context(), p); !errors.Is(err, ErrDenied) {
		t.Errorf("a member's socket without its key: %v, %v", c, err)
	}
	t.Setenv(state.SocketVariable, socketOf("api"))
	c, err := Dial(t.Context(), p)
	testkit.Must(t, err)
	defer c.Close()
	testkit.Must(t, s.Left(context.Background(), "api"))
	select {
	case <-c.Gone():
	case <-t.Context().Done():
	}
	if _, err := os.Stat(filepath.Dir(p.MemberSocket("api"))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of a member that has left: %v", err)
	}
	if c, err := Dial(t.Context(), p); !errors.Is(err, ErrNotRunning) {
		t.Errorf("its socket: %v, %v", c, err)
	}
	asks(socketOf("api"), nil) // it comes back
}

// TestSocketsOfTwoTeams: each has its own, and its own keys.
func TestSocketsOfTwoTeams(t *testing.T) {
	var keys []string
	home := t.TempDir()
	for _, name := range []string{"crew", "band"} {
		f := newFakeTeam(t)
		p, err := state.PlaceIn(home, name, home)
		testkit.Must(t, err)
		s := &Sockets{Bus: f.bus, Place: p, Processes: process.New(process.Unmarked), Warn: t.Errorf}
		testkit.Must(t, s.Listen())
		s.Env("ana")
		for _, socket := range []string{p.Socket(), p.MemberSocket(""), p.MemberSocket("ana")} {
			key, err := os.ReadFile(bus.KeyPath(socket))
			testkit.Must(t, err)
			if text := strings.TrimSpace(string(key)); len(text) < 26 || slices.Contains(keys, text) {
				t.Errorf("the key of %s: %q", socket, text)
			} else {
				keys = append(keys, text)
			}
		}
	}
}
