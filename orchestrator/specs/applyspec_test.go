package specs_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// shown are the names in ps, with those of members that are gone in brackets.
func shown(l *teamtest.Living) string {
	l.T.Helper()
	st, err := l.Client.Status(l.T.Context())
	if err != nil {
		l.T.Fatal(err)
	}
	var names []string
	for _, m := range st.Members {
		if m.State == api.Ended {
			m.Name = "(" + m.Name + ")"
		}
		names = append(names, m.Name)
	}
	return strings.Join(names, " ")
}

// TestLivingMembers: members come, change and go while the team runs, and the others
// are left in peace.
func TestLivingMembers(t *testing.T) {
	t.Parallel()
	l := teamtest.NewLiving(t, map[string]string{"new.yaml": "steps: [{say: I am new., times: -1}]"})
	change, err := l.Rewrite(teamtest.LivingSpec + "  ana: {model: {provider: script, script: new.yaml}}\n" +
		"tasks: [{id: a, subject: Look around, owner: ana}]\n")
	if err != nil || len(change.Members) != 1 || change.Members[0].Change != events.MemberAdded ||
		!slices.Equal(change.Tasks, []string{"Look around"}) {
		t.Fatalf("change %+v, %v", change, err)
	}
	l.Lines.Wait(t, "ana's words", func(line events.Line) bool {
		return line.Member == "ana" && strings.Contains(string(line.Data), "I am new.")
	})
	if got := shown(l); got != "lead dev ana" {
		t.Errorf("members %s", got)
	}
	// dev changes; ana goes, and her task is nobody's.
	change, err = l.Rewrite(strings.Replace(teamtest.LivingSpec, "dev: {model: dev}", "dev: {model: dev, instructions: Be brief.}", 1))
	if err != nil || len(change.Members) != 2 {
		t.Fatalf("change %+v, %v", change, err)
	}
	l.Until("member_started", 4) // the lead, ana, and dev twice
	l.Lines.Wait(t, "the release", func(line events.Line) bool {
		return line.Type == "task" && strings.Contains(string(line.Data), `"owner":""`) && strings.Contains(string(line.Data), `"op":"updated"`) ||
			line.Type == "task" && strings.Contains(string(line.Data), `"op":"released"`)
	})
	testkit.Eventually(t, "ana's seat to be gone", func() bool { return shown(l) == "lead dev" }) // behind the release
	if _, err := l.Client.Send(t.Context(), api.Send{To: "dev", Text: "Hello?"}); err != nil {
		t.Error(err)
	}
	l.Lines.Wait(t, "dev's answer", func(line events.Line) bool { return line.Type == "turn_started" && line.Member == "dev" })
	if _, err := l.Client.Send(t.Context(), api.Send{To: "ana", Text: "Hello?"}); !errors.Is(err, api.ErrNoMember) {
		t.Errorf("a message to who has left: %v", err)
	}
	if n := count(l, "spec_changed"); n != 2 {
		t.Errorf("%d lines of changes", n)
	}
	l.Down()
}

// count counts the lines of a type.
func count(l *teamtest.Living, typ string) (n int) {
	for _, line := range l.Lines.All() {
		if line.Type == typ {
			n++
		}
	}
	return n
}

// TestLivingSettings: gates, schedules, goal and keep change, and count from then on.
func TestLivingSettings(t *testing.T) {
	t.Parallel()
	l := teamtest.NewLiving(t, nil)
	dry, err := l.Ask(api.ApplySpec{DryRun: true})
	if err != nil || !dry.Empty() || !dry.Running {
		t.Errorf("nothing was changed: %+v, %v", dry, err)
	}
	change, err := l.Rewrite(strings.Replace(teamtest.LivingSpec, "Ship it.", "Sail it.", 1) +
		"gates: {task: ['echo no luck >&2; exit 1']}\nschedules: [{name: n, cron: '@daily', to: lead, text: Hi.}]\n" +
		"tasks: [{id: a, subject: Try, wants: {role: nobody}}]\n")
	if err != nil || change.Goal != "Sail it." || !slices.Equal(change.Settings, []string{"gates", "schedules"}) {
		t.Fatalf("change %+v, %v", change, err)
	}
	done := tasks.Completed
	reply, err := l.Client.UpdateTask(t.Context(), api.TaskUpdate{ID: "1", Status: &done})
	if err != nil || len(reply.Refused) != 1 || !strings.Contains(reply.Refused[0], "no luck") {
		t.Errorf("the new gate: %+v, %v", reply, err)
	}
	st, err := l.Client.Status(t.Context())
	if err != nil || st.Goal != "Sail it." || len(st.Schedules) != 1 {
		t.Errorf("status %+v, %v", st, err)
	}
	// Without keep and schedules the team may end.
	force := api.TaskUpdate{ID: "1", Status: &done, Force: true}
	if _, err := l.Client.UpdateTask(t.Context(), force); err != nil {
		t.Error(err)
	}
	if _, err := l.Rewrite(strings.Replace(teamtest.LivingSpec, "keep: true", "keep: false", 1) + "tasks: [{id: a, subject: Try, wants: {role: nobody}}]\n"); err != nil {
		t.Fatal(err)
	}
	l.Want(l.End(), orchestrator.CodeDone, "all work is done")
}

