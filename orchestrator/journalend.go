package orchestrator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/coveyteam/covey/tasks"
)

// firstWaiting is the first event in the store's outbox: the lines of all before it
// have been synced, those of it and of what follows may be lost with the power.
func firstWaiting(store *tasks.Store) (uint64, error) {
	list, err := store.Events(context.Background(), 0, 1)
	if err != nil {
		return 0, fmt.Errorf("read the outbox: %w", err)
	}
	if len(list) == 0 {
		return math.MaxUint64, nil
	}
	return list[0].ID, nil
}

// journalEnd finds where the journal at path is to go on: how many bytes stay, the
// number of their last line, and the last event of the store that has a line there.
// It shows those lines to see, if that is not nil. A journal that is not there is
// empty. waits is firstWaiting of its store.
//
// What stands behind the last newline is torn by a crash. After a power cut there may
// be more: of what was never synced any page may be missing, with whole lines behind
// it. To go on behind such a hole would leave out the events whose lines were in it,
// so the journal ends there, and the outbox gives them again. A damaged line in the
// synced part is no such hole; that one stays, since nothing could give it again.
func journalEnd(path string, waits uint64, see func(Line)) (last Line, size int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return last, 0, nil
	}
	if err != nil {
		return last, 0, err
	}
	defer f.Close()
	if see == nil {
		see = func(Line) {}
	}
	s := journalScan{waits: waits, see: see}
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			s.finish()
			return s.last, s.size, nil
		}
		if err != nil {
			return s.last, s.size, err
		}
		s.take(text)
	}
}

// journalScan reads a journal's lines, one after another.
type journalScan struct {
	waits uint64
	see   func(Line)
	last  Line  // the highest numbers so far
	size  int64 // of what was read
	hole  *journalHole
}

// journalHole is the first damaged line that may be one of a power cut.
type journalHole struct {
	last  Line // in front of it
	size  int64
	later []Line // behind it, not shown yet
}

// take reads one line with its newline.
func (s *journalScan) take(text []byte) {
	var l Line
	if json.Unmarshal(text, &l) != nil {
		if s.hole == nil {
			s.hole = &journalHole{last: s.last, size: s.size}
		}
		s.size += int64(len(text))
		return
	}
	s.size += int64(len(text))
	s.last.Seq, s.last.Store = max(s.last.Seq, l.Seq), max(s.last.Store, l.Store)
	switch {
	case s.hole == nil:
		s.see(l)
	case l.Store > 0 && l.Store < s.waits: // synced, and with it all in front of it
		for _, earlier := range s.hole.later {
			s.see(earlier)
		}
		s.hole = nil
		s.see(l)
	default:
		s.hole.later = append(s.hole.later, l)
	}
}

// finish goes back to the hole, if there is one.
func (s *journalScan) finish() {
	if s.hole != nil {
		s.last, s.size = s.hole.last, s.hole.size
	}
}
