package nodes

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// ErrTaken means that another process is the node.
var ErrTaken = errors.New("another process is this node")

// spool is what a node keeps on its disk: reports that the coordinator has not stored yet, and the
// highest epoch that the node has seen.
type spool struct {
	db *bolt.DB
	id string // identifies the disk

	mu    sync.Mutex
	epoch uint64
	size  int           // bytes of the reports
	grown chan struct{} // a report was added
	freed chan struct{} // closed and replaced when reports were removed
}

var (
	bucketReports = []byte("reports")
	bucketFacts   = []byte("facts")
	keyID         = []byte("id")
	keyEpoch      = []byte("epoch")
)

// openSpool opens the spool in a folder, which is made. The error wraps ErrTaken if another process
// uses it.
func openSpool(dir string) (*spool, error) {
	const patience = time.Second // a process that was killed holds no lock
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "reports.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: patience})
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, fmt.Errorf("%w: it uses %s", ErrTaken, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("the reports of this node in %s: %w", path, err)
	}
	db.MaxBatchDelay = 2 * time.Millisecond // those who report at the same time share a sync
	s := &spool{db: db, grown: make(chan struct{}, 1), freed: make(chan struct{})}
	err = db.Update(func(tx *bolt.Tx) error {
		facts, err := tx.CreateBucketIfNotExists(bucketFacts)
		if err != nil {
			return err
		}
		list, err := tx.CreateBucketIfNotExists(bucketReports)
		if err != nil {
			return err
		}
		if s.id = string(facts.Get(keyID)); s.id == "" {
			s.id = rand.Text()
			if err := facts.Put(keyID, []byte(s.id)); err != nil {
				return err
			}
		}
		if v := facts.Get(keyEpoch); len(v) == 8 {
			s.epoch = binary.BigEndian.Uint64(v)
		}
		return list.ForEach(func(_, v []byte) error {
			s.size += len(v)
			return nil
		})
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the reports of this node in %s: %w", path, err), db.Close())
	}
	return s, nil
}

func (s *spool) close() error { return s.db.Close() }

// highest returns the highest epoch that the node has seen.
func (s *spool) highest() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

// admit reports whether the coordinator of an epoch is the newest one, and whether it is a new one.
// A new epoch is on the disk before anything is taken from it.
func (s *spool) admit(epoch uint64) (current, isNew bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch <= s.epoch {
		return epoch == s.epoch, false, nil
	}
	err = s.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketFacts).Put(keyEpoch, binary.BigEndian.AppendUint64(nil, epoch))
	})
	if err != nil {
		return false, false, fmt.Errorf("store epoch %d: %w", epoch, err)
	}
	s.epoch = epoch
	return true, true, nil
}

// maxSpool is the size of a spool above which reports wait.
const maxSpool = 256 << 20

// room returns a channel that is closed when there is room; nil: there is.
func (s *spool) room() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size < maxSpool {
		return nil
	}
	return s.freed
}

// add puts a report on the disk.
func (s *spool) add(member string, body json.RawMessage) error {
	value, err := json.Marshal(message{Member: member, Body: body})
	if err != nil {
		return err
	}
	err = s.db.Batch(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketReports)
		n, err := b.NextSequence()
		if err != nil {
			return err
		}
		return b.Put(binary.BigEndian.AppendUint64(nil, n), value)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.size += len(value)
	s.mu.Unlock()
	select {
	case s.grown <- struct{}{}:
	default:
	}
	return nil
}

// after returns reports with higher numbers than one, in order, up to some size. Without one that it
// has, it begins with the first.
func (s *spool) after(number uint64) (list []message, err error) {
	const most = 2 << 20
	size := 0
	err = s.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketReports).Cursor()
		for k, v := c.Seek(binary.BigEndian.AppendUint64(nil, number+1)); k != nil && size < most; k, v = c.Next() {
			var m message
			if err := json.Unmarshal(v, &m); err != nil {
				return err
			}
			m.Number, m.Disk = binary.BigEndian.Uint64(k), s.id
			list, size = append(list, m), size+len(v)
		}
		return nil
	})
	return list, err
}

// drop removes the reports up to a number, which the coordinator has stored.
func (s *spool) drop(number uint64) error {
	removed := 0
	err := s.db.Update(func(tx *bolt.Tx) error {
		removed = 0
		c := tx.Bucket(bucketReports).Cursor()
		for k, v := c.First(); k != nil && binary.BigEndian.Uint64(k) <= number; k, v = c.First() {
			removed += len(v)
			if err := c.Delete(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || removed == 0 {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size -= removed
	close(s.freed)
	s.freed = make(chan struct{})
	return nil
}

// empty reports whether the coordinator has stored all.
func (s *spool) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size == 0
}
