package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/tasks"
)

// StoreBackups is how many verified backups of a team's store are kept.
const StoreBackups = 3

// UseStopped calls use with the store of a team that does not run, and keeps the team from
// starting until use returns. It fails with ErrRunning if the team runs, and with
// tasks.ErrNotFound if it has never run.
func UseStopped(p Place, use func(*tasks.Store) error) (err error) {
	if _, err := os.Stat(p.Store()); errors.Is(err, fs.ErrNotExist) {
		return notation.Errorf(tasks.ErrNotFound, "team %s has never run", p.Team)
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
