package replica

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

// seeds and from choose the schedules of TestSimulation; the proof of docs/reliability.md is
//
//	go test ./tasks/replica -run TestSimulation -seeds 100000
//
// and one schedule is repeated by -from SEED -seeds 1.
var (
	seeds = flag.Int("seeds", 200, "how many schedules TestSimulation tries")
	from  = flag.Uint64("from", 1, "the first seed of TestSimulation")
)

// fakeStream is a stream whose network loses, delays and repeats what it is given.
type fakeStream struct {
	w     *world
	list  []message // in the order of their numbers
	first uint64    // number of list[0]
	late  []delayed // requests under way
}

// delayed is a request that the servers get later.
type delayed struct {
	list []message
	last uint64
}

var errNet = errors.New("the network lost it")

func (s *fakeStream) lastSeq() uint64 { return s.first + uint64(len(s.list)) - 1 }

// store is what the servers do with a request.
func (s *fakeStream) store(list []message, last uint64) (uint64, error) {
	if s.lastSeq() != last {
		return 0, errOther
	}
	for _, m := range list {
		if m.replace {
			for i := range s.list {
				if s.list[i].subject == m.subject {
					s.list[i] = message{} // its number is not used again
				}
			}
		}
		m.seq, m.data = s.lastSeq()+1, bytes.Clone(m.data)
		s.list = append(s.list, m)
	}
	return s.lastSeq(), nil
}

// arrive gives the servers what was delayed, or does not.
func (s *fakeStream) arrive() {
	s.late = slices.DeleteFunc(s.late, func(d delayed) bool {
		if !s.w.chance(0.4) {
			return false
		}
		_, _ = s.store(d.list, d.last) // nobody waits for the answer
		return true
	})
}

func (s *fakeStream) publish(_ context.Context, list []message, last uint64) (uint64, error) {
	s.arrive()
	copied := slices.Clone(list)
	for i := range copied {
		copied[i].data = bytes.Clone(copied[i].data)
	}
	switch {
	case s.w.chance(0.02): // and it stays so
		return 0, fmt.Errorf("%w: the stream is full", store.ErrRefused)
	case s.w.chance(s.w.faults):
		return 0, errNet
	case s.w.chance(s.w.faults):
		s.late = append(s.late, delayed{copied, last})
		return 0, errNet
	}
	seq, err := s.store(copied, last)
	if s.w.chance(s.w.faults) {
		return 0, errNet // the answer is lost
	}
	if s.w.chance(s.w.faults) {
		s.late = append(s.late, delayed{copied, last}) // it comes twice
	}
	return seq, err
}

func (s *fakeStream) compete(_ context.Context, m message, last uint64) (uint64, error) {
	s.arrive()
	if s.w.chance(s.w.faults) {
		return 0, errNet
	}
	have, err := s.find(m.subject)
	if err == nil && have.seq != last || errors.Is(err, errNone) && last != 0 {
		return 0, errOther
	}
	seq, err := s.store([]message{m}, s.lastSeq())
	if s.w.chance(s.w.faults) {
		return 0, errNet
	}
	return seq, err
}

func (s *fakeStream) find(subject string) (message, error) {
	for _, m := range slices.Backward(s.list) {
		if m.subject == subject {
			return m, nil
		}
	}
	return message{}, errNone
}

func (s *fakeStream) get(_ context.Context, seq uint64) (message, error) {
	s.arrive()
	if s.w.chance(s.w.faults) {
		return message{}, errNet
	}
	if seq < s.first || seq > s.lastSeq() || s.list[seq-s.first].seq == 0 {
		return message{}, errNone
	}
	return s.list[seq-s.first], nil
}

func (s *fakeStream) lastOf(_ context.Context, subject string) (message, error) {
	if s.w.chance(s.w.faults) {
		return message{}, errNet
	}
	return s.find(subject)
}

func (s *fakeStream) bounds(context.Context) (first, last uint64, err error) {
	if s.w.chance(s.w.faults) {
		return 0, 0, errNet
	}
	return s.first, s.lastSeq(), nil
}

// read answers as a server that may be behind.
func (s *fakeStream) read(_ context.Context, from uint64, each func(message) error) error {
	most := s.lastSeq()
	if s.w.chance(s.w.faults) {
		most = min(most, from+s.w.rand.Uint64N(3))
	}
	for seq := max(from, s.first); seq <= most; seq++ {
		if m := s.list[seq-s.first]; m.seq > 0 {
			if err := each(m); err != nil {
				return err
			}
		}
		if s.w.chance(s.w.faults) {
			return errNet
		}
	}
	return nil
}

func (s *fakeStream) purge(_ context.Context, before uint64) error {
	if n := int(min(before, s.lastSeq()+1)) - int(s.first); n > 0 {
		s.list, s.first = slices.Clone(s.list[n:]), s.first+uint64(n)
	}
	return nil
}

// fakeObjects is an object store in memory. A Log drops objects in the background.
type fakeObjects struct {
	w    *world
	mu   sync.Mutex
	list map[string][]byte
}

