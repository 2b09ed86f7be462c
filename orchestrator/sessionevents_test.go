package orchestrator

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/testkit"
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
	base := livingSpec + hooks
	r := newRig(t, map[string]string{
		"team.yaml": base, "lead.yaml": "steps: [{say: Fine., times: -1}]", "dev.yaml": "steps: [{say: Fine., times: -1}]",
	})
	l := livingOn(r)
	lives := 0
	begins := func() {
		t.Helper()
		lives++
		seen := map[uint64]bool{}
		l.lines.Wait(t, "another life of dev", func(line events.Line) bool {
			if line.Type == "member_started" && line.Member == "dev" {
				seen[line.Seq] = true
			}
			return len(seen) == lives
		})
	}
	begins()
	alone, _, _ := strings.Cut(livingSpec, "teammates:")
	for _, step := range []struct {
		spec  string
		comes bool
	}{
		{strings.Replace(base, "{model: dev}", "{model: dev, description: other}", 1), true}, {alone + hooks, false}, {base, true},
	} {
		if _, err := l.rewrite(step.spec); err != nil {
			t.Fatal(err)
		}
		if step.comes {
			begins()
		} else {
			l.lines.Wait(t, "the farewell", func(line events.Line) bool {
				return strings.Contains(string(line.Data), "Teammate dev has left the team")
			})
		}
	}
	testkit.Eventually(t, "dev's third session", func() bool { return r.sessionsOf("dev") == "startup -resume resume -other resume" })
	l.stop(nil)
	<-l.ending
	<-l.failed
	for _, path := range globAll(t, r.place().Transcripts()) {
		if filepath.Base(filepath.Dir(path)) == "dev" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	testkit.Put(t, r.dir, "team.yaml", strings.Replace(base, "keep: true\n", "", 1))
	r.run(Options{})
	want := "startup -resume resume -other resume -other clear -other"
	if got := r.sessionsOf("dev"); got != want {
		t.Errorf("dev's sessions: %s\nwant %s", got, want)
	}
	if got := r.sessionsOf("lead"); got != "startup -other resume -other" {
		t.Errorf("the lead's sessions: %s", got)
	}
}

// sessionsOf are the sources and, after a dash, the reasons that hooks have read of a member.
func (r *rig) sessionsOf(member string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "sessions"))
	if err != nil {
		r.t.Fatal(err)
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
			r.t.Fatal(errors.Join(err, errors.New(text)))
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
