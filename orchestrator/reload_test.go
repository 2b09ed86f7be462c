package orchestrator_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// stopHook is a settings file whose Stop hook runs a command.
func stopHook(command string) string {
	return fmt.Sprintf(`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": %q}]}]}}`, command)
}

// reloadSpec is a team that stays up, with settings in its workspace and beside it.
const reloadSpec = `covey: 1
name: crew
workspace: work
models: {demo: {provider: script, script: lead.yaml}}
lead: {model: demo, permission_mode: bypassPermissions}
settings: [work/inside.json, %s]
keep: true
`

// TestReloadRunning: a team that runs takes up a change of its settings for its
// next event and its next tool call, and what the workspace brings once it is
// trusted.
func TestReloadRunning(t *testing.T) {
	t.Parallel()
	away := t.TempDir()
	testkit.Put(t, away, "user.json", "{}")
	user := filepath.Join(away, "user.json")
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": fmt.Sprintf(reloadSpec, user), "work/inside.json": "{}",
		"lead.yaml": "steps:\n" +
			"  - {call: [{tool: Bash, input: {command: echo ran}}], times: -1, when: call}\n" +
			"  - {say: fine, times: -1}\n",
	})
	o := r.Orchestrator(orchestrator.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := o.Run(ctx)
		ended <- err
	}()
	defer func() {
		cancel()
		<-ended
	}()
	r.Lines.Wait(t, "the start", func(l events.Line) bool { return l.Type == "member_started" })
	client := dialUp(t, o.Place())
	testkit.Put(t, away, "user.json", `{"permissions": {"deny": ["Bash"]}, "hooks": {"Stop": [{"hooks": [
		{"type": "command", "command": "true one"}]}], "ConfigChange": [{"hooks": [{"type": "command", "command": "true two"}]}]}}`)
	r.Lines.Wait(t, "the change", func(l events.Line) bool {
		return l.Type == "warning" && strings.Contains(string(l.Data), "user.json has changed; it counts from now on")
	})
	if _, err := client.Send(ctx, api.Send{To: "lead", Text: "please call"}); err != nil {
		t.Fatal(err)
	}
	r.Lines.Wait(t, "the denial", func(l events.Line) bool {
		return l.Type == "tool_result" && strings.Contains(string(l.Data), "denied")
	})
	r.Lines.Wait(t, "the new hook", func(l events.Line) bool {
		return l.Type == "hook_finished" && strings.Contains(string(l.Data), "true one")
	})
	testkit.Put(t, r.Dir, "work/inside.json", stopHook("true three"))
	reply, err := client.Reload(ctx)
	if err != nil || len(reply.Kept) != 1 || !slices.Equal(reply.Applied, []string{user}) {
		t.Fatalf("%+v, %v", reply, err)
	}
	team, err := configs.Load(filepath.Join(r.Dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	teamtest.MustTrust(t, team)
	r.Lines.Wait(t, "the ConfigChange hook", func(l events.Line) bool {
		return l.Type == "hook_finished" && strings.Contains(string(l.Data), "true two")
	})
	if _, err := client.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Send(ctx, api.Send{To: "lead", Text: "go on"}); err != nil {
		t.Fatal(err)
	}
	r.Lines.Wait(t, "the trusted hook", func(l events.Line) bool {
		return l.Type == "hook_finished" && strings.Contains(string(l.Data), "true three")
	})
	infos, err := client.Hooks(ctx)
	if err != nil || !slices.ContainsFunc(infos, func(i api.Hook) bool { return i.Command == "true three" }) {
		t.Errorf("the team's hooks are %+v, %v", infos, err)
	}
}

// dialUp reaches a team that starts at this moment.
func dialUp(t *testing.T, place state.Place) *api.Client {
	t.Helper()
	deadline := time.Now().Add(testkit.Patience)
	for {
		client, err := api.Dial(t.Context(), place)
		if err == nil {
			t.Cleanup(func() { _ = client.Close() })
			return client
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
