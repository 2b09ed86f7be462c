package journal

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

	"github.com/coveyteam/covey/tasks"
)

// firstWaiting is the first event in the store's outbox: the lines of all before it
// have been synced, those of it and of what follows may be lost with the power.
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

// journalScan is what a journal's lines say of where it is to go on.
//
// What stands behind the last newline is torn by a crash and left out. A line that cannot
// be read in front of that is damaged: after a power cut any page may be missing of what
// was never synced, with whole lines behind it. All other lines count, and the events that
// have none are still in the outbox.
type journalScan struct {
	waits uint64 // firstWaiting of the store
	see   func(Line)

	last    Line            // the highest numbers
	size    int64           // of the whole lines
	told    map[uint64]bool // events from waits on that have a line
	damaged int             // lines that cannot be read
	first   int64           // where the first of them begins
}

// scanJournal reads the journal at path, and shows its lines to see, if that is not nil.
// A journal that is not there is empty.
func scanJournal(path string, waits uint64, see func(Line)) (*journalScan, error) {
	if see == nil {
		see = func(Line) {}
	}
	s := &journalScan{waits: waits, see: see, told: map[uint64]bool{}}
	err := eachText(path, func(text []byte) error {
		s.take(text)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, err
}

// take reads one line with its newline.
func (s *journalScan) take(text []byte) {
	at := s.size
	s.size += int64(len(text))
	l, err := parseLine(text)
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

// outbox is the last event that the journal need not ask the store for: of those behind
// it, told says which have their lines.
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

// mend takes the damaged lines out of the journal at path, and says so for people. The
// file as it was is kept beside it.
func (s *journalScan) mend(path string) (said string, err error) {
	part, kept := path+".part", fmt.Sprintf("%s.damaged-%d", path, time.Now().UnixNano())
	out, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	err = eachText(path, func(text []byte) error {
		if _, err := parseLine(text); err != nil {
			return nil
		}
		_, err := w.Write(text)
		return err
	})
	err = errors.Join(err, w.Flush(), out.Sync(), out.Close())
	if err == nil && os.Link(path, kept) != nil { // so that there is a journal at each moment
		err = os.Rename(path, kept) // a file system without links
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return "", fmt.Errorf("take damaged lines out of %s: %w", path, err)
	}
	lines := "a line of the journal was damaged"
	if s.damaged > 1 {
		lines = fmt.Sprintf("%d lines of the journal were damaged", s.damaged)
	}
	return fmt.Sprintf("%s, from byte %d on; all other lines are kept, and the file as it was is %s", lines,
			s.first, kept),
		trimDamaged(path)
}

// maxDamagedJournals is how many damaged journals are kept for people to look into.
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
