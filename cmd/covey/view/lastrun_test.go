package view

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

func TestReadLastRun(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	teamtest.WriteJournal(t, place, teamtest.TwoRuns()...)
	run, err := ReadLastRun(place)
	if err != nil {
		t.Fatal(err)
	}
	all := run.Statuses()
	if len(all) != 2 || all[0].Name != "lead" || !all[0].Lead || all[1].Lead {
		t.Fatalf("members %+v", all)
	}
	count := accounts.HookCount{Event: "Stop", Command: "./x", Runs: 4, Refusals: 1, FailedOpen: 2, Why: "no verdict"}
	want := api.MemberStatus{
		Name: "ana", Agent: "builtin/script", State: api.NeedsAttention, Attention: "8 refusals", Turn: 2,
		Counts: accounts.Counts{Turns: 1, Refusals: 1, Tokens: 1200}, FailedOpen: 2, Hooks: []accounts.HookCount{count},
	}
	if got := all[1]; !reflect.DeepEqual(got, want) {
		t.Errorf("ana is %+v, want %+v", got, want)
	}
	if got := run.Hooks().Of("Stop", "./x"); got != count {
		t.Errorf("hook %+v, want %+v", got, count)
	}
	if n := run.Hooks().FailedOpen(); n != 2 {
		t.Errorf("%d failed open, want 2: those of the last run", n)
	}
}

// TestReadLastRunCounts: a stopped team's counts are those that the running team had. A
// helper's turns are part of its member's, its refusals count; a model that a hook asked
// costs tokens; a task counts for its owner, whoever completed it.
func TestReadLastRunCounts(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	helper := func(kind, data string) events.Line {
		l := teamtest.Line(0, "ana", kind, data)
		l.Helper = "search"
		return l
	}
	teamtest.WriteJournal(t, place, append(teamtest.TwoRuns(),
		helper("turn_started", `{"cause":"task"}`),
		helper("hook_feedback", `{"event":"SubagentStop","text":"no"}`),
		helper("turn_ended", `{"reason":"completed","usage":{"input_tokens":5000}}`),
		teamtest.Line(0, "ana", "hook_model", `{"event":"Stop","usage":{"input_tokens":30,"output_tokens":4}}`),
		teamtest.Line(0, "ana", "turn_ended", `{"reason":"completed","empty":true,"usage_unknown":true}`),
		teamtest.Line(0, "operator", "task", `{"op":"completed","by":"operator","task":{"id":"1","owner":"ana"}}`),
		teamtest.Line(0, "ana", "task", `{"op":"claimed","by":"ana","task":{"id":"2","owner":"ana"}}`))...)
	run, err := ReadLastRun(place)
	if err != nil {
		t.Fatal(err)
	}
	want := accounts.Counts{Turns: 1, Empty: 1, TasksDone: 1, Refusals: 2, Tokens: 1234, TokensUnknown: true}
	if got := run.Statuses()[1].Counts; got != want {
		t.Errorf("ana has done %+v, want %+v", got, want)
	}
	if n := run.StaffedRun().Turns; n.Turns != 1 || n.Empty != 1 || n.Completed != 1 {
		t.Errorf("the team has %+v", n)
	}
}

// TestReadLastRunWithNothingNew: a run that found nothing to do does not hide what the run
// before it did.
func TestReadLastRunWithNothingNew(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	teamtest.WriteJournal(t, place, append(teamtest.TwoRuns(),
		teamtest.Line(0, "", "team_started", `{"goal":"Ship","members":["lead","ana"],"resumed":true}`),
		teamtest.Line(0, "", "team_ended", `{"reason":"all work was done before; nothing is new","exit_code":0}`))...)
	run, err := ReadLastRun(place)
	if err != nil || len(run.Statuses()) != 2 {
		t.Fatalf("%+v, %v", run, err)
	}
	if ana := run.Statuses()[1]; ana.State != api.Resting || ana.Agent != "builtin/script" || ana.Turns != 1 {
		t.Errorf("ana is %+v", ana)
	}
}

// TestReadLastRunThatIsDone: a team that was done has nobody who needs attention, however
// the trouble came to an end.
func TestReadLastRunThatIsDone(t *testing.T) {
	teamtest.StateHome(t)
	for code, want := range map[string]api.MemberState{"0": api.Resting, "1": api.NeedsAttention} {
		place := teamtest.Place(t, "crew"+code)
		end := teamtest.Line(0, "", "team_ended", `{"reason":"over","exit_code":`+code+`}`)
		teamtest.WriteJournal(t, place, append(teamtest.TwoRuns(), end)...)
		run, err := ReadLastRun(place)
		if err != nil {
			t.Fatal(err)
		}
		if ana := run.Statuses()[1]; ana.State != want || (ana.Attention == "") != (code == "0") {
			t.Errorf("after code %s ana is %+v", code, ana)
		}
	}
}

// TestReadLastRunOfDamage: damaged and torn lines cost only themselves, and a
// team without a journal has an empty run.
func TestReadLastRunOfDamage(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	if run, err := ReadLastRun(place); err != nil || len(run.Statuses()) != 0 {
		t.Errorf("no journal: %+v, %v", run, err)
	}
	teamtest.WriteJournal(t, place, teamtest.TwoRuns()...)
	data, err := os.ReadFile(place.Journal())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), `{"seq":11,`, `{"seq":oops,`, 1) + `{"seq":99,"ti`
	if err := os.WriteFile(place.Journal(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := ReadLastRun(place)
	if err != nil {
		t.Fatal(err)
	}
	if got := run.Hooks().Of("Stop", "./x"); got.Runs != 3 {
		t.Errorf("hook %+v, want the damaged line left out", got)
	}
}

// TestCountHooks fills counts in for hooks that ran, and for no others.
func TestCountHooks(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	teamtest.WriteJournal(t, place, teamtest.TwoRuns()...)
	infos := []api.Hook{
		{Event: "Stop", Command: "./x"}, {Event: "Stop", Command: "./y"}, {Event: "TeammateIdle", Command: "./x"},
	}
	run, err := ReadLastRun(place)
	if err != nil {
		t.Fatal(err)
	}
	api.SetHookCounts(infos, run.Hooks())
	if infos[0].Runs != 4 || infos[0].Refusals != 1 || infos[0].FailedOpen != 2 || infos[1].Runs+infos[2].Runs != 0 {
		t.Errorf("%+v", infos)
	}
}
