package tasks

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"

	bolt "go.etcd.io/bbolt"
)

// How the figures of PERF.md are made: each round measures the raw disk and
// the store one after the other, and the median of the rounds' ratios counts.
//
//	go test -run xxx -bench . -benchtime 7x ./tasks
//	go test -run xxx -bench Open -benchtime 7x ./tasks -stored 1000000

// stored is how many tasks the store holds in BenchmarkOpen and BenchmarkClaim.
var stored = flag.Int("stored", 100_000, "how many tasks benchmarks begin with")

// rawDisk writes 4 KiB and syncs them, one caller at a time.
type rawDisk struct {
	f    *os.File
	page [4096]byte
}

func newRawDisk(b *testing.B) *rawDisk {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	r := &rawDisk{f: f}
	r.rate(b) // the file has its size now, so that only data is synced from here on
	return r
}

// rate gives writes a second.
func (r *rawDisk) rate(b *testing.B) float64 {
	const writes = 60
	start := time.Now()
	for i := range writes {
		r.page[0]++
		if _, err := r.f.WriteAt(r.page[:], int64(i%4)*4096); err != nil {
			b.Fatal(err)
		}
		if err := syscall.Fdatasync(int(r.f.Fd())); err != nil {
			b.Fatal(err)
		}
	}
	return writes / time.Since(start).Seconds()
}

// series collects one figure a round.
type series []float64

func (s series) median() float64 {
	slices.Sort(s)
	return s[len(s)/2]
}

// counting gives options for a store that counts its commits.
func counting() (*Options, *atomic.Int64) {
	n := new(atomic.Int64)
	return &Options{commit: func(tx *bolt.Tx) error {
		err := tx.Commit()
		if err == nil {
			n.Add(1)
		}
		return err
	}}, n
}

// parallel runs op from so many callers, total times in all, and gives how
// many a second.
func parallel(b *testing.B, callers, total int, op func(caller, i int) error) float64 {
	var next atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for c := range callers {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= total; i = int(next.Add(1)) {
				if err := op(c, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(total) / time.Since(start).Seconds()
}

// perRound is how many changes a round makes.
func perRound(callers int) int { return min(max(callers*20, 60), 6000) }

// BenchmarkCommit: one small durable change a call.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 8, 64, 1000} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			opts, commits := counting()
			s, raw := open(b, opts), newRawDisk(b)
			keys := make([]string, callers)
			for i := range keys {
				keys[i] = fmt.Sprint("key-", i)
			}
			var ratios, rates series
			total := perRound(callers)
			b.ReportAllocs()
			for b.Loop() {
				base := raw.rate(b)
				rate := parallel(b, callers, total, func(c, i int) error {
					return s.Put(context.Background(), keys[c], []byte("1"))
				})
				ratios, rates = append(ratios, rate/base), append(rates, rate)
			}
			b.ReportMetric(ratios.median(), "x-raw")
			b.ReportMetric(rates.median(), "changes/s")
			b.ReportMetric(float64(commits.Load())/float64(total*len(ratios)), "commits/change")
		})
	}
}

// BenchmarkClaim: members claim from a long list, two of them after each task,
// and no task may have two winners.
func BenchmarkClaim(b *testing.B) {
	opts, commits := counting()
	s, raw := open(b, opts), newRawDisk(b)
	furnish(b, s, *stored)
	for _, callers := range []int{1, 8, 64, 1000} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			var ratios, rates series
			total := min(perRound(callers), *stored) * 2
			for b.Loop() {
				base := raw.rate(b)
				commits.Store(0)
				rate := claimRound(b, s, callers, total) / 2
				ratios, rates = append(ratios, rate/base), append(rates, rate)
				b.ReportMetric(float64(commits.Load())/float64(total/2), "commits/claim")
				giveUp(b, s, callers)
			}
			b.ReportMetric(ratios.median(), "x-raw")
			b.ReportMetric(rates.median(), "claims/s")
		})
	}
}

