package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// twoRuns are the lines of two runs of a team.
func twoRuns() []journal.Line {
	finished := func(outcome string) journal.Line {
		return lineAt(0, "ana", "hook_finished", `{"event":"Stop","command":"./x","outcome":"`+outcome+
			fmt.Sprintf(`","failed_open":%t}`, outcome == "cancelled" || outcome == "non_blocking_error"))
	}
	return []journal.Line{
		lineAt(0, "", "team_started", `{"goal":"Ship","members":["lead","old"]}`),
		lineAt(0, "old", "member_started", `{"agent":"builtin/script"}`),
		finished("non_blocking_error"),
		lineAt(0, "", "team_ended", `{"reason":"interrupted"}`),
		lineAt(0, "", "team_started", `{"goal":"Ship","members":["lead","ana"],"resumed":true}`),
		lineAt(0, "lead", "member_started", `{"agent":"builtin/script"}`),
		lineAt(0, "ana", "member_started", `{"agent":"builtin/script"}`),
		lineAt(0, "operator", "message", `{"to":"lead","text":"hi"}`),
		lineAt(0, "ana", "turn_started", `{"cause":"task"}`),
		finished("success"), finished("blocking"), finished("cancelled"), finished("non_blocking_error"),
		lineAt(0, "ana", "hook_feedback", `{"event":"Stop","text":"no"}`),
		lineAt(0, "ana", "turn_ended", `{"reason":"completed","usage":{"input_tokens":900,"output_tokens":120}}`),
		lineAt(0, "ana", "turn_ended", `{"reason":"completed","usage":{"input_tokens":100,"output_tokens":80}}`),
		lineAt(0, "ana", "needs_attention", `{"reason":"8 refusals"}`),
	}
}

func TestReadLastRun(t *testing.T) {
	stateHome(t)
	place := newPlace(t, "crew")
	writeJournal(t, place, twoRuns()...)
	run, err := readLastRun(place)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.members) != 2 || run.members[0].Name != "lead" || !run.members[0].Lead || run.members[1].Lead {
		t.Fatalf("members %+v", run.members)
	}
	want := orchestrator.MemberStatus{
		Name: "ana", Agent: "builtin/script", State: orchestrator.NeedsAttention, Attention: "8 refusals", Turn: 2,
		Turns: 1, Refusals: 1, Tokens: 1200,
	}
	if got := *run.members[1]; !reflect.DeepEqual(got, want) {
		t.Errorf("ana is %+v, want %+v", got, want)
	}
	count := orchestrator.HookCount{Event: "Stop", Command: "./x", Runs: 4, Refusals: 1, FailedOpen: 2, Why: "no verdict"}
	if got := run.hooksOfAll().Of("Stop", "./x"); got != count {
		t.Errorf("hook %+v, want %+v", got, count)
	}
	if n := run.hooksOfAll().FailedOpen(); n != 2 {
		t.Errorf("%d failed open, want 2: those of the last run", n)
	}
}

