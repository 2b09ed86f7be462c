package acpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/trust"
)

// served is a session of a team that is trusted and has never run.
func served(t *testing.T) (*server, *session) {
	t.Helper()
	teamtest.StateHome(t)
	dir := teamtest.ScriptTeam(t)
	team, err := configs.Load(filepath.Join(dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	report, err := trust.Check(t.Context(), team)
	if err == nil {
		err = trust.Remember(t.Context(), team, report)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(cli.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}, "devel"), options{})
	opened, err := s.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	one, err := s.session(opened.SessionId)
	if err != nil {
		t.Fatal(err)
	}
	return s, one
}

// TestRefusals: what the spec, the team or the prompt does not allow is told in the message of
// the error, and nothing starts.
func TestRefusals(t *testing.T) {
	s, one := served(t)
	s.patience = time.Millisecond
	spec := one.opened().spec
	good, err := os.ReadFile(spec)
	if err != nil {
		t.Fatal(err)
	}
	prompt := func(text string) func() error {
		return func() error {
			_, err := s.Prompt(t.Context(), acp.PromptRequest{
				SessionId: one.id, Prompt: []acp.ContentBlock{acp.TextBlock(text)},
			})
			return err
		}
	}
	runs := func(run func(*testing.T, state.Place)) error { // somewhere else
		if err := one.place.Create(); err != nil {
			t.Fatal(err)
		}
		lock, err := state.LockTeam(one.place)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Release()
		run(t, one.place)
		defer os.Remove(one.place.RunFile())
		return prompt("Go.")()
	}
	sameVersion := func(t *testing.T, p state.Place) { teamtest.WriteRun(t, p, func(*state.RunFile) {}) }
	for _, tc := range []struct {
		name string
		more string // of the spec
		do   func() error
		want string
	}{
		{"no text", "", prompt(" \n"), "the prompt has no text"},
		{"a goal that is too long", "", prompt(strings.Repeat("x", maxGoal+1)), "put a long text into a file"},
		{"a team that runs", "", func() error { return runs(sameVersion) }, "nothing answers at its control socket"},
		{"another version", "", func() error { return runs(teamtest.OtherVersion) }, "running with covey 9.0.0; covey down, then covey up"},
		{"another spec", "description: [\n", prompt("Go."), "team.yaml:"},
		{"no trust any more", "gates: {stop: [echo fine]}\n", prompt("Go."), "is not trusted"},
		{"schedules", "schedules: [{name: x, every: 1h, task: {subject: x}}]\n", prompt("Go."), "schedules"},
	} {
		if err := os.WriteFile(spec, append(bytes.Clone(good), tc.more...), 0o600); err != nil {
			t.Fatal(err)
		}
		var refused *acp.RequestError
		if err := tc.do(); !errors.As(err, &refused) || !strings.Contains(refused.Message, tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	if _, err := os.Stat(one.place.Journal()); err == nil {
		t.Error("a team has run")
	}
}

// TestOnePromptAtATime: a second prompt is refused and does not end the first, a cancel without a
// prompt does nothing, and a server that ends takes no prompt.
func TestOnePromptAtATime(t *testing.T) {
	s, one := served(t)
	if err := s.Cancel(t.Context(), acp.CancelNotification{SessionId: one.id}); err != nil {
		t.Error(err)
	}
	library, second := context.WithCancel(t.Context())
	ctx, err := one.begin(library)
	if err != nil {
		t.Fatal(err)
	}
	second() // as the library does for a second prompt
	if _, err := one.begin(t.Context()); err == nil || ctx.Err() != nil {
		t.Errorf("the second prompt: %v, the first: %v", err, ctx.Err())
	}
	if err := s.Cancel(t.Context(), acp.CancelNotification{SessionId: one.id}); err != nil {
		t.Error(err)
	}
	if context.Cause(ctx) != errCancelled {
		t.Errorf("cancelled: %v", context.Cause(ctx))
	}
	s.runs.Done()
	one.end()
	ctx, err = one.begin(t.Context())
	if err != nil {
		t.Fatalf("the next prompt: %v", err)
	}
	s.runs.Done()
	s.close()
	if context.Cause(ctx) != errLeft {
		t.Errorf("the client has left: %v", context.Cause(ctx))
	}
	one.end()
	if _, err := one.begin(t.Context()); !errors.Is(err, errLeft) {
		t.Errorf("a prompt after the end: %v", err)
	}
}

// TestCancelledAtTheStart: a prompt that is cancelled while it waits for its team to start has the
// reason cancelled.
func TestCancelledAtTheStart(t *testing.T) {
	s, one := served(t)
	if err := one.place.Create(); err != nil {
		t.Fatal(err)
	}
	lock, err := state.LockTeam(one.place)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	teamtest.WriteRun(t, one.place, func(*state.RunFile) {})
	s.patience = time.Hour
	ended := make(chan error)
	go func() {
		reason, err := one.prompt(context.WithoutCancel(t.Context()), "Go.")
		if reason != acp.StopReasonCancelled && err == nil {
			err = fmt.Errorf("it ends with %q", reason)
		}
		ended <- err
	}()
	for {
		if err := s.Cancel(t.Context(), acp.CancelNotification{SessionId: one.id}); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
			return
		case <-time.After(10 * time.Millisecond): // the prompt may begin only now
		}
	}
}

// TestLoadAgain: a session has the name of its team's state, so that another server knows it.
func TestLoadAgain(t *testing.T) {
	s, one := served(t)
	other := newServer(s.env, options{spec: one.opened().spec})
	if _, err := other.ResumeSession(t.Context(), acp.ResumeSessionRequest{SessionId: one.id, Cwd: "anywhere"}); err != nil {
		t.Error(err)
	}
	if _, err := other.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: "else", Cwd: "anywhere"}); err == nil ||
		!strings.Contains(err.Error(), "there is no session") {
		t.Errorf("another session: %v", err)
	}
}
