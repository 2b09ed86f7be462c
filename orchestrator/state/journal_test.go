package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// fullDisk is a journal's file on a disk that is full while room is false. A
// write to it gets half way, as on a real one.
type fullDisk struct {
	JournalFile
	room   atomic.Bool
	failed chan struct{} // gets a value for each failed write
}

func newFullDisk(f JournalFile) *fullDisk {
	return &fullDisk{JournalFile: f, failed: make(chan struct{}, 1)}
}

func (d *fullDisk) WriteAt(p []byte, off int64) (int, error) {
	if d.room.Load() {
		return d.JournalFile.WriteAt(p, off)
	}
	n, err := d.JournalFile.WriteAt(p[:len(p)/2], off)
	signal(d.failed)
	return n, errors.Join(err, &os.PathError{Op: "write", Path: "journal.jsonl", Err: syscall.ENOSPC})
}

// signal puts one value into a channel that has room for one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// desk is a journal over a store, without a team.
type desk struct {
	t     *testing.T
	store *tasks.Store
	path  string
}

func newDesk(t *testing.T) *desk {
	return &desk{t: t, store: newStore(t), path: filepath.Join(t.TempDir(), "journal.jsonl")}
}

// newStore makes a store that is closed when the test is over.
func newStore(t *testing.T) *tasks.Store {
	t.Helper()
	dir := t.TempDir()
	store, err := tasks.Open(filepath.Join(dir, "tasks.db"), &tasks.Options{BlobDir: filepath.Join(dir, "blobs")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// options are those of a journal that nobody watches.
func options(store *tasks.Store) JournalOptions {
	return JournalOptions{
		Team: "crew", Store: store, Log: slog.New(slog.DiscardHandler), See: func(events.Line) {}, Failed: func(error) {},
	}
}

// unwatched are views that look at nothing.
func unwatched() Views {
	return Views{Line: func(events.Line) {}, Stored: func(events.Line) {}, Grew: func(uint64) {}}
}

func (d *desk) open() *Journal {
	d.t.Helper()
	j, err := OpenJournal(d.path, options(d.store))
	if err != nil {
		d.t.Fatal(err)
	}
	j.views = unwatched()
	return j
}

// add commits n events.
func (d *desk) add(n int) {
	d.t.Helper()
	for range n {
		if _, err := d.store.Add(context.Background(), actors.Actor{}, []tasks.New{{Subject: "do it"}}); err != nil {
			d.t.Fatal(err)
		}
	}
}

// check wants a journal that can be read, whose numbers rise, and that holds
// each of the first n events of the store exactly once and in order.
func (d *desk) check(n int) (types []string) {
	d.t.Helper()
	var seq, last uint64
	for l, err := range ReadJournal(d.path, 0) {
		if err != nil {
			d.t.Fatal(err)
		}
		if l.Seq <= seq || l.Store != 0 && l.Store != last+1 {
			d.t.Fatalf("line %d of event %d comes after line %d of event %d", l.Seq, l.Store, seq, last)
		}
		seq, last = l.Seq, max(last, l.Store)
		types = append(types, l.Type)
	}
	if last != uint64(n) {
		d.t.Errorf("the journal holds the events up to %d, want %d", last, n)
	}
	return types
}

func said(text string) events.Event {
	return events.Event{Time: time.Now(), Member: "dev", Turn: 1, Data: events.TextSaid{Text: text}}
}

// TestFullDiskMakesWritersWait: nothing is lost when there is room again.
func TestFullDiskMakesWritersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		j := d.open()
		disk := newFullDisk(j.file)
		j.file = disk
		go j.Run(events.TeamStarted{}, unwatched())
		const many = 3000 // more than the queue holds
		var writer sync.WaitGroup
		var written atomic.Int64
		writer.Go(func() {
			for i := range many {
				j.Append(said(fmt.Sprint(i)))
				written.Add(1)
			}
		})
		d.add(3)
		time.Sleep(fullDiskPatience / 2) // of the bubble's time: the disk stays full
		if n := written.Load(); n >= many || n < 1000 {
			t.Errorf("%d of %d events were taken while the disk was full", n, many)
		}
		if got := d.check(0); len(got) != 0 {
			t.Errorf("a full disk holds %v", got)
		}
		disk.room.Store(true)
		writer.Wait()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if types := d.check(3); len(types) != 1+3+many {
			t.Errorf("%d lines, want %d", len(types), 1+3+many)
		}
		if left, err := d.store.Outbox().Events(context.Background(), 0, 10); err != nil || len(left) > 0 {
			t.Errorf("the outbox still holds %v, %v", left, err)
		}
	})
}

