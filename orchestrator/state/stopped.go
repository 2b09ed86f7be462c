package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
)

// StoreBackups is how many verified backups of a team's store are kept.
const StoreBackups = 3

// UseStopped calls use with the store of a team that does not run, and keeps the team from
// starting until use returns. What use commits is in the journal afterwards, so that pages show it; if that
// cannot be written, the next run tells it. It fails with ErrRunning if the team runs, and with
// tasks.ErrNotFound if it has never run.
func UseStopped(p Place, use func(*tasks.Store) error) (err error) {
	if _, err := os.Stat(p.Store()); errors.Is(err, fs.ErrNotExist) {
		return texts.Errorf(tasks.ErrNotFound, "team %s has never run", p.Team)
	}
	lock, err := LockTeam(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	store, err := tasks.Open(p.Store(), &tasks.Options{BlobDir: p.Blobs(), Backups: StoreBackups})
	if err != nil {
		return fmt.Errorf("store of team %s: %w", p.Team, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	j, repairs, unwritten := ContinueJournal(context.Background(), p.Journal(), JournalOptions{
		Team: p.Team, Store: store, Log: slog.New(slog.DiscardHandler), See: func(events.Line) {}, Failed: func(error) {},
	})
	if unwritten != nil {
		return use(store)
	}
	for _, text := range repairs {
		j.Warn("%s", text)
	}
	err = use(store)
	j.Hurry() // nobody waits here for space on a disk
	var writing sync.WaitGroup
	writing.Go(func() {
		j.Run(nil, Views{Line: func(events.Line) {}, Stored: func(events.Line) {}, Grew: func(uint64) {}})
	})
	err = errors.Join(err, j.Close())
	writing.Wait()
	return err
}

// Remove removes the folder of a team that does not run, after last, whose error keeps it. Before
// last it ends the processes that a killed run has left: they could still write. It fails with
// ErrRunning if the team runs.
func Remove(p Place, last func() error) (err error) {
	lock, err := LockTeam(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	proc.KillMarked(p.Mark())
	if err := last(); err != nil {
		return err
	}
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return FolderError(err)
	}
	// Commands find the team by run.json, also to remove what a kill has left of it, and the lock
	// keeps others out. So these two go last.
	paths := []string{p.RunFile(), p.Lock(), p.Dir}
	for _, e := range entries {
		if path := filepath.Join(p.Dir, e.Name()); !slices.Contains(paths, path) {
			paths = slices.Insert(paths, 0, path)
		}
	}
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return FolderError(err)
		}
	}
	return nil
}