// TestLivingBadEdits: an edit that cannot count changes nothing, and says why.
func TestLivingBadEdits(t *testing.T) {
	t.Parallel()
	l := teamtest.NewLiving(t, nil)
	for name, test := range map[string]struct{ spec, want string }{
		"a slip":     {teamtest.LivingSpec + "gaol: x\n", `unknown key "gaol"; write goal`},
		"no script":  {strings.Replace(teamtest.LivingSpec, "dev.yaml", "none.yaml", 1), "is not there"},
		"bad script": {strings.Replace(teamtest.LivingSpec, "dev.yaml", "team.yaml", 1), "team.yaml"},
		"a name":     {strings.Replace(teamtest.LivingSpec, "name: crew", "name: band", 1), "name (crew, now band) cannot change"},
		"settings":   {teamtest.LivingSpec + "settings: [none.json]\n", "is not there"},
	} {
		if change, err := l.Rewrite(test.spec); !errors.Is(err, configs.ErrSpec) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %+v, %v", name, change, err)
		}
	}
	testkit.Put(t, l.Dir, "team.yaml", teamtest.LivingSpec+"keep: true\n")
	if _, err := l.Ask(api.ApplySpec{}); !errors.Is(err, configs.ErrSpec) {
		t.Errorf("a key twice: %v", err)
	}
	testkit.Put(t, l.Dir, "team.yaml", strings.Replace(teamtest.LivingSpec, "keep: true", "keep: false", 1))
	if _, err := l.Ask(api.ApplySpec{Digest: "of something else"}); !errors.Is(err, configs.ErrSpec) ||
		!strings.Contains(err.Error(), "has changed since it was read") {
		t.Errorf("something that was not looked at: %v", err)
	}
	if count(l, "spec_changed") != 0 || shown(l) != "lead dev" {
		t.Errorf("something changed:\n%s", teamtest.Show(l.Lines.All()))
	}
	l.Down()
}

// TestLivingTogether: of many who change the spec at once each is served, one after
// another, while messages come in.
func TestLivingTogether(t *testing.T) {
	t.Parallel()
	l := teamtest.NewLiving(t, nil)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			if _, err := l.Client.Send(t.Context(), api.Send{To: "dev", Text: "Hello."}); err != nil {
				t.Error(err)
			}
			spec := teamtest.LivingSpec
			if i%2 == 0 {
				spec += "  ana: {model: dev}\n"
			}
			path := filepath.Join(l.Dir, "team.yaml")
			if err := os.WriteFile(path, []byte(spec), 0o644); err != nil {
				t.Error(err)
			}
			// Somebody else's edit may be there by now: then it is refused, or half written.
			if _, err := l.Ask(api.ApplySpec{}); err != nil && !errors.Is(err, configs.ErrSpec) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, err := l.Rewrite(teamtest.LivingSpec); err != nil {
		t.Fatal(err)
	}
	l.Down()
}

// TestLivingApprover: who joins a running team can be asked for approval at once.
func TestLivingApprover(t *testing.T) {
	t.Parallel()
	l := teamtest.NewLiving(t, map[string]string{
		"dev.yaml": `steps:
  - {say: Fine.}
  - {when: 'Make it|"approve":true', call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}], times: 2}
  - {say: I wait., times: -1}
`,
		"rev.yaml": `steps:
  - when: '"type":"approval_request"'
    call: [{tool: SendMessage, input: {to: dev, message: {type: approval_response, request_id: dev, approve: true}}}]
  - {say: Looked., times: -1}
`,
	})
	if _, err := l.Rewrite(teamtest.LivingSpec + "  rev: {model: {provider: script, script: rev.yaml}}\n" +
		"gates: {task: [{approve: rev}]}\ntasks: [{id: a, subject: Make it, owner: dev}]\n"); err != nil {
		t.Fatal(err)
	}
	l.Lines.Wait(t, "the task to be completed", func(line events.Line) bool {
		return line.Type == "task" && strings.Contains(string(line.Data), `"op":"completed"`)
	})
	var states []string
	for _, q := range teamtest.Of[requests.Request](l.Rig, "request") {
		states = append(states, string(q.State)+" by "+q.To)
	}
	if got := strings.Join(states, ", "); got != "open by rev, approved by rev" {
		t.Errorf("requests went %s", got)
	}
	l.Down()
}

