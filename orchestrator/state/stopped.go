package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
)

// StoreBackups is how many verified backups of a team's store are kept.
const StoreBackups = 3

// UseStopped calls use with the store of a team that does not run, and keeps the team from
// starting until use returns. It fails with ErrRunning if the team runs, and with
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
	return use(store)
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