func (o *fakeObjects) put(name string, content io.Reader) error {
	data, err := io.ReadAll(content)
	if err != nil || o.w.chance(o.w.faults/4) {
		return errors.Join(err, errNet)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list[name] = data
	return nil
}

func (o *fakeObjects) get(name string, to io.Writer) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	data, ok := o.list[name]
	if !ok {
		return errNone
	}
	_, err := to.Write(data)
	return err
}

func (o *fakeObjects) drop(name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.list, name)
	return nil
}

func (o *fakeObjects) names(prefix string) (names []string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name := range o.list {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, nil
}

// world is one schedule.
type world struct {
	t       *testing.T
	rand    *rand.Rand
	faults  float64 // how likely each fault is
	now     time.Time
	log     *fakeStream
	lines   *fakeStream
	objects *fakeObjects
	hosts   int
	leads   []*simLead // all coordinators, the last one the true one
	fates   map[string]fate
}

// fate is what the caller of a change was told.
type fate int

const (
	acknowledged fate = iota
	refused           // it has not happened
	unknown
)

// simLead is a coordinator with its store.
type simLead struct {
	lead *Lead
	*tasks.Store
	path string
}

func (w *world) chance(p float64) bool { return w.rand.Float64() < p }

// candidate returns a process that has not begun its epoch.
func (w *world) candidate() *Lead {
	d := newLead(w.log, w.lines, w.objects, "sim")
	for _, c := range []*chain{d.Log.chain, d.Journal.chain} {
		c.now = func() time.Time { return w.now }
		c.pause = func(d time.Duration) { w.now = w.now.Add(d * 50) } // a try lasts longer than its pause
	}
	return d
}

// begin makes a new coordinator, on a host that has nothing or old files.
func (w *world) begin(ctx context.Context) error {
	w.hosts++
	dir := w.t.TempDir()
	h := &simLead{lead: w.candidate(), path: filepath.Join(dir, "tasks.db")}
	open := func(r store.Replica) (err error) {
		h.Store, err = tasks.Open(h.path, &tasks.Options{Replica: r})
		return err
	}
	c := Candidate{Holder: fmt.Sprint(w.hosts), Store: h.path, Journal: filepath.Join(dir, "journal.jsonl"), Prepare: func(r store.Replica) error {
		if err := open(r); err != nil {
			return err
		}
		return h.Close()
	}}
	for {
		last, err := lastEpoch(ctx, w.log, "covey.sim.epoch")
		if err != nil {
			continue
		}
		err = h.lead.take(ctx, last, c)
		if err == nil {
			break
		}
		if errors.Is(err, ErrFenced) || errors.Is(err, errNet) || errors.Is(err, ErrUnknown) || errors.Is(err, store.ErrRefused) {
			// The process ends and is started again.
			h.lead = w.candidate()
			continue
		}
		return err
	}
	w.leads = append(w.leads, h)
	return open(h.lead.Log)
}

// change makes a change by one of the coordinators.
func (w *world) change(ctx context.Context, h *simLead) {
	subject := fmt.Sprintf("task %d", len(w.fates))
	text := ""
	if w.chance(0.1) {
		text = strings.Repeat("x", store.InlineLimit+w.rand.IntN(1000))
	}
	list := []tasks.New{{Subject: subject, Description: text}}
	if w.chance(0.003) { // its record needs several messages
		more := tasks.New{Subject: subject + ", more", Description: strings.Repeat("y", store.InlineLimit-1)}
		list = append(list, slices.Repeat([]tasks.New{more}, maxPart/store.InlineLimit+1)...)
	}
	_, err := h.Add(ctx, actors.Actor{}, list)
	switch {
	case err == nil && h != w.leads[len(w.leads)-1]:
		w.t.Errorf("a deposed coordinator had %q acknowledged", subject)
	case err == nil:
		w.fates[subject] = acknowledged
	case errors.Is(err, tasks.ErrDisk), h.Cause() != nil && !errors.Is(err, tasks.ErrReplica):
		w.fates[subject] = refused
	default:
		w.fates[subject] = unknown
	}
}

// snapshot ends a coordinator in order.
func (w *world) snapshot(h *simLead) {
	if h.Cause() != nil {
		return
	}
	if err := h.Close(); err != nil {
		w.t.Error(err)
	}
	im, err := store.ReadImage(h.path)
	if err != nil {
		w.t.Error(err)
		return
	}
	if at, known := im.State(); known {
		_ = h.lead.Log.Snapshot(h.path, at)
	}
}

// TestSimulation: coordinators of one team change each other while the network loses, delays and
// repeats what they say. What was acknowledged is there once, what was refused is not there, and a
// deposed coordinator gets nothing acknowledged.
func TestSimulation(t *testing.T) {
	for seed := *from; seed < *from+uint64(*seeds); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel() // most of the time is spent on the disk
			simulate(t, seed)
		})
	}
}

