package inbox

import (
	"errors"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
)

// TestModesOfAPolicy: not even a person gives a member a mode that a policy does not allow.
func TestModesOfAPolicy(t *testing.T) {
	m := &members.Member{Member: &configs.Member{Name: "ana", PermissionMode: configs.Default, Modes: []configs.PermissionMode{configs.Default, configs.AcceptEdits}}}
	for mode, want := range map[configs.PermissionMode]error{
		configs.AcceptEdits: nil, configs.BypassPermissions: tasks.ErrInvalid, configs.Plan: tasks.ErrInvalid, "x": tasks.ErrInvalid,
	} {
		if err := MayHaveMode(true, m, string(mode)); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v, want %v", mode, err, want)
		}
	}
	if err := MayHaveMode(false, m, string(configs.AcceptEdits)); !errors.Is(err, tasks.ErrNotAsked) {
		t.Errorf("by its lead: %v", err)
	}
	if m.Modes = nil; MayHaveMode(true, m, string(configs.BypassPermissions)) != nil {
		t.Error("no policy, and a person gives a mode")
	}
}