// claimRound has two claims for each of total/2 tasks and checks that each
// task went to one member.
func claimRound(b *testing.B, s *Store, callers, total int) float64 {
	winner := make([]atomic.Int64, total/2+1)
	rate := parallel(b, callers, total, func(c, i int) error {
		id := (i + 1) / 2
		task, err := s.Claim(context.Background(), as(memberName(c)), store.FormatID(uint64(id)), Claim{})
		if errors.Is(err, ErrOwned) {
			return nil
		}
		me := int64(c + 1)
		if err == nil && !winner[id].CompareAndSwap(0, me) && winner[id].Load() != me {
			return fmt.Errorf("task %s went to members %d and %d", task.ID, winner[id].Load(), me)
		}
		return err
	})
	for id := 1; id < len(winner); id++ {
		want := memberName(int(winner[id].Load() - 1))
		if task := get(b, s, store.FormatID(uint64(id))); task.Status != InProgress || task.Owner != want {
			b.Fatalf("task %d: %+v, want it with %s", id, task, want)
		}
	}
	return rate
}

func giveUp(b *testing.B, s *Store, callers int) {
	b.Helper()
	parallel(b, callers, callers, func(_, i int) error { // at once, because each commit has a sync
		_, err := s.Release(context.Background(), actors.Actor{}, memberName(i-1), "")
		return err
	})
	drain(b, s)
}

// furnish adds n tasks.
func furnish(b *testing.B, s *Store, n int) {
	b.Helper()
	const chunk = 2000
	for n > 0 {
		list := make([]New, min(n, chunk))
		for i := range list {
			list[i] = New{Subject: "Add the endpoint", Description: "GET /changelog with paging and an ETag"}
		}
		if _, err := s.Add(b.Context(), actors.Actor{}, list); err != nil {
			b.Fatal(err)
		}
		drain(b, s)
		n -= len(list)
	}
}

// BenchmarkOpen opens a store of many tasks; PERF.md's goal is 250 ms for a million.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "tasks.db")
	s := openAt(b, path, nil)
	furnish(b, s, *stored)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	before := heap()
	var held series
	for b.Loop() {
		s, err := Open(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		held = append(held, float64(heap()-before)/1024)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(held.median(), "heap-KiB")
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)*1e6/float64(*stored), "ms/million-tasks")
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkRead: what a member asks at each turn end, among many tasks.
func BenchmarkRead(b *testing.B) {
	s := open(b, nil)
	furnish(b, s, *stored)
	claim(b, s, "7", "ann")
	for name, read := range map[string]func() ([]Task, error){
		"InProgress": func() ([]Task, error) { return s.InProgress(b.Context(), "ann") },
		"Task":       func() ([]Task, error) { task, err := s.Task(b.Context(), "7"); return []Task{task}, err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if list, err := read(); err != nil || len(list) != 1 {
					b.Fatal(list, err)
				}
			}
		})
	}
}

// BenchmarkCommitLog: what the log of commits costs, as claims a second with it by claims
// a second without it, one after the other in each round.
func BenchmarkCommitLog(b *testing.B) {
	plain := open(b, nil)
	logged := openAt(b, filepath.Join(b.TempDir(), "tasks.db"), &Options{Backups: 1, BackupEvery: time.Hour})
	for _, s := range []*Store{plain, logged} {
		furnish(b, s, min(*stored, 20_000))
		if err := s.Backup(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for _, callers := range []int{1, 8, 64, 1000} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			var ratios series
			total, turn := perRound(callers)*2, 0
			rate := func(s *Store) float64 {
				rate := claimRound(b, s, callers, total)
				giveUp(b, s, callers)
				return rate
			}
			for b.Loop() {
				if turn++; turn%2 == 0 { // neither always goes first
					with := rate(logged)
					ratios = append(ratios, with/rate(plain))
				} else {
					without := rate(plain)
					ratios = append(ratios, rate(logged)/without)
				}
			}
			b.ReportMetric(ratios.median(), "x-without")
		})
	}
}
