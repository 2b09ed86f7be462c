package tasks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Backup makes a backup now, if anything has changed since the last one. It does
// nothing without Options.Backups, and fails for a store that is too big for one.
func (s *Store) Backup(ctx context.Context) error {
	if s.backups == nil || s.opts.ReadOnly {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	err := s.backups.make(s.read)
	s.backups.tell(err)
	return err
}

// tell keeps what is wrong with the backups, and says so if it is news: one trouble after
// another is one.
func (b *backups) tell(trouble error) {
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

// BackupTrouble says why the store is not backed up at present; nil: it is, or was never
// meant to be.
func (s *Store) BackupTrouble() error {
	if s.backups == nil {
		return nil
	}
	s.backups.mu.Lock()
	defer s.backups.mu.Unlock()
	return s.backups.trouble
}

// BackupNews gives a channel that holds a token when BackupTrouble has come or gone since
// it was last emptied. There is one channel for all callers, it is never closed, and nil
// without Options.Backups.
func (s *Store) BackupNews() <-chan struct{} {
	if s.backups == nil {
		return nil
	}
	return s.backups.changed
}

// keepSafe makes backups and syncs the log of commits until the store is closed. The
// first backup comes at once: what was just looked through is worth keeping.
//
// It runs in a goroutine of its own from Open to Close; Close waits for it (s.safe).
func (s *Store) keepSafe() {
	defer close(s.safe)
	due := time.NewTimer(s.nextBackup())
	defer due.Stop()
	var settle <-chan time.Time
	for {
		select {
		case <-s.backups.log.unsynced:
			if settle == nil {
				settle = time.After(syncEvery)
			}
			continue
		case <-settle:
			settle = nil
			if !s.syncLog() {
				continue
			}
		case <-due.C:
		case <-s.ending:
			return
		}
		due.Reset(s.nextBackup())
	}
}

// nextBackup makes a backup, and says when the next one is due. One that fails is no
// reason to stop work: BackupTrouble says so.
func (s *Store) nextBackup() time.Duration {
	if err := s.Backup(context.Background()); err != nil {
		return min(s.opts.BackupEvery, backupAgain)
	}
	return s.opts.BackupEvery
}

// syncLog makes the log of commits durable, and says whether only a backup can help: it is
// long, or has a gap. While backups fail the next try comes in its time.
func (s *Store) syncLog() (backUp bool) {
	b := s.backups
	if err := b.log.sync(); err != nil {
		b.log.giveUp(fmt.Errorf("the log of commits cannot be synced: %w", err))
	}
	failing := s.BackupTrouble() != nil
	_, size, broken := b.log.state()
	if broken != nil {
		b.tell(broken)
	}
	return (size > maxLog || broken != nil) && !failing
}

// endLog closes the log of commits, when nothing is committed any more.
func (s *Store) endLog() error {
	if s.record == nil {
		return nil
	}
	return s.backups.log.close()
}

// BackupState is what the backups of a store are like.
type BackupState struct {
	Count  int
	Newest time.Time // when the newest one was made; zero: there is none
	Stored time.Time // when the store was last written to
	Size   int64     // of the store, in bytes
	TooBig bool      // it is not backed up any more, for its size
}

// ReadBackups looks at the backups of the store at path. It opens nothing, so it may be
// called while the store is in use, and it does not look whether they are sound: each was
// when it was made. It fails if there is no store.
func ReadBackups(path string) (BackupState, error) {
	info, err := os.Stat(path)
	if err != nil {
		return BackupState{}, fmt.Errorf("look at the store: %w", err)
	}
	b := &backups{dir: path + backupDirSuffix}
	list := b.numbers()
	state := BackupState{Count: len(list), Stored: info.ModTime(), Size: info.Size()}
	im, done, err := openImage(path)
	if err != nil {
		return state, err
	}
	defer done()
	if meta, err := im.meta(); err == nil {
		state.TooBig = int64(meta.high)*int64(meta.pageSize) > maxVerified
	}
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