// TestHurryOnAFullDisk: writers are let go at once, what is committed waits
// for the next run, and room that comes too late leaves no gap.
func TestHurryOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		j := d.open()
		disk := newFullDisk(j.file)
		disk.room.Store(true)
		j.file = disk
		go j.Run(events.TeamStarted{}, unwatched())
		d.add(1)
		synctest.Wait()
		disk.room.Store(false)
		d.add(2)
		<-disk.failed
		var writer sync.WaitGroup
		writer.Go(func() {
			for i := range 5000 {
				j.Append(said(fmt.Sprint(i)))
			}
		})
		begun := time.Now()
		j.Hurry()
		j.Hurry() // twice is once
		writer.Wait()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the writers were held for %v", took)
		}
		disk.room.Store(true)
		d.add(1) // would leave events 2 and 3 without lines
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		d.check(1)
		next := d.open()
		go next.Run(events.TeamStarted{Resumed: true}, unwatched())
		if err := next.Close(); err != nil {
			t.Fatal(err)
		}
		d.check(4)
	})
}

// TestCloseWaitsForRoom: a team that is done still tells all of it.
func TestCloseWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		j := d.open()
		disk := newFullDisk(j.file)
		j.file = disk
		go j.Run(events.TeamStarted{}, unwatched())
		closed := make(chan error)
		go func() { closed <- j.Close() }()
		select {
		case err := <-closed:
			t.Fatalf("closed on a full disk: %v", err)
		case <-time.After(fullDiskPatience / 2):
		}
		disk.room.Store(true)
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		if types := d.check(0); len(types) != 1 {
			t.Errorf("lines: %v", types)
		}
	})
}

// TestPatienceWithAFullDisk: nobody waits for ever, and what was committed has
// its lines in the next run.
func TestPatienceWithAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		j := d.open()
		j.file = newFullDisk(j.file)
		d.add(3)
		begun := time.Now()
		go j.Run(events.TeamStarted{}, unwatched())
		err := j.Broken(t.Context())
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make room") {
			t.Errorf("broken: %v", err)
		}
		if took := time.Since(begun); took < fullDiskPatience || took > fullDiskPatience+2*retryAfter {
			t.Errorf("it took %v", took)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		next := d.open()
		go next.Run(events.TeamStarted{Resumed: true}, unwatched())
		if err := next.Close(); err != nil {
			t.Fatal(err)
		}
		d.check(3)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := next.Broken(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a journal that works: %v", err)
		}
	})
}

