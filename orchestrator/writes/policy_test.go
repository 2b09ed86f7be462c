package writes

import (
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate/workspace"
)

// TestWritable: a member with a working copy writes there and in the folders of the spec, also through links, and
// never in the folder with the states of teams.
func TestWritable(t *testing.T) {
	dir := workspace.Real(t.TempDir())
	top, listed, home := filepath.Join(dir, "copy"), filepath.Join(dir, "notes"), filepath.Join(dir, "notes", "state")
	team := &configs.Team{Lead: configs.Member{Name: "lead"}}
	member := &members.Member{Member: &configs.Member{Name: "ana", Owns: []string{"docs/**"}, Sandbox: configs.Sandbox{Write: []string{listed}}}, Dir: filepath.Join(top, "sub")}
	w := New(Deps{Home: home, Team: func() *configs.Team { return team }, CopyOf: func(member string) (string, bool) {
		return map[string]string{"ana": top}[member], true
	}})
	may := w.Writable(member)
	for path, want := range map[string]string{
		"copy/sub/docs/a": "", "copy/x": "", "copy/sub/a": "owns", "notes/a": "", "a": "sandbox.write", "notes2/a": "sandbox.write",
		"notes/state/trust.json": "sandbox.write",
	} {
		if got := may(filepath.Join(dir, path)); got.Rule != want || got.Outside != (want == "sandbox.write") {
			t.Errorf("%s: %+v", path, got)
		}
	}
	member.Name = "ben" // without a copy
	if got := may(filepath.Join(dir, "a")); got.Text != "" {
		t.Errorf("of a shared workspace: %+v", got)
	}
}

// TestWithPolicy: the policy is asked where a member owns files, and nowhere else.
func TestWithPolicy(t *testing.T) {
	owner := configs.Member{Name: "ana", Owns: []string{"docs"}}
	for team, want := range map[*configs.Team]int{
		{Protect: []string{"law"}}:               0,
		{Lead: owner}:                            1,
		{Teammates: []configs.Member{owner, {}}}: 1,
	} {
		if got := WithPolicy(team, nil); len(got) != want {
			t.Errorf("%+v adds %d layers", team, len(got))
		}
	}
}
