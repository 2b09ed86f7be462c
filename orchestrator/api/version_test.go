package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/bus"
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
	newer, err := json.Marshal(map[string]any{"covey": 2, "hello": "world"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		protocol int
		says     string
	}{
		"old and silent":           {0, ""},
		"newer and silent":         {7, ""},
		"old in half a line":       {0, `{"covey":1,"tok`},
		"old and no JSON":          {0, "220 welcome\n"},
		"ours, and no JSON":        {Protocol, "220 welcome\n"},
		"newer hello":              {7, string(newer) + "\n"},
		"newer hello, by our word": {Protocol, string(newer) + "\n"},
		"silent behind the hello":  {0, `{"covey":1,"token":"x","conn":"c","scope":"covey.ctl.a.b.1.c"}` + "\n"},
		"silent, of a newer one":   {7, `{"covey":1,"token":"x","conn":"c","scope":"covey.ctl.a.b.1.c","protocol":7}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := otherTeam(t, test.protocol, test.says)
			begin := time.Now()
			_, err := Dial(t.Context(), p)
			if !errors.Is(err, ErrOtherVersion) ||
				err.Error() != "team crew: running with covey 0.1.0; covey down, then covey up" {
				t.Errorf("Dial = %v", err)
			}
			// What is meant is two seconds; a busy machine may add to it. Without a limit of its
			// own the wait would have no end.
			if d := time.Since(begin); d > patience {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// oldTeam is a real bus of a time before versions, which answers one kind of request.
func oldTeam(t *testing.T, opts bus.Options, protocol int) state.Place {
	t.Helper()
	p := endedTeam(t)
	r := state.NewRunFile(p, runBegan, Protocol)
	r.Protocol, r.Version = protocol, "0.1.0"
	if err := r.Write(p); err != nil {
		t.Fatal(err)
	}
	b, err := bus.Embed(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	if err := b.Listen(p.Socket(), func(net.Conn) (bus.Identity, error) {
		return Identity(byOperator), nil
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

// Of a team of another version only the end can be asked for; one that does not answer
// that either is named, too.
func TestAskOtherVersions(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]bus.Options{
		"old": {}, "newer": {Protocol: Protocol + 1, Version: "9.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := oldTeam(t, opts, opts.Protocol)
			c, err := Dial(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for what, ask := range map[string]func() error{
				"status": func() error { _, err := c.Status(t.Context()); return err },
				"review": func() error { _, err := c.Review(t.Context(), ReviewRequest{}); return err },
				"attach": func() error { _, err := c.Attach(t.Context()); return err },
				"wake":   func() error { _, err := c.JournalWake(); return err },
				"down":   func() error { _, err := c.Down(t.Context(), "x"); return err },
			} {
				if err := ask(); !errors.Is(err, ErrOtherVersion) || !strings.Contains(err.Error(),
					"covey down, then covey up") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	b := bus.Options{}
	p := oldTeam(t, b, 0)
	c, err := Dial(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "running with covey 0.1.0") {
		t.Errorf("status: %v", err)
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
	// This team has no drafts, as those of older versions.
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