// TestJournalCutAnywhere runs a journal again and again. In between, the file
// is cut at any byte behind what was made durable, as a power failure would:
// each committed event still gets exactly one line.
func TestJournalCutAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "run")
		if err != nil {
			rt.Fatal(err)
		}
		store, err := tasks.Open(filepath.Join(dir, "tasks.db"), nil)
		if err != nil {
			rt.Fatal(err)
		}
		defer store.Close()
		d := &desk{t: t, store: store, path: filepath.Join(dir, "journal.jsonl")}
		committed := 0
		for range rapid.IntRange(1, 5).Draw(rt, "runs") {
			j := d.open()
			durable := j.size
			j.syncTimer = time.NewTimer(time.Hour)
			for range rapid.IntRange(1, 4).Draw(rt, "writes") {
				n := rapid.IntRange(0, 3).Draw(rt, "events")
				d.add(n)
				committed += n
				j.write(said(rapid.StringN(0, 20, -1).Draw(rt, "text")))
				if rapid.Bool().Draw(rt, "settled") {
					j.sync()
					durable = j.size
				}
			}
			cut := rapid.Int64Range(durable, j.size).Draw(rt, "cut")
			if err := errors.Join(j.file.Truncate(cut), j.file.Close()); err != nil {
				rt.Fatal(err)
			}
		}
		j := d.open()
		go j.Run(events.TeamStarted{}, unwatched())
		if err := j.Close(); err != nil {
			rt.Fatal(err)
		}
		d.check(committed)
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// TestJournalWithDamagedLines goes on behind damage: numbers are not used
// again, no event is told twice, and the damaged file is kept.
func TestJournalWithDamagedLines(t *testing.T) {
	d := newDesk(t)
	d.add(2)
	j := d.open()
	go j.Run(events.TeamStarted{}, unwatched())
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(d.path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	lines[0] = "{\"seq\": damaged\n\x00\x00\n"
	torn := strings.Join(lines, "") + `{"seq":99,"store":77,"type":"to`
	if err := os.WriteFile(d.path, []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	d.add(1)
	again := d.open()
	if !strings.Contains(again.Mended, "2 lines of the journal were damaged, from byte 0 on") {
		t.Errorf("said %q", again.Mended)
	}
	kept, err := filepath.Glob(d.path + ".damaged-*")
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || string(text) != torn {
		t.Errorf("the copy holds %q, %v", text, err)
	}
	go again.Run(events.TeamStarted{Resumed: true}, unwatched())
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	var seqs []uint64
	stored := map[uint64]int{}
	damaged := 0
	for l, err := range ReadJournal(d.path, 0) {
		if err != nil {
			damaged++
			continue
		}
		seqs = append(seqs, l.Seq)
		stored[l.Store]++
	}
	if fmt.Sprint(seqs) != "[2 3 4 5]" || damaged != 0 || stored[1] != 1 || stored[2] != 1 || stored[3] != 1 {
		t.Errorf("lines %v, %d damaged, events %v", seqs, damaged, stored)
	}
}

// TestJournalDamagedBeforeItWasSynced: of three events whose lines were never synced the
// line of the second one is damaged. It gets a new one, and the others keep theirs.
func TestJournalDamagedBeforeItWasSynced(t *testing.T) {
	d := newDesk(t)
	d.add(1)
	j := d.open()
	j.syncTimer = time.NewTimer(time.Hour)
	j.write()
	j.sync()
	d.add(3)
	j.write(said("behind them"))
	if err := j.file.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(d.path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	clear(lines[2][:len(lines[2])-1]) // the event with the number 3
	if err := os.WriteFile(d.path, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	again := d.open()
	var shown []string
	views := unwatched()
	views.Stored = func(l events.Line) { shown = append(shown, fmt.Sprint(l.Store)) }
	go again.Run(events.TeamStarted{Resumed: true}, views)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	var order []string
	for l, err := range ReadJournal(d.path, 0) {
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, fmt.Sprintf("%s/%d", l.Type, l.Store))
	}
	if got := strings.Join(order, " "); got != "task/1 task/2 task/4 text/0 team_started/0 task/3" &&
		got != "task/1 task/2 task/4 text/0 task/3 team_started/0" {
		t.Errorf("the journal holds %s", got)
	}
	if strings.Join(shown, " ") != "3" {
		t.Errorf("the views saw events %v", shown)
	}
	if list, err := d.store.Outbox().Events(t.Context(), 0, 1); err != nil || len(list) > 0 {
		t.Errorf("in the outbox is %v, %v", list, err)
	}
}

// TestJournalIsSyncedUnderSteadyWork: events come faster than the pause in front of a sync.
func TestJournalIsSyncedUnderSteadyWork(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		store, err := tasks.Open(filepath.Join(dir, "tasks.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		d := &desk{t: t, store: store, path: filepath.Join(dir, "journal.jsonl")}
		j := d.open()
		go j.Run(events.TeamStarted{}, unwatched())
		for range 30 {
			d.add(1)
			time.Sleep(syncAfter / 10)
			synctest.Wait()
		}
		list, err := store.Outbox().Events(t.Context(), 0, 0)
		if err != nil || len(list) > 15 {
			t.Errorf("after %v of steady work %d of 30 events wait for their lines to be synced, %v",
				3*syncAfter, len(list), err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestJournalThatCannotBeOpened(t *testing.T) {
	d := newDesk(t)
	if err := os.Mkdir(d.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(d.path, options(d.store)); err == nil {
		t.Error("a folder was taken for a journal")
	}
}

// unwritable is an event that is no JSON.
type unwritable struct{ F func() }

func (unwritable) Type() string { return "unwritable" }

// TestEventThatCannotBeWritten is left out, and the rest goes on.
func TestEventThatCannotBeWritten(t *testing.T) {
	d := newDesk(t)
	j := d.open()
	var shown []string
	views := unwatched()
	views.Line = func(l events.Line) { shown = append(shown, l.Type) }
	j.Tell(unwritable{})
	j.Append(said("<b> & more"))
	go j.Run(events.TeamStarted{}, views)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j.Append(said("too late")) // comes back though nobody writes any more
	data, err := os.ReadFile(d.path)
	if err != nil || !strings.Contains(string(data), `{"text":"<b> & more"}`) ||
		strings.Contains(string(data), "unwritable") {
		t.Errorf("the journal holds %s, %v", data, err)
	}
	if got := strings.Join(shown, " "); got != "text team_started" && got != "team_started text" {
		t.Errorf("the views saw %s", got)
	}
	for text := range strings.Lines(string(data)) {
		if !json.Valid([]byte(text)) {
			t.Errorf("no JSON: %s", text)
		}
	}
}
