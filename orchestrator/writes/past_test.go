package writes

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate/workspace"
)

// TestPastWrites: who could write when in runs that are over is read from the journal;
// what was under way when one of them was killed went on for a while, hooks did not.
func TestPastWrites(t *testing.T) {
	p := NewPast()
	p.began = time.Unix(2000, 0)
	line := func(sec int64, member, typ, data string) {
		p.See(events.Line{Time: time.Unix(sec, 0), Member: member, Type: typ, Data: json.RawMessage(data)}.Event())
	}
	line(10, "", "team_started", "{}")
	line(11, "dev", "turn_started", "{}")
	line(12, "dev", "tool_call", `{"id":"a","name":"Bash"}`)
	line(13, "dev", "hook_started", `{"tool_use_id":"t","command":"x"}`)
	line(14, "dev", "hook_finished", `{"tool_use_id":"t","command":"x"}`)
	line(15, "dev", "tool_result", `{"id":"a","name":"Bash"}`)
	line(16, "dev", "tool_call", `{"id":"r","name":"Read"}`)
	line(17, "dev", "tool_result", `{"id":"r","name":"Read"}`)
	line(18, "dev", "hook_started", `{"tool_use_id":"u","command":"owned-files"}`)
	line(19, "dev", "tool_call", `{"id":"b","name":"Bash"}`)
	line(20, "dev", "hook_started", `{"tool_use_id":"v","command":"x"}`)
	line(30, "", "team_started", "{}")
	line(31, "dev", "tool_call", `{"id":"c","name":"Write"}`)
	for kind, want := range map[configs.AgentKind]string{
		configs.Builtin: "[13 14] dev[12 15] dev[19 30] dev[31 61]",
		configs.ACP:     "[13 14] dev[11 30]",
	} {
		p.told = map[string]bool{}
		m := &members.Member{Member: &configs.Member{Name: "dev", Agent: configs.Agent{Kind: kind}}}
		var got []string
		for _, span := range p.of(m) {
			got = append(got, fmt.Sprintf("%s[%d %d]", span.Who, span.From.Unix(), span.To.Unix()))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
		if again := p.of(m); len(again) > 0 {
			t.Errorf("%s: told twice", kind)
		}
	}
}

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

// TestSharedWatches: who is looked at, and for what, follows from the spec as it is now.
func TestSharedWatches(t *testing.T) {
	team := &configs.Team{Lead: configs.Member{Name: "lead"}, Protect: []string{"law"}}
	if got := WithPolicy(team, nil); len(got) != 1 {
		t.Errorf("protect alone adds %d layers", len(got))
	}
	if got := WithPolicy(&configs.Team{Lead: configs.Member{Name: "lead"}}, nil); len(got) != 0 {
		t.Errorf("without owns and protect there are %d layers", len(got))
	}
	w := New(Deps{Team: func() *configs.Team { return team }, CopyOf: func(member string) (top string, inGit bool) {
		return map[string]string{"tree": "/t", "hook": "/h"}[member], member == "tree"
	}})
	sit := func(m configs.Member) *members.Member { return &members.Member{Member: &m} }
	free, tree := sit(configs.Member{Name: "free"}), sit(configs.Member{Name: "tree"})
	byHook := sit(configs.Member{Name: "hook", Owns: []string{"docs"}})
	if !w.watches(free) || w.watches(tree) || !w.watches(byHook) || !w.mayWrite(byHook, "docs/law") ||
		w.mayWrite(byHook, "law") {
		t.Error("somebody is looked at who need not be, or not who must")
	}
	if team.Protect = nil; w.watches(free) || !w.mayWrite(free, "law") {
		t.Error("a member that may write everywhere is looked at")
	}
	if e := (events.ToolCalled{}); writesAnything(e.Name) || !writesAnything("mcp__files__put") {
		t.Error("which tools write to files that they do not name is wrong")
	}
}
