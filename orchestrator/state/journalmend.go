package state

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks"
)

// firstWaiting returns the id of the first event in the store's outbox, or
// math.MaxUint64 if the outbox is empty. The lines of all earlier events have
// been synced; a power failure may have lost the lines of this and later ones.
func firstWaiting(store *tasks.Store) (uint64, error) {
	list, err := store.Outbox().Events(context.Background(), 0, 1)
	if err != nil {
		return 0, fmt.Errorf("read the outbox: %w", err)
	}
	if len(list) == 0 {
		return math.MaxUint64, nil
	}
	return list[0].ID, nil
}

// journalScan is the result of reading a journal: where to continue it, and what
// is damaged.
//
// It ignores text after the last newline, which a crash has torn. An unreadable
// line before that is damaged: after a power failure any page that was never
// synced may be missing, with whole lines after it. Events whose lines are
// damaged are still in the outbox.
type journalScan struct {
	waits uint64 // firstWaiting of the store
	see   func(events.Line)

	last    events.Line     // the highest Seq and Store of all lines
	size    int64           // of the whole lines, in bytes
	told    map[uint64]bool // events from waits on that have a line
	damaged int             // number of unreadable lines
	first   int64           // offset of the first of them
}

// scanJournal reads the journal at path, and calls see with its lines unless see
// is nil. A missing journal counts as empty.
func scanJournal(path string, waits uint64, see func(events.Line)) (*journalScan, error) {
	if see == nil {
		see = func(events.Line) {}
	}
	s := &journalScan{waits: waits, see: see, told: map[uint64]bool{}}
	err := eachText(path, func(text []byte) error {
		s.addLine(text)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, err
}

// addLine adds one line, with its newline, to the scan.
func (s *journalScan) addLine(text []byte) {
	at := s.size
	s.size += int64(len(text))
	l, err := events.Decode(text)
	if err != nil {
		if s.damaged++; s.damaged == 1 {
			s.first = at
		}
		return
	}
	s.last.Seq, s.last.Store = max(s.last.Seq, l.Seq), max(s.last.Store, l.Store)
	if l.Store >= s.waits {
		s.told[l.Store] = true
	}
	s.see(l)
}

// outbox returns the last event up to which all events have lines. told says
// which later ones have.
func (s *journalScan) outbox() uint64 {
	if s.waits == math.MaxUint64 {
		return s.last.Store
	}
	return s.waits - 1
}

// eachText calls f for each whole line of a file, with its newline.
func eachText(path string, f func([]byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 1<<20)
	for {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(text)
		}
		if err != nil {
			return err
		}
	}
}

// mend removes the damaged lines from the journal at path, and returns a text for
// people about it. It keeps the original file next to the new one.
func (s *journalScan) mend(path string) (notice string, err error) {
	part, kept := path+".part", fmt.Sprintf("%s.damaged-%d", path, time.Now().UnixNano())
	_ = os.Remove(part) // of a run that was killed; what a member may have put there is not followed
	out, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	err = eachText(path, func(text []byte) error {
		if _, err := events.Decode(text); err != nil {
			return nil
		}
		_, err := w.Write(text)
		return err
	})
	err = errors.Join(err, w.Flush(), out.Sync(), out.Close())
	if err == nil && os.Link(path, kept) != nil { // a link, so that the journal always exists
		err = os.Rename(path, kept) // the file system has no links
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return "", fmt.Errorf("remove damaged lines from %s: %w", path, err)
	}
	lines := "a line of the journal was damaged"
	if s.damaged > 1 {
		lines = fmt.Sprintf("%d lines of the journal were damaged", s.damaged)
	}
	return fmt.Sprintf("%s, from byte %d on; all other lines are kept, and the original file is %s", lines,
			s.first, kept),
		trimDamaged(path)
}

// maxDamagedJournals limits how many damaged journals are kept for people to
// inspect.
const maxDamagedJournals = 3

// trimDamaged removes the oldest damaged journals.
func trimDamaged(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	var list []string
	for _, e := range entries {
		if ok, _ := filepath.Match(filepath.Base(path)+".damaged-*", e.Name()); ok {
			list = append(list, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	slices.Sort(list)
	for _, old := range list[:max(0, len(list)-maxDamagedJournals)] {
		err = errors.Join(err, os.Remove(old))
	}
	return err
}
