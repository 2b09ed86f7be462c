package kv

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// bbolt maps its file into memory and expects nobody else to write it. A file that is
// overwritten or cut off under the mapping is a fault in whatever goroutine reads it
// next, and a fault while bbolt holds one of its locks leaves the lock held. So each
// transaction begins with a look at the file itself, one at a time, and after the first
// trouble of that kind nothing asks bbolt for anything any more.

// watchEvery is how often the file of a store is looked at when nothing is read or written.
const watchEvery = time.Second

// guard watches the file of an open store.
type guard struct {
	path  string
	file  *os.File      // that bbolt reads and writes
	info  os.FileInfo   // which file that is
	owner []byte        // the stored identity
	page  int           // bytes of a page
	last  atomic.Uint64 // the last commit

	begins sync.Mutex // held while a transaction begins
	once   sync.Once
	gone   chan struct{} // closed when the file is not ours any more
	cause  error         // why; set before gone is closed
}

func newGuard(path string) *guard { return &guard{path: path, gone: make(chan struct{})} }

// open is os.OpenFile for bbolt. The first file is the store's; bbolt opens it again to
// copy it.
func (g *guard) open(name string, flag int, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(name, flag, mode)
	if err == nil && g.file == nil {
		g.file = f
		g.info, err = f.Stat()
	}
	return f, err
}

// err is why the store is not used any more; nil: it is.
func (g *guard) err() error {
	select {
	case <-g.gone:
		return g.cause
	default:
		return nil
	}
}

// lose ends the use of the store. The first cause counts.
func (g *guard) lose(cause error) error {
	g.once.Do(func() {
		g.cause = fmt.Errorf("%w: %s: %w", ErrReplaced, g.path, cause)
		close(g.gone)
	})
	return g.cause
}

// errNotWritten: the meta pages are gone or are no meta pages.
var errNotWritten = errors.New("its first pages are not what was written")

// look reads the file's meta pages, and not through the mapping: so a file that is shorter
// or that is no store is found out before bbolt meets it. One of the two may be in the
// middle of being written; the other one then has the commit before.
func (g *guard) look() error {
	last := g.last.Load()
	im := Image{file: g.file}
	var newest metaOf
	for _, at := range []int{0, g.page} {
		if m, ok := im.metaAt(at); ok && m.txid >= newest.txid {
			newest = m
		}
	}
	info, err := g.file.Stat()
	switch {
	case errors.Is(err, os.ErrClosed):
		return ErrClosed
	case err != nil:
		return err
	case newest.pageSize == 0:
		return errNotWritten
	case newest.txid < last:
		return fmt.Errorf("it holds commit %d, and commit %d was made", newest.txid, last)
	case info.Size() < int64(newest.high)*int64(newest.pageSize):
		return fmt.Errorf("it was cut off at byte %d", info.Size())
	}
	return nil
}

// inPlace says whether the path still leads to the file.
func (g *guard) inPlace() error {
	info, err := os.Stat(g.path)
	if err != nil {
		return err
	}
	if !os.SameFile(info, g.info) {
		return errors.New("another file is in its place")
	}
	return nil
}

// inspect is look, and inPlace if the path counts as well: a reader goes on with the file
// that it has. What it finds ends the use of the store.
func (g *guard) inspect(path bool) error {
	if err := g.err(); err != nil {
		return err
	}
	err := g.look()
	if err == nil && path {
		err = g.inPlace()
	}
	if err == nil || errors.Is(err, ErrClosed) {
		return err
	}
	return g.lose(err)
}

// begin is db.Begin. A panic in it leaves locks of bbolt held, so it is the last.
func (g *guard) begin(db *bolt.DB, writable bool) (tx *bolt.Tx, err error) {
	if err := g.inspect(writable); err != nil {
		return nil, err
	}
	g.begins.Lock()
	defer g.begins.Unlock()
	if err := g.err(); err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			err = g.lose(fmt.Errorf("begin a transaction: %v", r))
		}
	}()
	return db.Begin(writable)
}

// owns says whether what a transaction sees is this store, and not a copy of an older
// state of it or another one that was written over it.
func (g *guard) owns(tx *bolt.Tx) error {
	meta := tx.Bucket([]byte(bucketMeta))
	if meta == nil || string(meta.Get([]byte(keyIdentity))) != string(g.owner) {
		return g.lose(errors.New("another store was written over it"))
	}
	return nil
}

// judge looks at the file after a panic: a fault may come of a file that was replaced.
func (g *guard) judge(err error) error {
	if lost := g.inspect(true); lost != nil {
		return lost
	}
	return err
}

// end is tx.Rollback, unless that could wait for a lock that is held for ever.
func (g *guard) end(tx *bolt.Tx) {
	if g.err() == nil {
		_ = tx.Rollback() // it fails only for a transaction that has ended
	}
}

// endRead is end for a read transaction. A begin that is under way may panic and leave the
// lock held that Rollback takes. So Rollback runs while nothing begins, or, as waiting for
// a begin could be a deadlock, in a goroutine of its own, which nobody waits for once the
// store is lost.
func (g *guard) endRead(tx *bolt.Tx) {
	if g.begins.TryLock() {
		defer g.begins.Unlock()
		g.end(tx)
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.end(tx)
	}()
	select {
	case <-ended:
	case <-g.gone:
	}
}

// watch looks at the file until the store is closed, so that a team that rests notices.
func (db *DB) watch() {
	defer close(db.watched)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if db.guard.inspect(true) != nil {
				return
			}
			_ = db.Read(func(*bolt.Tx) error { return nil }) // it notices another store in the file

		case <-db.guard.gone:
			return
		case <-db.ending:
			return
		}
	}
}

// Lost gives a channel that is closed when the file was overwritten, cut off or replaced
// while the store was open. All calls fail with ErrReplaced then, and so does Cause.
func (db *DB) Lost() <-chan struct{} { return db.guard.gone }

// Cause says why the store is lost; nil: it is not.
func (db *DB) Cause() error { return db.guard.err() }
