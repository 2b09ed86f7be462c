package configs

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/testkit"
)

// TestPaths resolves what a spec may write for a file.
func TestPaths(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"spec/team.yaml": "", "spec/demo.yaml": "", "spec/sub/demo.yaml": "", "up.yaml": ""})
	if err := os.Symlink("demo.yaml", filepath.Join(dir, "spec/link.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "spec/broken.yaml")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"demo.yaml":                           "spec/demo.yaml",
		"./demo.yaml":                         "spec/demo.yaml",
		"sub/../demo.yaml":                    "spec/demo.yaml",
		"sub/demo.yaml":                       "spec/sub/demo.yaml",
		"../up.yaml":                          "up.yaml",
		"link.yaml":                           "spec/link.yaml", // a link is followed when it is read
		filepath.Join(dir, "up.yaml"):         "up.yaml",
		filepath.Join(dir, "spec/../up.yaml"): "up.yaml",
		"broken.yaml":                         "",
		"none.yaml":                           "",
		"sub":                                 "",
		"~/demo.yaml":                         "",
		"demo.yaml/":                          "spec/demo.yaml",
	} {
		team, err := Parse(filepath.Join(dir, "spec/team.yaml"),
			[]byte("covey: 1\nlead: {model: {provider: script, script: \""+path+"\"}}\n"))
		switch {
		case want == "" && err == nil:
			t.Errorf("%s is taken", path)
		case want != "" && err != nil:
			t.Errorf("%s: %v", path, err)
		case want != "" && team.Lead.Agent.Model.Script != filepath.Join(dir, want):
			t.Errorf("%s is %s, want %s", path, team.Lead.Agent.Model.Script, want)
		}
	}
}

// TestWorkspace resolves the team's folder.
func TestWorkspace(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"spec/demo.yaml": "", "work/x": "", "spec/inner/x": ""})
	if err := os.Symlink("work", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"": "spec", "workspace: .": "spec", "workspace: inner": "spec/inner", "workspace: ../work/": "work",
		"workspace: ../link": "link", "workspace: " + filepath.Join(dir, "work"): "work",
	} {
		team, err := Parse(filepath.Join(dir, "spec/team.yaml"),
			[]byte("covey: 1\n"+path+"\nlead: {model: {provider: script, script: demo.yaml}}\n"))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if team.Workspace != filepath.Join(dir, want) {
			t.Errorf("%s is %s, want %s", path, team.Workspace, want)
		}
	}
}

// TestDefaultWorkspaceMissing: the folder of a spec that is not there is
// reported, though the spec does not name it.
func TestDefaultWorkspaceMissing(t *testing.T) {
	_, err := Parse(filepath.Join(t.TempDir(), "none", "team.yaml"), []byte("covey: 1\nlead: x\n"))
	if err == nil || !strings.Contains(err.Error(), `team.yaml:1:1: the workspace "." is not there`) {
		t.Errorf("error %v", err)
	}
}

// TestRelativeName: relative names start at the current folder, and messages
// show them as they were given.
func TestRelativeName(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"sub/team.yaml": "covey: 1\nlead: {model: {provider: script, script: demo.yaml}}\n",
		"sub/demo.yaml": ""})
	t.Chdir(dir)
	team, err := Load("sub/team.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || !strings.HasSuffix(team.File, filepath.Join("sub", "team.yaml")) ||
		!filepath.IsAbs(team.File) || !strings.HasPrefix(team.Workspace, "/") && real == "" {
		t.Errorf("file %s, workspace %s, %v", team.File, team.Workspace, err)
	}
	if err := os.Remove("sub/demo.yaml"); err != nil {
		t.Fatal(err)
	}
	if _, err = Load("sub/team.yaml"); err == nil || !strings.HasPrefix(err.Error(), "sub/team.yaml:2:") {
		t.Errorf("error %v", err)
	}
}

