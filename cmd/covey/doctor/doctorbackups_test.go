package doctor

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/backup"
)

func TestBackupFinding(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	place := state.Place{Team: "crew", Workspace: "/w", Dir: "/s/crew"}
	for _, tc := range []struct {
		name    string
		state   backup.State
		verdict verdict
		want    string
	}{
		{"fresh", backup.State{Count: 3, Newest: now.Add(-4 * time.Minute), Stored: now}, isOK,
			"team crew in /w: 3 backups of its store, the last one 4m0s old"},
		{"old, and nothing has changed", backup.State{Count: 1, Newest: now.Add(-48 * time.Hour),
			Stored: now.Add(-48 * time.Hour)},
			isOK, "1 backup of its store, the last one 48h0m0s old"},
		{"old, and the store goes on", backup.State{Count: 1, Newest: now.Add(-time.Hour), Stored: now}, isWarn,
			"the last one 1h0m0s old, though the store has changed since"},
		{"none", backup.State{Stored: now.Add(-time.Hour)}, isWarn, "there is no backup of its store"},
		{"none yet", backup.State{Stored: now}, isOK, "there is no backup of its store"},
		{"too big", backup.State{Count: 1, Newest: now, Stored: now, Size: 2 << 30, TooBig: true}, isWarn,
			"with 2048 MiB the store is too big to be backed up"},
	} {
		f := backupFinding(place, tc.state, now)
		if f.Verdict != tc.verdict || !strings.Contains(f.Text, tc.want) ||
			(f.WayOut == "") != (f.Verdict == isOK) {
			t.Errorf("%s: %+v", tc.name, f)
		}
	}
}

// TestDoctorTellsOfBackups: the teams of the folder are told of always, those of others
// only when something is wrong.
func TestDoctorTellsOfBackups(t *testing.T) {
	t.Setenv("COVEY_STATE_HOME", t.TempDir())
	here, elsewhere := t.TempDir(), t.TempDir()
	for _, dir := range []string{here, elsewhere} {
		place, err := state.PlaceOf("crew", dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := place.Create(); err != nil {
			t.Fatal(err)
		}
		s, err := tasks.Open(place.Store(), &tasks.Options{BlobDir: place.Blobs(), Backups: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	found := (&examination{dir: here}).backups()
	real, err := filepath.EvalSymlinks(here)
	if err != nil || len(found) != 1 || found[0].Verdict != isOK || !strings.Contains(found[0].Text,
		"team crew in "+real+": 1 backup") {
		t.Errorf("%+v, %v", found, err)
	}
}
