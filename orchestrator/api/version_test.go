package api

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator/state"
)

// otherTeam is a process of another version: it has run.json say so, and answers whoever
// connects with a text, or not at all.
func otherTeam(t *testing.T, protocol int, says string) state.Place {
	t.Helper()
	p, err := state.PlaceIn(t.TempDir(), "crew", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Create(); err != nil {
		t.Fatal(err)
	}
	r := state.NewRunFile(p, runBegan, Protocol)
	r.Protocol, r.Version = protocol, "0.1.0"
	if err := r.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(strings.TrimSuffix(p.Socket(), "/"+lastPart(p.Socket())), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			_, _ = fmt.Fprint(c, says)
		}
	}()
	return p
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// A team of another version is told apart at once, whatever it says or does not say.
func TestDialOtherVersions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		protocol int
		says     string
	}{
		"another protocol":   {Protocol + 1, ""},
		"ours, and no JSON":  {Protocol, "220 welcome\n"},
		"ours, newer hello":  {Protocol, `{"covey":2,"hello":"world"}` + "\n"},
		"of a newer program": {Protocol + 1, `{"covey":2,"hello":"world"}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := otherTeam(t, test.protocol, test.says)
			_, err := Dial(t.Context(), p)
			if !errors.Is(err, ErrOtherVersion) ||
				err.Error() != "team crew: running with covey 0.1.0; covey down, then covey up" {
				t.Errorf("Dial = %v", err)
			}
		})
	}
}

// A request that the team does not know is answered at once, whoever of the two is older.
func TestUnknownRequest(t *testing.T) {
	t.Parallel()
	f := newFakeTeam(t)
	c := f.dial(byOperator)
	_, err := ask(t.Context(), c, forAll[struct{}, Status]("conjure"), struct{}{})
	if !errors.Is(err, ErrOtherVersion) || !strings.Contains(err.Error(), "covey down, then covey up") {
		t.Errorf("an unknown request: %v", err)
	}
	if _, err := c.Status(t.Context()); err != nil {
		t.Errorf("a known one: %v", err)
	}
	if _, err := c.Drafts(t.Context(), DraftsRequest{}); !errors.Is(err, ErrOtherVersion) {
		t.Errorf("drafts: %v", err)
	}
	if _, err := c.Attach(t.Context()); err != nil {
		t.Errorf("attach: %v", err)
	}
}

// A run.json of a newer covey is no team that does not run.
func TestDialNewerRunFile(t *testing.T) {
	t.Parallel()
	p := endedTeam(t)
	if err := os.WriteFile(p.RunFile(), []byte(`{"format": 99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), p); !errors.Is(err, ErrNotRunning) {
		t.Errorf("nobody holds the team: %v", err)
	}
	lock, err := state.LockTeam(p)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Release() }()
	if _, err := Dial(t.Context(), p); !errors.Is(err, ErrOtherVersion) {
		t.Errorf("somebody holds it: %v", err)
	}
}