// TestReadLastRunOfDamage: damaged and torn lines cost only themselves, and a
// team without a journal has an empty run.
func TestReadLastRunOfDamage(t *testing.T) {
	stateHome(t)
	place := newPlace(t, "crew")
	if run, err := readLastRun(place); err != nil || len(run.members) != 0 {
		t.Errorf("no journal: %+v, %v", run, err)
	}
	writeJournal(t, place, twoRuns()...)
	data, err := os.ReadFile(place.Journal())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), `{"seq":11,`, `{"seq":oops,`, 1) + `{"seq":99,"ti`
	if err := os.WriteFile(place.Journal(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := readLastRun(place)
	if err != nil {
		t.Fatal(err)
	}
	if got := run.hooksOfAll().Of("Stop", "./x"); got.Runs != 3 {
		t.Errorf("hook %+v, want the damaged line left out", got)
	}
}

// TestCountHooks fills counts in for hooks that ran, and for no others.
func TestCountHooks(t *testing.T) {
	stateHome(t)
	place := newPlace(t, "crew")
	writeJournal(t, place, twoRuns()...)
	infos := []orchestrator.HookInfo{
		{Event: "Stop", Command: "./x"}, {Event: "Stop", Command: "./y"}, {Event: "TeammateIdle", Command: "./x"},
	}
	run, err := readLastRun(place)
	if err != nil {
		t.Fatal(err)
	}
	orchestrator.CountHooks(infos, run.hooksOfAll())
	if infos[0].Runs != 4 || infos[0].Refusals != 1 || infos[0].FailedOpen != 2 || infos[1].Runs+infos[2].Runs != 0 {
		t.Errorf("%+v", infos)
	}
}

// TestFilesStatus: a team that does not run is shown from run.json, journal and
// store.
func TestFilesStatus(t *testing.T) {
	stateHome(t)
	place := newPlace(t, "crew")
	if _, err := filesStatus(t.Context(), place); err == nil || !strings.Contains(err.Error(), "never came up") {
		t.Errorf("before the first run: %v", err)
	}
	started := time.Now().Add(-time.Minute)
	writeRun(t, place, func(r *orchestrator.RunFile) {
		r.Goal, r.Started = "Ship", started
		r.Result = &orchestrator.RunResult{Reason: "told to stop", ExitCode: 1, Ended: started.Add(30 * time.Second)}
	})
	writeJournal(t, place, twoRuns()...)
	fillStore(t, place)
	s, err := filesStatus(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	if s.Goal != "Ship" || s.PID != 0 || s.Elapsed != 30*time.Second || s.Result.ExitCode != 1 || s.FailOpen != 2 {
		t.Errorf("%+v", s)
	}
	if want := (orchestrator.TaskCounts{Pending: 2, InProgress: 1, Ready: 1, Blocked: 1}); s.Tasks != want {
		t.Errorf("tasks %+v, want %+v", s.Tasks, want)
	}
	if len(s.Members) != 2 || s.Members[1].Task != "1" || s.Members[1].Subject != "First" || s.Members[0].Unread != 1 {
		t.Errorf("members %+v", s.Members)
	}
}

// longText is more than the store keeps in its own file.
var longText = strings.Repeat("a long description ", 10_000)

// fillStore puts three tasks and a message into a team's store: one task in
// progress with ana, one blocked, one ready.
func fillStore(t *testing.T, place orchestrator.Place) {
	t.Helper()
	store, err := tasks.Open(place.Store(), &tasks.Options{BlobDir: place.Blobs()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, actor := t.Context(), actors.Actor{Name: "operator"}
	for _, name := range []string{"lead", "ana"} {
		if _, err := store.Members().Attach(ctx, name, func() string { return "11111111-1111-4111-8111-111111111111" }); err != nil {
			t.Fatal(err)
		}
	}
	list := []tasks.New{
		{Key: "1", Subject: "First"}, {Key: "2", Subject: "Second", BlockedBy: []string{"1"}},
		{Key: "3", Subject: "Third", Description: longText},
	}
	if _, err := store.Add(ctx, actor, list); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Claim(ctx, actor, "1", tasks.Claim{Member: "ana"}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Mail().Send(ctx, actor, mail.Outgoing{To: []string{"lead"}, Kind: mail.Text, Text: "hi"}); err != nil {
		t.Fatal(err)
	}
}

// TestReadTasksFromFiles: the list is there without a process, and a team that
// has never run says so.
func TestReadTasksFromFiles(t *testing.T) {
	stateHome(t)
	place := newPlace(t, "crew")
	if _, err := readTasks(t.Context(), place); err == nil || !strings.Contains(err.Error(), "has never run") {
		t.Errorf("without a store: %v", err)
	}
	fillStore(t, place)
	list, err := readTasks(t.Context(), place)
	if err != nil || len(list) != 3 || list[1].Subject != "Second" || list[2].Description != longText {
		t.Errorf("%v, %d tasks", err, len(list))
	}
}