// TestRetiredApproverIsNotWaitedFor: what a member was asked that the spec no longer has is
// as if it had not answered in time.
func TestRetiredApproverIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	l := teamtest.NewLiving(t, map[string]string{
		"dev.yaml": `steps:
  - {say: Fine.}
  - {when: Make it, call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {say: I wait., times: -1}
`,
		"rev.yaml": "steps: [{say: Looked., times: -1}]\n",
	})
	gated := teamtest.LivingSpec + "  rev: {model: {provider: script, script: rev.yaml}}\n" +
		"gates: {task: [{approve: rev}]}\ntasks: [{id: a, subject: Make it, owner: dev}]\n"
	if _, err := l.Rewrite(gated); err != nil {
		t.Fatal(err)
	}
	asked := func(state requests.State) func(events.Line) bool {
		return func(line events.Line) bool {
			return line.Type == "request" && strings.Contains(string(line.Data), `"state":"`+string(state)+`"`)
		}
	}
	l.Lines.Wait(t, "the question to rev", asked(requests.Open))
	if _, err := l.Rewrite(teamtest.LivingSpec + "tasks: [{id: a, subject: Make it, owner: dev}]\n"); err != nil {
		t.Fatal(err)
	}
	l.Lines.Wait(t, "its end", asked(requests.Expired))
	l.Down()
}

// TestLivingOwns: what a member may write is looked at from the moment on in which a
// running team is told so.
func TestLivingOwns(t *testing.T) {
	t.Parallel()
	worker := `steps:
  - {say: Fine.}
  - {when: Make it, call: [{tool: Bash, input: {command: "echo x >shared.txt"}}]}
  - {when: owns, say: I see., times: -1}
  - {say: Fine., times: -1}
`
	files := teamtest.GroveFiles("true", "true", "keep: true\n")
	files["team.yaml"] = strings.Replace(files["team.yaml"], "tasks: [{id: a, subject: A, owner: ana}, {id: b, subject: B, owner: ben}]\n", "", 1)
	files["ana.yaml"] = worker
	l := teamtest.LivingOn(teamtest.NewGrove(t, files).Rig)
	owning := strings.Replace(files["team.yaml"], "ana: {model: ana}", "ana: {model: ana, owns: [docs/**]}", 1)
	if _, err := l.Rewrite(owning + "tasks: [{id: a, subject: Make it, owner: ana}]\n"); err != nil {
		t.Fatal(err)
	}
	l.Lines.Wait(t, "the refusal", func(line events.Line) bool {
		return line.Type == "hook_feedback" && strings.Contains(string(line.Data), "shared.txt")
	})
	l.Down()
}

// TestLivingAllOrNothing: a spec whose new goal finds the lead's mailbox full leaves no task
// and no schedule behind, and is taken up whole once there is room.
func TestLivingAllOrNothing(t *testing.T) {
	t.Parallel()
	l := teamtest.NewLiving(t, map[string]string{"lead.yaml": "steps: [{say: Fine.}, {say: Slow., delay: 1h}]"})
	send := func() error {
		_, err := l.Client.Send(t.Context(), api.Send{To: "lead", Text: "Hello?"})
		return err
	}
	if err := send(); err != nil {
		t.Fatal(err)
	}
	l.Lines.Wait(t, "the lead to be busy", func(line events.Line) bool {
		return line.Type == "turn_started" && line.Member == "lead" && strings.Contains(string(line.Data), "Hello?")
	})
	var senders sync.WaitGroup
	for range 20 {
		senders.Go(func() {
			for send() == nil { // until the mailbox is full
			}
		})
	}
	senders.Wait()
	grown := strings.Replace(teamtest.LivingSpec, "Ship it.", "Sail it.", 1) +
		"tasks: [{id: a, subject: Look around}]\nschedules: [{name: nightly, cron: \"0 3 * * *\", task: {subject: Look at CI}}]\n"
	change, err := l.Rewrite(grown)
	if err == nil || !strings.Contains(err.Error(), "mailbox full") {
		t.Fatalf("taken up: %+v, %v", change, err)
	}
	st, err := l.Client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Schedules) != 0 || st.Tasks != (api.TaskCounts{}) || count(l, "spec_changed") != 0 {
		t.Errorf("left behind: schedules %+v, tasks %+v", st.Schedules, st.Tasks)
	}
	if change, err = l.Rewrite(strings.Replace(grown, "Sail it.", "Ship it.", 1)); err != nil || len(change.Tasks) != 1 {
		t.Errorf("without the goal: %+v, %v", change, err)
	}
	l.Stop(errors.New("enough"))
	l.End()
}
