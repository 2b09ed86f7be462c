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
	"github.com/coveyteam/covey/teammate/program"
)

// probe asks the fake program, in one life of it, what it is.
func probe(t *testing.T, l life, limit time.Duration) (About, error) {
	t.Helper()
	script, err := json.Marshal(play{Lives: []life{l}})
	if err != nil {
		t.Fatal(err)
	}
	return Probe(context.Background(), Options{
		Timeouts: Timeouts{Start: limit},
		Options: program.Options{
			Command: []string{os.Args[0]}, Dir: t.TempDir(),
			Env: []string{"ACP_FAKE=" + string(script), "ACP_FAKE_DIR=" + t.TempDir()},
		},
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

// TestAuthenticate: covey logs in by variables which are set, else in the one way in which the program
// does it by itself, and never where a terminal or a person's choice is needed.
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
		"the program's own way":  {`[{"id":"tty","type":"terminal"},{"id":"key","name":"Log in"}]`, false},
		"the same by its name":   {`[{"id":"none","type":"env_var","vars":[{"name":"ACP_NONE"}]},{"id":"key","type":"agent"}]`, false},
		"two own ways":           {`[{"id":"key"},{"id":"web","type":"agent"}]`, true},
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

// TestAuthenticateWaits: a login for which the program waits for a person is given up as a missing login, and
// only a program that wants a login is told to log in.
func TestAuthenticateWaits(t *testing.T) {
	t.Parallel()
	ways := `{"protocolVersion":1,"authMethods":[{"id":"web","name":"Log in"}]}`
	over := make(chan time.Time)
	close(over)
	for name, tc := range map[string]struct {
		on    mapped
		fails bool
	}{
		"it waits":            {mapped{"session/new": {"need web"}, "authenticate": {"cancelled"}}, true},
		"it refuses":          {mapped{"session/new": {"need web"}, "authenticate": {`error {"code":-32601,"message":"no"}`}}, true},
		"it wants no login":   {mapped{"authenticate": {"die"}}, false},
		"another error is it": {mapped{"session/new": {`error {"code":-32603,"message":"no"}`}, "authenticate": {"die"}}, true},
	} {
		script, err := json.Marshal(play{Lives: []life{{Init: ways, On: tc.on}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Probe(context.Background(), Options{
			Timeouts: Timeouts{Start: time.Minute},
			After:    func(d time.Duration) <-chan time.Time { return over },
			Options: program.Options{
				Command: []string{os.Args[0]}, Dir: t.TempDir(),
				Env: []string{"ACP_FAKE=" + string(script), "ACP_FAKE_DIR=" + t.TempDir()},
			},
		})
		if login := errors.As(err, new(*agent.LoginError)); (err != nil) != tc.fails || login != (tc.fails && tc.on["authenticate"][0] != "die") {
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
	if _, err := Probe(context.Background(), Options{Options: program.Options{Command: []string{"/no/such/program"},
		Dir: t.TempDir()}}); err == nil {
		t.Error("a program that is not there: no error")
	}
}