// TestParallel parses in many goroutines at once: there is nothing that they
// share. It is for the race detector.
func TestParallel(t *testing.T) {
	dir := testkit.Files(t, everyKeyFiles())
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			text := everyKey
			if i%2 == 1 {
				text = strings.Replace(everyKey, "coder", "codr", 1)
			}
			team, err := Parse(filepath.Join(dir, "team.yaml"), []byte(text))
			if (err == nil) != (i%2 == 0) {
				t.Errorf("error %v", err)
			}
			if team != nil {
				team.Sources()
			}
		})
	}
	wg.Wait()
}

// TestMembersIsACopy: a caller that sorts the members does not change the team.
func TestMembersIsACopy(t *testing.T) {
	team := mustParse(t, head+"lead: coder\nteammates: {a: coder, b: coder}\n")
	members := team.Members()
	members[0], members[1], members[2] = Member{}, Member{}, Member{}
	if team.Lead.Name != "lead" || team.Teammates[0].Name != "a" || team.Teammates[1].Name != "b" {
		t.Errorf("team %+v", team)
	}
}

// unknownKey returns the message about a key that the table does not have.
func unknownKey(t *testing.T, fields []yaml.Field, key string) string {
	t.Helper()
	d := yaml.NewDecoder("t.yaml", []byte(key+": 1\n"))
	d.Object(nil, d.Root, fields)
	if len(d.Problems) == 0 {
		t.Fatalf("%s is a key", key)
	}
	return d.Problems[0].Message
}

// TestSynonyms: each word of another tool leads to a key of this one, in the
// tables where that key is.
func TestSynonyms(t *testing.T) {
	var member memberSpec
	var task taskSpec
	var team teamSpec
	var gate gateSpec
	for _, test := range []struct {
		fields     []yaml.Field
		word, want string
	}{
		{team.fields(), "agent_team", "the keys here are"}, {team.fields(), "members", "write teammates"},
		{team.fields(), "workers", "write teammates"}, {team.fields(), "crew", "write teammates"},
		{team.fields(), "manager", "write lead"}, {team.fields(), "main", "write lead"},
		{team.fields(), "version", "write covey"}, {team.fields(), "prompt", "write goal"},
		{team.fields(), "role", "write goal"}, {team.fields(), "cwd", "write workspace"},
		{team.fields(), "directory", "write workspace"}, {team.fields(), "root", "write workspace"},
		{member.fields(), "systemPrompt", "write instructions"}, {member.fields(), "system_prompt", "write instructions"},
		{member.fields(), "backstory", "write instructions"},
		{member.fields(), "mode", "write permission_mode"}, {member.fields(), "permissionMode", "write permission_mode"},
		{task.fields(), "dependencies", "write blocked_by"}, {task.fields(), "depends_on", "write blocked_by"},
		{task.fields(), "needs", "write blocked_by"}, {task.fields(), "blockedBy", "write blocked_by"},
		{task.fields(), "title", "write subject"}, {task.fields(), "assignee", "write owner"},
		{gate.fields(), "command", "write run"}, {gate.fields(), "cmd", "write run"}, {gate.fields(), "title", "the keys here are"},
	} {
		if got := unknownKey(t, test.fields, test.word); !strings.Contains(got, "; "+test.want) {
			t.Errorf("%s gives %q, want %q", test.word, got, test.want)
		}
	}
}

// TestKeysOneLevelTooHigh: a key that belongs to a mapping below is sent there.
func TestKeysOneLevelTooHigh(t *testing.T) {
	var member memberSpec
	var team teamSpec
	for _, test := range []struct {
		fields    []yaml.Field
		key, want string
	}{
		{member.fields(), "max_turns", "belongs under limits"}, {member.fields(), "stop_block_cap", "belongs under limits"},
		{member.fields(), "deny", "belongs under permissions"}, {member.fields(), "nothing", "the keys here are"},
		{team.fields(), "idle", "belongs under gates"}, {team.fields(), "limits", "belongs under defaults; write defaults: {limits: …}"},
	} {
		if got := unknownKey(t, test.fields, test.key); !strings.Contains(got, test.want) {
			t.Errorf("%s gives %q, want %q", test.key, got, test.want)
		}
	}
}
