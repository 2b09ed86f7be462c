package ask

import (
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// TestFilesStatus: a team that does not run is shown from run.json, journal and
// store.
func TestFilesStatus(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	if _, err := filesStatus(t.Context(), place); err == nil ||
		!strings.Contains(err.Error(), "never came up") {
		t.Errorf("before the first run: %v", err)
	}
	started := time.Now().Add(-time.Minute)
	teamtest.WriteRun(t, place, func(r *state.RunFile) {
		r.Goal, r.Started = "Ship", started
		r.Result = &state.RunResult{Reason: "told to stop", ExitCode: 1, Ended: started.Add(30 * time.Second)}
	})
	teamtest.WriteJournal(t, place, teamtest.TwoRuns()...)
	fillStore(t, place)
	s, err := filesStatus(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	if s.Goal != "Ship" || s.PID != 0 || s.Elapsed != 30*time.Second || s.Result.ExitCode != 1 ||
		s.FailOpen != 2 {
		t.Errorf("%+v", s)
	}
	if want := (api.TaskCounts{Pending: 2, InProgress: 1, Ready: 1, Blocked: 1}); s.Tasks != want {
		t.Errorf("tasks %+v, want %+v", s.Tasks, want)
	}
	if len(s.Members) != 2 || s.Members[1].Task != "1" || s.Members[1].Subject != "First" ||
		s.Members[0].Unread != 1 {
		t.Errorf("members %+v", s.Members)
	}
}

// fillStore puts three tasks and a message into a team's store: one task in
// progress with ana, one blocked, one ready.
func fillStore(t *testing.T, place state.Place) {
	t.Helper()
	store, err := tasks.Open(place.Store(), &tasks.Options{BlobDir: place.Blobs()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, actor := t.Context(), actors.Actor{Name: "operator"}
	for _, name := range []string{"lead", "ana"} {
		if _, err := store.Members().Attach(ctx, name,
			func() string { return "11111111-1111-4111-8111-111111111111" }); err != nil {
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
	if _, err := store.Mail().Send(ctx, actor, mail.Outgoing{To: []string{"lead"}, Kind: mail.Text,
		Text: "hi"}); err != nil {
		t.Fatal(err)
	}
}

// TestReadTasksFromFiles: the list is there without a process, and a team that
// has never run says so.
func TestReadTasksFromFiles(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	if _, err := cli.ReadTasks(t.Context(), place); err == nil ||
		!strings.Contains(err.Error(), "has never run") {
		t.Errorf("without a store: %v", err)
	}
	fillStore(t, place)
	list, err := cli.ReadTasks(t.Context(), place)
	if err != nil || len(list) != 3 || list[1].Subject != "Second" || list[2].Description != longText {
		t.Errorf("%v, %d tasks", err, len(list))
	}
}

// longText is more than the store keeps in its own file.
var longText = strings.Repeat("a long description ", 10_000)
