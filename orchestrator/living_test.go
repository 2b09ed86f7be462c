package orchestrator_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/tasks"
)

// grownSpec is livingSpec with another goal, one member more and a task for it. It does
// not stay up, so that a run ends when all is done.
var grownSpec = strings.NewReplacer("Ship it.", "Sail it.", "keep: true\n", "").Replace(teamtest.LivingSpec) +
	"  ana: {model: {provider: script, script: ana.yaml}}\n" +
	"tasks: [{id: a, subject: Look around, owner: ana}]\n"

// grownFiles are the files for livingSpec and grownSpec.
func grownFiles() map[string]string {
	return map[string]string{
		"team.yaml": teamtest.LivingSpec,
		"lead.yaml": "steps: [{say: Fine., times: -1}]",
		"dev.yaml":  "steps: [{say: Fine., times: -1}]",
		"ana.yaml": `steps:
  - {when: Look around, times: -1, call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {say: Fine., times: -1}
`,
	}
}

// takenUpOnce checks, after a run that was cut off while it took up grownSpec, that the
// next one has all of it, and nothing twice.
func takenUpOnce(t *testing.T, r *teamtest.Rig) {
	t.Helper()
	testkit.Put(t, r.Dir, "team.yaml", grownSpec)                             // the edit lies on disk, however far covey came with it
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work ") // all of it may have been done before
	list := r.List()
	if len(list) != 1 || list[0].Subject != "Look around" || list[0].Status != tasks.Completed || list[0].Owner != "ana" {
		t.Errorf("tasks %+v", list)
	}
	for _, goal := range []string{"Ship it.", "Sail it."} {
		if n := strings.Count(r.TranscriptOf("lead"), fmt.Sprintf(`"text":%q`, goal)); n != 1 {
			t.Errorf("the lead was given the goal %q %d times", goal, n)
		}
	}
}

// upToKill runs the team in a process of its own, asks it to take up grownSpec, and
// kills it once the journal has a line that match takes; nil: right after asking.
func upToKill(t *testing.T, r *teamtest.Rig, match func(line string) bool) {
	t.Helper()
	cmd := r.OwnProcess()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	in := bufio.NewScanner(out)
	for in.Scan() && !strings.HasSuffix(in.Text(), "lead turn_ended") {
	}
	place := r.Place()
	client, err := api.Dial(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Put(t, r.Dir, "team.yaml", grownSpec)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		defer client.Close()
		_, _ = client.ApplySpec(t.Context(), applySpecOf(t, r)) // it is cut off, or was just in time
	}()
	for match != nil && in.Scan() && !match(in.Text()) {
	}
	_ = cmd.Process.Kill()
	<-asked
}

// applySpecOf is what covey up asks after it has looked at the spec of a rig.
func applySpecOf(t *testing.T, r *teamtest.Rig) api.ApplySpec {
	path := filepath.Join(r.Dir, "team.yaml")
	team, err := configs.Load(path)
	if err != nil {
		t.Error(err)
		return api.ApplySpec{}
	}
	report, err := trust.Check(t.Context(), team)
	if err != nil {
		t.Error(err)
	}
	return api.ApplySpec{Spec: path, Digest: report.Digest()}
}

// TestLivingKilled: wherever kill -9 hits while a spec is taken up, the next run has
// all of it once.
func TestLivingKilled(t *testing.T) {
	t.Parallel()
	for name, match := range map[string]func(string) bool{
		"at once":      nil,
		"a task":       func(l string) bool { return strings.HasSuffix(l, " task") },
		"mail":         func(l string) bool { return strings.HasSuffix(l, " message") },
		"told":         func(l string) bool { return strings.HasSuffix(l, "spec_changed") },
		"a new member": func(l string) bool { return strings.HasSuffix(l, "ana member_started") },
	} {
		t.Run(name, func(t *testing.T) {
			r := teamtest.NewRig(t, grownFiles())
			upToKill(t, r, match)
			takenUpOnce(t, r)
		})
	}
}

// TestLivingCancelled: a run that is interrupted while it takes up a spec leaves
// nothing half done either; whoever asked is told, or was in time.
func TestLivingCancelled(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"", "task", "spec_changed"} {
		t.Run("at "+typ, func(t *testing.T) {
			l := teamtest.NewLiving(t, grownFiles())
			testkit.Put(t, l.Dir, "team.yaml", grownSpec)
			asked := make(chan error, 1)
			go func() {
				_, err := l.Client.ApplySpec(t.Context(), applySpecOf(t, l.Rig))
				asked <- err
			}()
			if typ != "" {
				l.Until(typ, 1)
			}
			l.Stop(errors.New("enough"))
			if e := l.End(); e.Code != orchestrator.CodeInterrupted && e.Code != orchestrator.CodeDone {
				t.Errorf("ending %+v", e)
			}
			if err := <-asked; err != nil && strings.TrimSpace(err.Error()) == "" {
				t.Errorf("who asked is told %q", err)
			}
			takenUpOnce(t, l.Rig)
		})
	}
}

// TestLivingBudget: a budget that is raised or lowered counts at once; one that is
// lower than what is used ends the team.
func TestLivingBudget(t *testing.T) {
	t.Parallel()
	lead := "usage: {input_tokens: 100}\nsteps: [{say: Fine., times: -1}]"
	l := teamtest.NewLiving(t, map[string]string{"lead.yaml": lead})
	limit := func() string {
		st, err := l.Client.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, u := range st.Budget {
			all = append(all, fmt.Sprintf("%s %v", u.What, u.Limit))
		}
		return strings.Join(all, ", ")
	}
	for _, test := range []struct{ budget, want string }{
		{"", ""}, {"budget: {tokens: 10k}\n", "tokens 10000"}, {"budget: {tokens: 1M, time: 1h}\n", "tokens 1e+06, time 3600"},
		{"budget: {time: 2h}\n", "time 7200"}, {"", ""},
	} {
		if _, err := l.Rewrite(teamtest.LivingSpec + test.budget); err != nil {
			t.Fatal(err)
		}
		if got := limit(); got != test.want {
			t.Errorf("%q: the budget is %q, want %q", test.budget, got, test.want)
		}
	}
	if _, err := l.Rewrite(teamtest.LivingSpec + "budget: {tokens: 50}\n"); err != nil {
		t.Fatal(err)
	}
	l.Want(l.End(), orchestrator.CodeLimit, "budget.tokens is used up: 100 of 50 tokens")
}

// TestLivingLimit: a member that has used up its limit goes on once the limit is
// raised, in the same run.
func TestLivingLimit(t *testing.T) {
	t.Parallel()
	l := &teamtest.Living{Underway: teamtest.Start(teamtest.NewRig(t, teamtest.Toilers("keep: true\n", ", limits: {max_tokens: 1000}", "dev")), &teamtest.HandClock{})}
	l.Lines.Wait(t, "dev's end", func(line events.Line) bool { return line.Type == "needs_attention" && line.Member == "dev" })
	l.Client = l.Underway.Client()
	text, err := os.ReadFile(filepath.Join(l.Dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	change, err := l.Rewrite(strings.Replace(string(text), "max_tokens: 1000", "max_tokens: 100000", 1))
	if err != nil || len(change.Members) != 1 || strings.Join(change.Members[0].Keys, " ") != "limits" {
		t.Fatalf("change %+v, %v", change, err)
	}
	l.Lines.Wait(t, "the task's end", func(line events.Line) bool {
		return line.Type == "task" && strings.Contains(string(line.Data), `"op":"completed"`)
	})
	l.Down()
}
