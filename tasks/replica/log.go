package replica

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/tasks/store"
)

// objects is a store of objects as its servers show it. A name is a kind, a slash and what tells the
// object from others of its kind; no name is used for another content.
type objects interface {
	put(name string, content io.Reader) error
	get(name string, to io.Writer) error
	drop(name string) error
	// names returns the names that begin with a prefix, such as a kind and a slash. Objects that were
	// not stored as a whole are among them.
	names(prefix string) ([]string, error)
}

// keptSnapshots is how many snapshots are kept. A fold begins from the newest that can be read.
const keptSnapshots = 2

// Log is the stream of a team's commits, as its coordinator sees it. It implements store.Replica.
type Log struct {
	chain   *chain
	objects objects
	records string // subject of the commits
	epochs  string // subject of the epochs

	dropping sync.WaitGroup

	mu    sync.Mutex
	epoch Epoch
	sent  []place // of the commits since the newest snapshot
}

// place is where the stream has a commit.
type place struct{ transaction, message uint64 }

// Commit implements store.Replica.
func (l *Log) Commit(record []byte) error {
	b := &batch{list: parts(l.records, record)}
	if err := l.chain.append(b); err != nil {
		return err
	}
	c, err := store.CommitOf(record)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, place{c.Number(), b.seq})
	return nil
}

// Snapshot implements store.Replica. Messages that no snapshot needs any more are removed.
func (l *Log) Snapshot(path string, at store.State) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	l.mu.Lock()
	next, sent := l.epoch, l.sent
	l.mu.Unlock()
	s := Snapshot{Name: fmt.Sprintf("%s%d-%s", snapshotPrefix, next.Number, rand.Text()), After: next.start(), At: at}
	if len(next.Snapshots) > 0 {
		s.After = next.Snapshots[0].After
		if next.Snapshots[0].At == at {
			return nil
		}
	}
	known := 0
	for ; known < len(sent) && sent[known].transaction <= at.Transaction; known++ {
		s.After = sent[known].message
	}
	l.sweepSnapshots(next.Snapshots, next.Number)
	if err := l.objects.put(s.Name, f); err != nil {
		return fmt.Errorf("store a snapshot: %w", err)
	}
	gone := next.Snapshots[min(len(next.Snapshots), keptSnapshots-1):]
	next.Snapshots = append([]Snapshot{s}, next.Snapshots[:len(next.Snapshots)-len(gone)]...)
	next.Start, next.Fresh = next.start(), false
	if err := l.record(next); err != nil {
		return fmt.Errorf("store a snapshot: %w", err)
	}
	l.mu.Lock()
	l.epoch, l.sent = next, l.sent[known:]
	l.mu.Unlock()
	for _, old := range gone {
		_ = l.objects.drop(old.Name) // it is only in the way
	}
	if len(next.Snapshots) == keptSnapshots {
		oldest := next.Snapshots[keptSnapshots-1]
		_ = l.chain.stream.purge(context.Background(), oldest.After+1) // the next one makes up for it
	}
	return nil
}

// snapshotPrefix begins the names of snapshots. The number of their epoch follows.
const snapshotPrefix = "snapshot/"

// sweepSnapshots removes all snapshots but those that are known: what coordinators have left that were
// killed while they stored one. Those of epochs after the last are none of its business.
func (l *Log) sweepSnapshots(known []Snapshot, last uint64) {
	names, err := l.objects.names(snapshotPrefix)
	if err != nil {
		return // they are only in the way
	}
	for _, name := range names {
		var epoch uint64
		_, err := fmt.Sscanf(name, snapshotPrefix+"%d-", &epoch)
		if err == nil && epoch <= last && !slices.ContainsFunc(known, func(s Snapshot) bool { return s.Name == name }) {
			_ = l.objects.drop(name)
		}
	}
}

// record stores the epoch's record again, with what has changed in it.
func (l *Log) record(e Epoch) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return l.chain.append(&batch{list: parts(l.epochs, data)})
}

// Epoch returns the epoch of this coordinator.
func (l *Log) Epoch() Epoch {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

// release says that the coordinator ends in order, so that another one need not wait.
func (l *Log) release() error {
	e := l.Epoch()
	e.Holder = ""
	return l.record(e)
}

// fold makes the file at path from the newest snapshot that can be read and all commits after it, and
// returns its state. A store without a snapshot has no file yet.
func (l *Log) fold(ctx context.Context, path string) (store.State, error) {
	var errs []error
	for _, from := range l.epoch.Snapshots {
		at, err := l.foldFrom(ctx, path, from)
		if err == nil {
			return at, nil
		}
		errs = append(errs, fmt.Errorf("from snapshot %s: %w", from.Name, err))
	}
	return store.State{}, errors.Join(errs...)
}

func (l *Log) foldFrom(ctx context.Context, path string, from Snapshot) (store.State, error) {
	part := path + ".part"
	if err := l.download(from.Name, part); err != nil {
		return store.State{}, err
	}
	im, err := store.ReadImage(part)
	if err != nil {
		return store.State{}, err
	}
	if at, known := im.State(); !known || at != from.At {
		return store.State{}, fmt.Errorf("%w: it is not the copy that was stored", store.ErrCorrupt)
	}
	l.sent = nil
	at, err := store.Fold(part, from.At, func(step func(*store.Commit) error) error {
		at := from.At
		return follow(ctx, l.chain, from.After+1, l.chain.last, false, func(m message) error {
			if m.subject != l.records {
				return nil
			}
			c, err := store.CommitOf(m.data)
			if err != nil {
				return err
			}
			if c.Number() != at.Transaction+1 || c.Before() != at.Sum {
				return fmt.Errorf("%w: after commit %d comes one with the number %d, or of another state", ErrGap, at.Transaction, c.Number())
			}
			at = store.State{Transaction: c.Number(), Sum: c.After()}
			l.sent = append(l.sent, place{c.Number(), m.seq})
			return step(c)
		})
	})
	if err != nil {
		return at, err
	}
	// The steps compute the digest, so a record that led to another state shows here.
	if _, err := store.ReadImage(part); err != nil {
		return at, err
	}
	if err := os.Rename(part, path); err != nil {
		return at, err
	}
	return at, store.SyncDir(filepath.Dir(path))
}

// download writes an object to a file, in the place of one that may be there.
func (l *Log) download(name, path string) error {
	if err := store.Remove(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(l.objects.get(name, f), f.Close())
}

// textPrefix begins the names of the objects of long payloads.
const textPrefix = "text/"

// PutText implements store.Replica.
func (l *Log) PutText(name, text string) error {
	return l.objects.put(textPrefix+name, strings.NewReader(text))
}

// Text implements store.Replica.
func (l *Log) Text(name string) (string, error) {
	var text strings.Builder
	err := l.objects.get(textPrefix+name, &text)
	return text.String(), err
}

// DropText implements store.Replica. The committer must not wait for it.
func (l *Log) DropText(name string) {
	l.dropping.Go(func() { _ = l.objects.drop(textPrefix + name) }) // the next SweepTexts makes up for it
}

// SweepTexts implements store.Replica.
func (l *Log) SweepTexts(used func(name string) bool) {
	names, err := l.objects.names(textPrefix)
	if err != nil {
		return // they are only in the way
	}
	for _, object := range names {
		if name := strings.TrimPrefix(object, textPrefix); !used(name) {
			l.DropText(name)
		}
	}
}
