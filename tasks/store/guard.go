package store

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// bbolt maps its file into memory and expects that nobody else writes to it. If the
// file is overwritten or truncated under the mapping, the next goroutine that reads
// it faults, and a fault while bbolt holds one of its locks leaves the lock held. So
// each transaction begins with a check of the file itself, one at a time, and after
// the first failure nothing calls bbolt any more.

// watchEvery is how often the file is checked while nothing is read or written.
const watchEvery = time.Second

// guard watches the file of an open store.
type guard struct {
	path  string
	file  *os.File      // the file that bbolt reads and writes
	info  os.FileInfo   // identifies file
	owner []byte        // the stored identity
	page  int           // bytes of a page
	last  atomic.Uint64 // number of the last commit

	begins sync.Mutex // held while a transaction begins
	once   sync.Once
	gone   chan struct{} // closed when the file is lost
	cause  error         // why; set before gone is closed
}

func newGuard(path string) *guard { return &guard{path: path, gone: make(chan struct{})} }

// open is os.OpenFile for bbolt. The first file opened is the store's; bbolt opens it
// again to copy it.
func (g *guard) open(name string, flag int, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(name, flag, mode)
	if err == nil && g.file == nil {
		g.file = f
		g.info, err = f.Stat()
	}
	return f, err
}

// err returns why the store is lost, or nil.
func (g *guard) err() error {
	select {
	case <-g.gone:
		return g.cause
	default:
		return nil
	}
}

// fail ends the use of a store whose file is not what was written.
func (g *guard) fail(cause error) error {
	return g.lose(fmt.Errorf("%w: %s: %w", ErrReplaced, g.path, cause))
}

// lose ends the use of the store. Only the first cause is kept.
func (g *guard) lose(cause error) error {
	g.once.Do(func() {
		g.cause = cause
		close(g.gone)
	})
	return g.cause
}

// errNotWritten: no meta page is valid.
var errNotWritten = errors.New("its first pages are damaged")

// checkFile reads the file's meta pages from the file and not through the mapping, so
// that a truncated or foreign file is detected before bbolt reads it. One of the two
// pages may be in the middle of a write; the other one then holds the previous
// commit.
func (g *guard) checkFile() error {
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
		return fmt.Errorf("it holds commit %d, but the last one was commit %d", newest.txid, last)
	case info.Size() < int64(newest.high)*int64(newest.pageSize):
		return fmt.Errorf("it was truncated to %d bytes", info.Size())
	}
	return nil
}

// inPlace verifies that the path still leads to the file.
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

// inspect calls checkFile, and inPlace if path is set: a reader may go on with the
// open file. An error ends the use of the store.
func (g *guard) inspect(path bool) error {
	if err := g.err(); err != nil {
		return err
	}
	err := g.checkFile()
	if err == nil && path {
		err = g.inPlace()
	}
	if err == nil || errors.Is(err, ErrClosed) {
		return err
	}
	return g.fail(err)
}

// begin is db.Begin. A panic in it leaves bbolt's locks held, so the store fails for
// good.
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
			err = g.fail(fmt.Errorf("begin a transaction: %v", r))
		}
	}()
	return db.Begin(writable)
}

// owns verifies that a transaction sees this store, and not another one that was
// written over it.
func (g *guard) owns(tx *bolt.Tx) error {
	meta := tx.Bucket([]byte(bucketMeta))
	if meta == nil || string(meta.Get([]byte(keyIdentity))) != string(g.owner) {
		return g.fail(errors.New("another store was written over it"))
	}
	return nil
}

// afterPanic checks the file after a panic, which may come from a file that was
// replaced.
func (g *guard) afterPanic(err error) error {
	if lost := g.inspect(true); lost != nil {
		return lost
	}
	return err
}

// end is tx.Rollback, unless that could wait for a lock that is never released.
func (g *guard) end(tx *bolt.Tx) {
	if g.err() == nil {
		_ = tx.Rollback() // it fails only for a transaction that has ended
	}
}

// endRead ends a read transaction. Its lock of the mapping must be released, also of a store
// that is lost: a commit may wait for it to grow the mapping, and behind that commit another
// reader that begins. But a begin that panicked holds the lock that Rollback takes after
// that. So Rollback runs while no transaction begins or, as waiting for a begin could
// deadlock, in a goroutine of its own, for which nobody waits once the store is lost.
func (g *guard) endRead(tx *bolt.Tx) {
	if g.begins.TryLock() {
		defer g.begins.Unlock()
		if g.err() == nil {
			_ = tx.Rollback() // it fails only for a transaction that has ended
			return
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = tx.Rollback()
	}()
	select {
	case <-ended:
	case <-g.gone:
	}
}

// watch checks the file until the store is closed, so that an idle team notices as
// well.
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
			_ = db.Read(func(*bolt.Tx) error { return nil }) // detects another store in the file

		case <-db.guard.gone:
			return
		case <-db.ending:
			return
		}
	}
}

// Lost returns a channel that is closed when the file was overwritten, truncated or
// replaced while the store was open, or lost touch with its replica. From then on all calls
// and Cause fail with ErrReplaced or ErrReplica.
func (db *DB) Lost() <-chan struct{} { return db.guard.gone }

// Cause returns why the store is lost; nil: it is not lost.
func (db *DB) Cause() error { return db.guard.err() }
