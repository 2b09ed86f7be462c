package teamhooks_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// leave writes a file below dir, with the folders that it needs.
func leave(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(path)
}

// TestManagedSettings: a settings file that the spec lists switches the spec's
// hooks off, and neither the administrator's nor gates.
func TestManagedSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leave(t, dir, "off.json", `{"disableAllHooks": true}`)
	managed := leave(t, dir, "etc/managed-settings.json", `{"permissions": {"deny": ["Bash(curl *)"]},
		"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch managed-ran"}]}]}}`)
	spec := teamtest.GivenSpec + `workspace: .
settings: [off.json]
hooks: {Stop: [{hooks: [{type: command, command: touch spec-ran}]}]}
gates: {stop: [touch gate-ran]}
`
	o, log, err := teamtest.NewGiven(t, dir, spec, orchestrator.Options{ManagedFolders: []string{managed, filepath.Join(dir, "none")},
		Agents: map[string]orchestrator.AgentMaker{"boss": teamtest.MakerOf(teamtest.Quiet), "dev": teamtest.MakerOf(teamtest.Quiet)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"managed-ran": true, "gate-ran": true, "spec-ran": false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}
	if text := teamtest.Show(log.All()); !strings.Contains(text, "disableAllHooks in "+filepath.Join(dir, "off.json")) {
		t.Errorf("nobody is told that hooks are off:\n%s", text)
	}
}

// TestManagedSettingsBroken: a team does not start as if an administrator had
// said nothing.
func TestManagedSettingsBroken(t *testing.T) {
	t.Parallel()
	managed := leave(t, t.TempDir(), "etc/managed-settings.json", `{"hooks": `)
	_, _, err := teamtest.NewGiven(t, t.TempDir(), teamtest.GivenSpec, orchestrator.Options{ManagedFolders: []string{managed},
		Agents: map[string]orchestrator.AgentMaker{"boss": teamtest.MakerOf(teamtest.Quiet), "dev": teamtest.MakerOf(teamtest.Quiet)}})
	if !errors.Is(err, settings.ErrManaged) || errors.Is(err, configs.ErrSpec) {
		t.Errorf("error %v", err)
	}
}
