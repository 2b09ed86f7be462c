package acp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// probe asks the fake program, in one life of it, what it is.
func probe(t *testing.T, l life, limit time.Duration) (About, error) {
	t.Helper()
	script, err := json.Marshal(play{Lives: []life{l}})
	if err != nil {
		t.Fatal(err)
	}
	return Probe(context.Background(), Options{
		Command: []string{os.Args[0]}, Dir: t.TempDir(), Timeouts: Timeouts{Start: limit},
		Env: []string{"ACP_FAKE=" + string(script), "ACP_FAKE_DIR=" + t.TempDir()},
	})
}

// TestProbe reads what a program tells of itself.
func TestProbe(t *testing.T) {
	t.Parallel()
	about, err := probe(t, life{
		Init: `{"protocolVersion":1,"agentInfo":{"name":"x","version":"1.2"},` +
			`"agentCapabilities":{"loadSession":true,"mcpCapabilities":{"http":true}},` +
			`"_meta":{"steering":{"supported":true}},"authMethods":[{"id":"a","name":"Log in"}]}`,
	}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if about.Name != "x" || about.Version != "1.2" || !about.HTTP || !about.Load || about.Resume || !about.Steer ||
		len(about.Auth) != 1 || about.Auth[0] != "Log in" {
		t.Errorf("read %+v", about)
	}
}

// TestAuthenticate: covey logs in by a method that needs only variables which are set, and by no other.
func TestAuthenticate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		methods string
		fails   bool
	}{
		"variables that are set": {`[{"id":"web"},{"id":"key","type":"env_var","vars":[{"name":"ACP_FAKE"},{"name":"NONE","optional":true}]}]`, false},
		"one that is not":        {`[{"id":"key","type":"env_var","vars":[{"name":"ACP_FAKE"},{"name":"ACP_NONE"}]}]`, true},
		"no variables":           {`[{"id":"key","type":"env_var"}]`, true},
		"a terminal":             {`[{"id":"key","type":"terminal","vars":[{"name":"ACP_FAKE"}]}]`, true},
		"a program's own way":    {`[{"id":"key","name":"Log in"}]`, true},
		"another login":          {`[{"id":"other","type":"env_var","vars":[{"name":"ACP_FAKE"}]}]`, true},
	} {
		_, err := probe(t, life{Init: `{"protocolVersion":1,"authMethods":` + tc.methods + `}`,
			On: mapped{"session/new": {"need key"}}}, time.Minute)
		var login *agent.LoginError
		if tc.fails != errors.As(err, &login) || !tc.fails && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestProbeFailures: what is wrong with a program is told, with what it has
// said before. TestMain looks for goroutines that are left.
func TestProbeFailures(t *testing.T) {
	t.Parallel()
	about, err := probe(t, life{
		Init: `{"protocolVersion":1,"agentInfo":{"version":"3"}}`,
		On:   mapped{"session/new": {`error {"code":-32000,"message":"log in first"}`}},
	}, time.Minute)
	var login *agent.LoginError
	if !errors.As(err, &login) || !strings.Contains(login.Hint, "log in first") || about.Version != "3" {
		t.Errorf("a program that is logged out: %+v, %v", about, err)
	}
	for name, tc := range map[string]struct {
		life  life
		limit time.Duration
		want  string
	}{
		"ends": {life{Before: []string{"die"}}, time.Minute, "dying as told"},
		"hangs": {life{On: mapped{"session/new": {"hang"}}}, time.Second,
			"did not open a session within 1s"},
		"hangs for ever": {life{Deaf: true, On: mapped{"initialize": {"hang"}}}, time.Second, "within 1s"},
		"other protocol": {life{Init: `{"protocolVersion":2}`}, time.Minute, "speaks version 2"},
		"no session":     {life{On: mapped{"session/new": {`answer {}`}}}, time.Minute, "no session id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := probe(t, tc.life, tc.limit); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := Probe(context.Background(), Options{Command: []string{"/no/such/program"},
		Dir: t.TempDir()}); err == nil {
		t.Error("a program that is not there: no error")
	}
}
