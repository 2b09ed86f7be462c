package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/coveyteam/covey/tasks/store"
)

// readable is the part of a store that backups read.
type readable interface {
	// Read runs a function in a read transaction.
	Read(func(*bolt.Tx) error) error
	// Cause returns why the store is lost; nil: it is not lost.
	Cause() error
}

// Start makes backups of an open store until Close, and logs its commits from now on.
// Call it once, before the first change.
func (b *Backups) Start(store readable) {
	if b.off() {
		return
	}
	b.setTrouble(b.beginLog()) // a store works without a log
	b.idle.Go(func() { b.run(store) })
}

// off reports whether backups are disabled.
func (b *Backups) off() bool { return b.opts.Keep <= 0 || b.opts.ReadOnly }

// Append logs a commit; see Log.
func (b *Backups) Append(record []byte) { b.log.append(record) }

// Close makes the last backup of a store that accepts no more changes, and closes the
// log.
func (b *Backups) Close(store readable) error {
	close(b.ending)
	b.idle.Wait()
	if store.Cause() != nil {
		return b.log.close()
	}
	return errors.Join(b.Backup(context.Background(), store), b.log.close())
}

// Backup makes a backup now if anything has changed since the last one. Without
// Options.Keep it does nothing. It fails if the store is too big for a backup.
func (b *Backups) Backup(ctx context.Context, store readable) error {
	if b.off() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.saving.Lock()
	defer b.saving.Unlock()
	err := b.make(store.Read)
	b.setTrouble(err)
	return err
}

// setTrouble stores why the store is not backed up, and signals News if trouble
// begins or ends.
func (b *Backups) setTrouble(trouble error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	news := (trouble == nil) != (b.trouble == nil)
	b.trouble = trouble
	if !news {
		return
	}
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// Trouble returns why the store is not backed up at present; nil: it is, or backups are
// disabled.
func (b *Backups) Trouble() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.trouble
}

// News returns a channel that holds a token when Trouble has begun or ended since it
// was last emptied. All callers share the channel, and it is never closed.
func (b *Backups) News() <-chan struct{} { return b.changed }

// run makes backups and syncs the log of commits until the store is closed. It makes
// the first backup at once, from the file that was just verified. It runs in a
// goroutine of its own from Start to Close, which waits for it.
func (b *Backups) run(store readable) {
	due := time.NewTimer(b.nextBackup(store))
	defer due.Stop()
	var syncDue <-chan time.Time
	for {
		select {
		case <-b.log.unsynced:
			if syncDue == nil {
				syncDue = time.After(syncEvery)
			}
			continue
		case <-syncDue:
			syncDue = nil
			if !b.syncLog() {
				continue
			}
		case <-due.C:
		case <-b.ending:
			return
		}
		due.Reset(b.nextBackup(store))
	}
}

// nextBackup makes a backup, and returns the time until the next one. A failed backup
// does not stop the team: Trouble reports it.
func (b *Backups) nextBackup(store readable) time.Duration {
	if err := b.Backup(context.Background(), store); err != nil {
		return min(b.opts.Every, backupAgain)
	}
	return b.opts.Every
}

// syncLog makes the log of commits durable, and reports whether a backup is needed at
// once because the log is long or has a gap. While backups fail, the next try comes
// in its time.
func (b *Backups) syncLog() (backUp bool) {
	if err := b.log.sync(); err != nil {
		b.log.giveUp(fmt.Errorf("the log of commits cannot be synced: %w", err))
	}
	failing := b.Trouble() != nil
	_, size, broken := b.log.state()
	if broken != nil {
		b.setTrouble(broken)
	}
	return (size > maxLog || broken != nil) && !failing
}

// State describes the backups of a store.
type State struct {
	Count  int
	Newest time.Time // when the newest backup was made; zero: there is none
	Stored time.Time // when the store was last written
	Size   int64     // of the store, in bytes
	TooBig bool      // it is too big for backups
}

// Inspect returns the state of the backups of the store at path. It does not open the
// store, so it may be called while the store is in use, and it does not verify the
// backups: each was verified when it was made. It fails if there is no store.
func Inspect(path string) (State, error) {
	info, err := os.Stat(path)
	if err != nil {
		return State{}, fmt.Errorf("inspect the store: %w", err)
	}
	b := New(path, Options{})
	list := b.numbers()
	state := State{Count: len(list), Stored: info.ModTime(), Size: info.Size()}
	im, done, err := store.OpenImage(path)
	if err != nil {
		return state, err
	}
	defer done()
	state.TooBig = im.Size() > maxVerified
	if len(list) == 0 {
		return state, nil
	}
	newest, err := os.Stat(b.path(list[0]))
	if errors.Is(err, os.ErrNotExist) {
		return state, nil // it has just been replaced by a newer one
	}
	if err != nil {
		return state, fmt.Errorf("inspect the newest backup: %w", err)
	}
	state.Newest = newest.ModTime()
	return state, nil
}