func simulate(t *testing.T, seed uint64) {
	w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(0, 0), fates: map[string]fate{}}
	w.faults = []float64{0, 0.05, 0.2}[w.rand.IntN(3)]
	w.log, w.lines = &fakeStream{w: w, first: 1}, &fakeStream{w: w, first: 1}
	w.objects = &fakeObjects{w: w, list: map[string][]byte{}}
	ctx := t.Context()
	begin := func() {
		if err := w.begin(ctx); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for _, h := range w.leads {
			h.lead.Log.dropping.Wait()
			_ = h.Close()
		}
	}()
	begin()
	for range 25 {
		now := w.leads[len(w.leads)-1]
		switch n := w.rand.IntN(20); {
		case n < 1:
			begin()
		case n < 2:
			w.snapshot(now)
			begin()
		case n < 4 && len(w.leads) > 1:
			w.change(ctx, w.leads[w.rand.IntN(len(w.leads)-1)])
		case n < 5:
			_ = now.lead.Journal.beat(now.lead.Log.Epoch())
		default:
			w.change(ctx, now)
			if now.Cause() != nil {
				begin()
			}
		}
	}
	w.faults = 0
	begin()
	w.judge(ctx)
}

// TestBeginAfterRelease: a candidate that has seen an epoch before its coordinator ended in order, or stored
// a snapshot, looks again.
func TestBeginAfterRelease(t *testing.T) {
	w := &world{t: t, rand: rand.New(rand.NewPCG(1, 1)), now: time.Unix(0, 0), fates: map[string]fate{}}
	w.log, w.lines = &fakeStream{w: w, first: 1}, &fakeStream{w: w, first: 1}
	w.objects = &fakeObjects{w: w, list: map[string][]byte{}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.begin(ctx); err != nil {
		t.Fatal(err)
	}
	defer w.leads[0].Close()
	seen, err := lastEpoch(ctx, w.log, "covey.sim.epoch")
	if err != nil {
		t.Fatal(err)
	}
	for err := errNet; err != nil; { // the fake refuses now and then
		err = w.leads[0].lead.Log.release()
	}
	if _, err := w.candidate().Log.begin(ctx, seen, Epoch{Holder: "next"}); !errors.Is(err, ErrFenced) {
		t.Errorf("a candidate with an old view: %v", err)
	}
}

// TestTooLarge: what needs more messages than a batch may have is refused before any is sent.
func TestTooLarge(t *testing.T) {
	c := &chain{now: time.Now} // without a stream
	if err := c.append(&batch{list: make([]message, maxParts+1)}); !errors.Is(err, store.ErrRefused) || c.open != nil {
		t.Errorf("too many messages: %v", err)
	}
}

// TestTakeAgain: a candidate that another one deposes while it takes over can take over later.
func TestTakeAgain(t *testing.T) {
	w := &world{t: t, rand: rand.New(rand.NewPCG(1, 1)), now: time.Unix(0, 0), fates: map[string]fate{}}
	w.log, w.lines = &fakeStream{w: w, first: 1}, &fakeStream{w: w, first: 1}
	w.objects = &fakeObjects{w: w, list: map[string][]byte{}}
	first, dir := w.candidate(), t.TempDir()
	take := func(meanwhile func() error) error {
		last, err := lastEpoch(t.Context(), w.log, "covey.sim.epoch")
		if err != nil {
			return err
		}
		path := filepath.Join(dir, "tasks.db")
		return first.take(t.Context(), last, Candidate{Holder: "first", Store: path, Journal: filepath.Join(dir, "journal.jsonl"),
			Prepare: func(r store.Replica) error {
				s, err := tasks.Open(path, &tasks.Options{Replica: r})
				if err != nil {
					return err
				}
				err = meanwhile()
				if err == nil {
					_, err = s.Add(t.Context(), actors.Actor{}, []tasks.New{{Subject: "a migration"}})
				}
				return errors.Join(err, s.Close())
			}})
	}
	if err := take(func() error { return w.begin(t.Context()) }); !errors.Is(err, ErrFenced) {
		t.Fatalf("a candidate that was deposed: %v", err)
	}
	defer w.leads[0].Close()
	err := errNet
	for errors.Is(err, errNet) || errors.Is(err, store.ErrRefused) { // the fake refuses now and then
		err = take(func() error { return nil })
	}
	if err != nil {
		t.Errorf("the same candidate later: %v", err)
	}
	first.Log.dropping.Wait()
}

// judge compares what the last coordinator has with what callers were told.
func (w *world) judge(ctx context.Context) {
	last := w.leads[len(w.leads)-1]
	all, err := last.List(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	times := map[string]int{}
	for _, task := range all {
		times[task.Subject]++
	}
	for subject, told := range w.fates {
		if n := times[subject]; n > 1 || n == 0 && told == acknowledged || n == 1 && told == refused {
			w.t.Errorf("%s is there %d times; its caller was told %d", subject, n, told)
		}
	}
	if err := last.Check(ctx); err != nil {
		w.t.Error(err)
	}
}
