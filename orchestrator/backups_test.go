package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// TestFailingBackupsAreTold: that the store is not backed up stands in the journal once,
// and that it is again as well.
func TestFailingBackupsAreTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tasks.db")
	store, err := tasks.Open(path, &tasks.Options{Backups: 1, BackupEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	j := openTestJournal(t, filepath.Join(t.TempDir(), "journal.jsonl"), store, nil)
	said := make(chan string, 9)
	go j.Run(events.TeamStarted{}, viewsOf(func(l events.Line) {
		if l.Type == "warning" {
			said <- string(l.Data)
		}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- watchBackups(ctx, store, j, slog.New(slog.DiscardHandler)) }()
	if err := store.Backup(ctx); err != nil {
		t.Fatal(err)
	}
	folder := path + ".backups"
	aside := folder + ".aside"
	for _, want := range []string{"the team's store cannot be backed up at present", "is backed up again"} {
		if strings.Contains(want, "again") {
			err = errors.Join(os.Remove(folder), os.Rename(aside, folder))
		} else {
			err = errors.Join(os.Rename(folder, aside), os.WriteFile(folder, nil, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := store.Add(ctx, actors.Actor{}, []tasks.New{{Subject: "do it"}}); err != nil {
				t.Fatal(err)
			}
			_ = store.Backup(ctx)
		}
		if got := <-said; !strings.Contains(got, want) {
			t.Errorf("warning %s, want %q", got, want)
		}
	}
	cancel()
	if err := j.Close(); err != nil || !errors.Is(<-over, context.Canceled) {
		t.Error(err)
	}
	if len(said) > 0 {
		t.Errorf("said too much: %s", <-said)
	}
}
