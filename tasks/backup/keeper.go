package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/coveyteam/covey/tasks/kv"
)

// reader is a store as far as backups read it.
type reader interface {
	// Read runs a function in a read transaction.
	Read(func(*bolt.Tx) error) error
	// Cause says why the store is lost; nil: it is not.
	Cause() error
}

// Start makes backups of a store that was opened until Close, and notes its commits
// from now on. It must be called once, before the first change.
func (b *Keeper) Start(store reader) {
	if b.off() {
		return
	}
	b.tell(b.beginLog()) // a store without a log works all the same
	b.idle.Go(func() { b.keepSafe(store) })
}

// off says that no backups are made.
func (b *Keeper) off() bool { return b.opts.Keep <= 0 || b.opts.ReadOnly }

// Append notes a commit; see kv.Log.
func (b *Keeper) Append(record []byte) { b.log.append(record) }

// Close makes the last backup of a store that takes no more changes, and ends the log.
func (b *Keeper) Close(store reader) error {
	close(b.ending)
	b.idle.Wait()
	if store.Cause() != nil {
		return b.log.close()
	}
	return errors.Join(b.Backup(context.Background(), store), b.log.close())
}

// Backup makes a backup now, if anything has changed since the last one. It does
// nothing without Options.Keep, and fails for a store that is too big for one.
func (b *Keeper) Backup(ctx context.Context, store reader) error {
	if b.off() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.saving.Lock()
	defer b.saving.Unlock()
	err := b.make(store.Read)
	b.tell(err)
	return err
}

// tell keeps what is wrong with the backups, and says so if it is news: one trouble after
// another is one.
func (b *Keeper) tell(trouble error) {
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

// Trouble says why the store is not backed up at present; nil: it is, or was never
// meant to be.
func (b *Keeper) Trouble() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.trouble
}

// News gives a channel that holds a token when Trouble has come or gone since it was
// last emptied. There is one channel for all callers, and it is never closed.
func (b *Keeper) News() <-chan struct{} { return b.changed }

// keepSafe makes backups and syncs the log of commits until the store is closed. The
// first backup comes at once: what was just looked through is worth keeping.
//
// It runs in a goroutine of its own from Start to Close, which waits for it.
func (b *Keeper) keepSafe(store reader) {
	due := time.NewTimer(b.nextBackup(store))
	defer due.Stop()
	var settle <-chan time.Time
	for {
		select {
		case <-b.log.unsynced:
			if settle == nil {
				settle = time.After(syncEvery)
			}
			continue
		case <-settle:
			settle = nil
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

// nextBackup makes a backup, and says when the next one is due. One that fails is no
// reason to stop work: Trouble says so.
func (b *Keeper) nextBackup(store reader) time.Duration {
	if err := b.Backup(context.Background(), store); err != nil {
		return min(b.opts.Every, backupAgain)
	}
	return b.opts.Every
}

// syncLog makes the log of commits durable, and says whether only a backup can help: it is
// long, or has a gap. While backups fail the next try comes in its time.
func (b *Keeper) syncLog() (backUp bool) {
	if err := b.log.sync(); err != nil {
		b.log.giveUp(fmt.Errorf("the log of commits cannot be synced: %w", err))
	}
	failing := b.Trouble() != nil
	_, size, broken := b.log.state()
	if broken != nil {
		b.tell(broken)
	}
	return (size > maxLog || broken != nil) && !failing
}

// State is what the backups of a store are like.
type State struct {
	Count  int
	Newest time.Time // when the newest one was made; zero: there is none
	Stored time.Time // when the store was last written to
	Size   int64     // of the store, in bytes
	TooBig bool      // it is not backed up any more, for its size
}

// Look looks at the backups of the store at path. It opens nothing, so it may be
// called while the store is in use, and it does not look whether they are sound: each was
// when it was made. It fails if there is no store.
func Look(path string) (State, error) {
	info, err := os.Stat(path)
	if err != nil {
		return State{}, fmt.Errorf("look at the store: %w", err)
	}
	b := New(path, Options{})
	list := b.numbers()
	state := State{Count: len(list), Stored: info.ModTime(), Size: info.Size()}
	im, done, err := kv.OpenImage(path)
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
		return state, fmt.Errorf("look at the newest backup: %w", err)
	}
	state.Newest = newest.ModTime()
	return state, nil
}
