package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coveyteam/covey/tasks/store"
)

// The other peer is a board as many have written it: one JSON file with all tasks and one
// lock file. A claim takes the lock, reads the file, looks for the task, and writes the
// file anew beside the old one, which it then replaces; with durable it syncs both, as
// ours does. It is in Go as well.

// fileBoard is that file.
type fileBoard struct {
	peerBoard        // its folder, lock and syncs
	file      string // absolute path
}

// tasks reads all tasks.
func (f fileBoard) tasks() (list []peerTask, err error) {
	data, err := os.ReadFile(f.file)
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

// replace writes all tasks.
func (f fileBoard) replace(list []peerTask) error {
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	part := f.file + ".part"
	if err := os.WriteFile(part, data, 0o600); err != nil {
		return err
	}
	if f.durable {
		err = store.SyncFile(part)
	}
	if err = errors.Join(err, os.Rename(part, f.file)); err != nil || !f.durable {
		return err
	}
	return store.SyncDir(f.dir)
}

// claim takes a task for a member.
func (f fileBoard) claim(id, member string) error {
	return f.locked("board", func() error {
		list, err := f.tasks()
		if err != nil {
			return err
		}
		for i := range list {
			if list[i].ID != id {
				continue
			}
			if list[i].Owner != "" || list[i].Status != Pending {
				return errPeerOwned
			}
			list[i].Owner, list[i].Status = member, InProgress
			return f.replace(list)
		}
		return ErrNotFound
	})
}

// newFileBoard makes a board of n tasks.
func newFileBoard(b *testing.B, n int) fileBoard {
	b.Helper()
	f := fileBoard{peerBoard: peerBoard{dir: b.TempDir()}}
	f.file = filepath.Join(f.dir, "tasks.json")
	list := make([]peerTask, n)
	for i := range list {
		list[i] = peerTask{ID: fmt.Sprint(i + 1), Subject: "Add the endpoint", Status: Pending,
			Description: "GET /changelog with paging and an ETag"}
	}
	if err := f.replace(list); err != nil {
		b.Fatal(err)
	}
	return f
}

// BenchmarkPeerFile compares claims of 1,000 members among 100,000 tasks with those on a
// board of one file, in turns, and what it takes to open the two and to hold them.
//
//	go test -run xxx -bench PeerFile -benchtime 3x ./tasks
func BenchmarkPeerFile(b *testing.B) {
	const members = 1000
	f := newFileBoard(b, *stored)
	path := filepath.Join(b.TempDir(), "tasks.db")
	s, err := Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	furnish(b, s, *stored)
	next := 0
	for _, durable := range []bool{true, false} {
		f.durable = durable
		b.Run(fmt.Sprintf("claim/durable=%v", durable), func(b *testing.B) {
			var ours, theirs, ratios series
			for b.Loop() {
				o := twice(b, members, 6000, func(task, member string) (bool, error) {
					_, err := s.Claim(context.Background(), as(member), task, Claim{})
					return err == nil, onlyIf(err, ErrOwned)
				}, &next)
				giveUp(b, s, members)
				// Only one at a time has the lock, so one caller is as fast as a thousand.
				const few = 8
				t := twice(b, 1, few, func(task, member string) (bool, error) {
					err := f.claim(task, member)
					return err == nil, onlyIf(err, errPeerOwned)
				}, &next)
				ours, theirs, ratios = append(ours, o), append(theirs, t), append(ratios, o/t)
			}
			report(b, ours, theirs, ratios)
		})
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) { compareOpening(b, path, f) })
}

// compareOpening opens a store and reads a board, in turns.
func compareOpening(b *testing.B, path string, f fileBoard) {
	var ours, theirs, held, theirHeld, ratios series
	for b.Loop() {
		before, begun := heap(), time.Now()
		s, err := Open(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		o := time.Since(begun)
		held = append(held, float64(heap()-before)/1024)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		before, begun = heap(), time.Now()
		list, err := f.tasks()
		t := time.Since(begun)
		if err != nil || len(list) != *stored {
			b.Fatal(len(list), err)
		}
		theirHeld = append(theirHeld, float64(heap()-before)/1024)
		if list[0].ID != "1" { // it is held until here
			b.Fatal(list[0])
		}
		ours, theirs = append(ours, o.Seconds()*1000), append(theirs, t.Seconds()*1000)
		ratios = append(ratios, t.Seconds()/o.Seconds())
	}
	b.ReportMetric(ours.median(), "open-ms")
	b.ReportMetric(theirs.median(), "peer-open-ms")
	b.ReportMetric(held.median(), "heap-KiB")
	b.ReportMetric(theirHeld.median(), "peer-heap-KiB")
	b.ReportMetric(ratios.median(), "x-peer")
}
