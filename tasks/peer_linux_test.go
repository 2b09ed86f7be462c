package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coveyteam/covey/tasks/store"
)

// One peer is a board as the best-known agent host has it (TEAMS.md 3): a JSON file a task
// and a lock file beside it, taken with 30 tries and pauses of 5 to 100 ms; inside, the
// task is read again, refused if it has an owner, is done or waits for others, and written
// back. It is written in Go, so what differs is the design and not the language, and it
// syncs nothing, which ours does; with durable it promises as much as ours. What it does
// when a member may have one task only is its own variant: one lock for the list, and all
// tasks are read.

// peerBoard is a folder of tasks.
type peerBoard struct {
	dir     string
	durable bool
}

// peerTask is what a file holds.
type peerTask struct {
	ID, Subject, Description, Owner string
	Status                          Status
	BlockedBy                       []string
}

var (
	errPeerOwned = errors.New("already claimed")
	errPeerBusy  = errors.New("agent already has open work")
	errPeerLock  = errors.New("the lock was not to be had")
)

func (p peerBoard) path(id string) string { return filepath.Join(p.dir, id+".json") }

// furnish writes n tasks.
func (p peerBoard) furnish(b *testing.B, n int) {
	b.Helper()
	for i := range n {
		task := peerTask{ID: fmt.Sprint(i + 1), Subject: "Add the endpoint", Status: Pending,
			Description: "GET /changelog with paging and an ETag"}
		if err := p.write(task); err != nil {
			b.Fatal(err)
		}
	}
}

func (p peerBoard) read(id string) (task peerTask, err error) {
	data, err := os.ReadFile(p.path(id))
	if err == nil {
		err = json.Unmarshal(data, &task)
	}
	return task, err
}

func (p peerBoard) write(task peerTask) error {
	data, err := json.MarshalIndent(task, "", "  ")
	if err != nil {
		return err
	}
	if !p.durable {
		return os.WriteFile(p.path(task.ID), data, 0o600)
	}
	part := p.path(task.ID) + ".part" // a torn file would lose the task
	if err := errors.Join(os.WriteFile(part, data, 0o600), store.SyncFile(part), os.Rename(part, p.path(task.ID))); err != nil {
		return err
	}
	return store.SyncDir(p.dir)
}

// locked runs fn with a lock file held.
func (p peerBoard) locked(name string, fn func() error) error {
	lock := filepath.Join(p.dir, name+".lock")
	pause := 5 * time.Millisecond
	for range 30 {
		f, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			time.Sleep(pause/2 + rand.N(pause/2))
			pause = min(2*pause, 100*time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		return errors.Join(fn(), f.Close(), os.Remove(lock))
	}
	return errPeerLock
}

// take is what happens inside the lock.
func (p peerBoard) take(id, member string) error {
	task, err := p.read(id)
	if err != nil {
		return err
	}
	if task.Owner != "" || task.Status == Completed {
		return errPeerOwned
	}
	for _, blocker := range task.BlockedBy {
		if by, err := p.read(blocker); err != nil || by.Status != Completed {
			return ErrBlocked
		}
	}
	task.Owner, task.Status = member, InProgress
	return p.write(task)
}

// claim takes a task for a member.
func (p peerBoard) claim(id, member string) error {
	return p.locked(id, func() error { return p.take(id, member) })
}

// claimOne does so for a member that may have one task only.
func (p peerBoard) claimOne(id, member string) error {
	return p.locked("list", func() error {
		entries, err := os.ReadDir(p.dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if filepath.Ext(e.Name()) != ".json" {
				continue
			}
			task, err := p.read(e.Name()[:len(e.Name())-len(".json")])
			if err == nil && task.Owner == member && task.Status == InProgress {
				return errPeerBusy
			}
		}
		return p.take(id, member)
	})
}

// BenchmarkPeer compares claims of 1,000 members among 100,000 tasks with the peer's, in
// turns. Each task is claimed twice at once and has one winner.
//
//	go test -run xxx -bench Peer -benchtime 3x ./tasks
func BenchmarkPeer(b *testing.B) {
	const members = 1000
	s := open(b, nil)
	furnish(b, s, *stored)
	p := peerBoard{dir: b.TempDir()}
	p.furnish(b, *stored)
	next := 0
	for _, p := range []peerBoard{p, {dir: p.dir, durable: true}} {
		b.Run(fmt.Sprintf("claim/durable=%v", p.durable), func(b *testing.B) {
			var ours, theirs, ratios series
			for b.Loop() {
				o := twice(b, members, 6000, func(task, member string) (bool, error) {
					_, err := s.Claim(context.Background(), as(member), task, Claim{})
					return err == nil, onlyIf(err, ErrOwned)
				}, &next)
				giveUp(b, s, members)
				back := next - 6000
				t := twice(b, members, 6000, func(task, member string) (bool, error) {
					err := p.claim(task, member)
					return err == nil, onlyIf(err, errPeerOwned, errPeerLock)
				}, &back)
				ours, theirs, ratios = append(ours, o), append(theirs, t), append(ratios, o/t)
			}
			report(b, ours, theirs, ratios)
		})
	}
	b.Run("one-at-a-time", func(b *testing.B) {
		var ours, theirs, ratios series
		next := *stored / 2
		for b.Loop() {
			o := twice(b, members, members, func(task, member string) (bool, error) {
				_, err := s.Claim(context.Background(), as(member), task, Claim{Max: 1})
				return err == nil, onlyIf(err, ErrOwned, ErrBusy)
			}, &next)
			giveUp(b, s, members)
			const few = 2 // each reads all tasks, so one caller is as fast as a thousand
			back := next - few
			t := twice(b, 1, few, func(task, member string) (bool, error) {
				err := p.claimOne(task, fmt.Sprint(member, " of round ", next))
				return err == nil, onlyIf(err, errPeerOwned, errPeerBusy, errPeerLock)
			}, &back)
			ours, theirs, ratios = append(ours, o), append(theirs, t), append(ratios, o/t)
		}
		report(b, ours, theirs, ratios)
	})
}

// onlyIf keeps an error unless it is one of those that a race is lost with.
func onlyIf(err error, lost ...error) error {
	if slices.ContainsFunc(lost, func(target error) bool { return errors.Is(err, target) }) {
		return nil
	}
	return err
}

// twice has two claims for each of total/2 tasks behind next, from so many members, and
// gives how many claims a second were won. No task may have two winners.
func twice(b *testing.B, members, total int, claim func(task, member string) (bool, error), next *int) float64 {
	b.Helper()
	first := *next % (*stored - total)
	*next += total
	winners := make([]atomic.Int64, total/2+1)
	won := atomic.Int64{}
	start := time.Now()
	parallel(b, members, total, func(c, i int) error {
		n := (i + 1) / 2
		ok, err := claim(fmt.Sprint(first+n), memberName(c))
		if err != nil || !ok {
			return err
		}
		won.Add(1)
		// The same member may have made both claims: then the second one changed nothing.
		if had := winners[n].Swap(int64(c + 1)); had != 0 && had != int64(c+1) {
			return fmt.Errorf("task %d went to members %d and %d", first+n, had-1, c)
		}
		return nil
	})
	return float64(won.Load()) / time.Since(start).Seconds()
}

func report(b *testing.B, ours, theirs, ratios series) {
	b.ReportMetric(ours.median(), "claims/s")
	b.ReportMetric(theirs.median(), "peer-claims/s")
	b.ReportMetric(ratios.median(), "x-peer")
}
