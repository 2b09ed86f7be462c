package orchestrator_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestSessionReasons: what SessionStart and SessionEnd hooks read of a member's session when
// its settings change, when it leaves the team and comes back, and when its conversation is
// taken away between two runs.
func TestSessionReasons(t *testing.T) {
	t.Parallel()
	const hooks = `hooks:
  SessionStart: [{hooks: [{type: command, command: "cat >>sessions"}]}]
  SessionEnd: [{hooks: [{type: command, command: "cat >>sessions"}]}]
`
	base := teamtest.LivingSpec + hooks
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": base, "lead.yaml": "steps: [{say: Fine., times: -1}]", "dev.yaml": "steps: [{say: Fine., times: -1}]",
	})
	l := teamtest.LivingOn(r)
	lives := 0
	begins := func() {
		t.Helper()
		lives++
		seen := map[uint64]bool{}
		l.Lines.Wait(t, "another life of dev", func(line events.Line) bool {
			if line.Type == "member_started" && line.Member == "dev" {
				seen[line.Seq] = true
			}
			return len(seen) == lives
		})
	}
	begins()
	alone, _, _ := strings.Cut(teamtest.LivingSpec, "teammates:")
	for _, step := range []struct {
		spec  string
		comes bool
	}{
		{strings.Replace(base, "{model: dev}", "{model: dev, description: other}", 1), true}, {alone + hooks, false}, {base, true},
	} {
		if _, err := l.Rewrite(step.spec); err != nil {
			t.Fatal(err)
		}
		if step.comes {
			begins()
		} else {
			l.Lines.Wait(t, "the farewell", func(line events.Line) bool {
				return strings.Contains(string(line.Data), "Teammate dev has left the team")
			})
		}
	}
	testkit.Eventually(t, "dev's third session", func() bool { return sessionsOf(r, "dev") == "startup -resume resume -other resume" })
	l.Stop(nil)
	<-l.Ending
	<-l.Failed
	for _, path := range teamtest.GlobAll(t, r.Place().Transcripts()) {
		if filepath.Base(filepath.Dir(path)) == "dev" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	testkit.Put(t, r.Dir, "team.yaml", strings.Replace(base, "keep: true\n", "", 1))
	r.Run(orchestrator.Options{})
	want := "startup -resume resume -other resume -other clear -other"
	if got := sessionsOf(r, "dev"); got != want {
		t.Errorf("dev's sessions: %s\nwant %s", got, want)
	}
	if got := sessionsOf(r, "lead"); got != "startup -other resume -other" {
		t.Errorf("the lead's sessions: %s", got)
	}
}

// sessionsOf are the sources and, after a dash, the reasons that hooks have read of a member.
func sessionsOf(r *teamtest.Rig, member string) string {
	r.T.Helper()
	data, err := os.ReadFile(filepath.Join(r.Dir, "sessions"))
	if err != nil {
		r.T.Fatal(err)
	}
	var all []string
	for text := range strings.Lines(string(data)) {
		var in struct {
			Event  string `json:"hook_event_name"`
			Agent  string `json:"agent_type"`
			Source string
			Reason string
		}
		if err := json.Unmarshal([]byte(text), &in); err != nil {
			r.T.Fatal(errors.Join(err, errors.New(text)))
		}
		if in.Agent != strings.TrimPrefix(member, "lead") {
			continue
		}
		if in.Event == "SessionEnd" {
			in.Source = "-" + in.Reason
		}
		all = append(all, in.Source)
	}
	return strings.Join(all, " ")
}
