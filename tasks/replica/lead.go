package replica

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/coveyteam/covey/tasks/store"
)

// The lease. Safety does not depend on it, and no times of two hosts are compared.
const (
	// beatEvery is the time between two signs of life of a coordinator.
	beatEvery = 2 * time.Second
	// leaseWait is how long a coordinator must be silent before another process takes over.
	leaseWait = 10 * time.Second
	// ackWait is how long a coordinator may be without an answer of the servers before it begins
	// no turns.
	ackWait = 8 * time.Second
	// commitWait is how long the outcome of a commit is looked for.
	commitWait = time.Minute
)

// ErrElsewhere: another process runs the team.
var ErrElsewhere = errors.New("already run on another host")

// Candidate describes a process that wants to be the coordinator.
type Candidate struct {
	Holder     string // identifies its folder; a process that has locked that folder is its only one
	Host       string
	PID        int
	Version    string // of covey
	Repository string // what the team works on; empty: unknown
	Fresh      bool   // forget what the team has done
	Repair     bool   // what the streams have of the store is damaged: begin anew from the file
	Store      string // path of the store's file
	Journal    string // path of the journal
	// Prepare opens and closes the store, with this replica, so that it exists in the newest format.
	Prepare func(store.Replica) error
	// Waits is called with each epoch whose end a standby waits for, and with the number 0 while the servers
	// have no leader; it must not block.
	Waits func(Epoch)
}

// Lead is the coordinator of a team: the one process that changes the store.
type Lead struct {
	Log     *Log
	Journal *Journal
	link    *Link
	unsafe  error        // why the servers are not safe; nil: they are
	standby atomic.Value // of standbyHeard
	heard   *nats.Subscription
}

// standbyHeard is the last sign of life of a standby.
type standbyHeard struct {
	host string
	at   time.Time
}

// alive is a sign of life: of a coordinator with its epoch, or of a standby.
type alive struct {
	Epoch uint64 `json:"epoch,omitempty"`
	Host  string `json:"host"`
}

// subject returns a subject of the team.
func (l *Link) subject(of string) string { return "covey." + l.config.Team + "." + of }

// Lead makes this process the coordinator, unless another one is alive: then it fails with
// ErrElsewhere, or waits with wait until the other is silent.
func (l *Link) Lead(ctx context.Context, c Candidate, wait bool) (*Lead, error) {
	var records, lines *jetStream
	var objects *jetObjects
	var unsafe error
	err := l.led(ctx, func() (err error) {
		if records, lines, objects, err = l.streams(ctx); err != nil {
			return err
		}
		if unsafe = l.safe(ctx, records); l.config.Unsafe {
			return nil
		}
		return unsafe
	})
	if err != nil {
		return nil, err
	}
	lead := newLead(records, lines, objects, l.config.Team)
	lead.link, lead.unsafe = l, unsafe
	for {
		last, err := l.mayLead(ctx, records, c, wait)
		if err != nil {
			return nil, err
		}
		err = lead.take(ctx, last, c)
		if errors.Is(err, ErrFenced) {
			continue // another candidate was faster
		}
		if err != nil {
			return nil, err
		}
		if lead.heard, err = l.nc.Subscribe(l.subject("standby"), lead.hear); err != nil {
			return nil, err
		}
		return lead, nil
	}
}

// newLead returns the coordinator of a team that keeps its data in these.
func newLead(records, lines stream, texts objects, team string) *Lead {
	subject := "covey." + team + "."
	return &Lead{
		Log: &Log{
			chain:   &chain{stream: records, patience: commitWait, now: time.Now, pause: time.Sleep},
			objects: texts, records: subject + "log", epochs: subject + "epoch",
		},
		Journal: &Journal{
			chain: &chain{stream: lines, now: time.Now, pause: time.Sleep},
			lines: subject + "journal", beats: subject + "live",
		},
	}
}

// mayLead returns the last epoch once its coordinator is gone.
func (l *Link) mayLead(ctx context.Context, records stream, c Candidate, wait bool) (Epoch, error) {
	var last Epoch
	look := func() (err error) {
		last, err = lastEpoch(ctx, records, l.subject("epoch"))
		return l.streamError(err)
	}
	told := ^uint64(0)
	tell := func(e Epoch) {
		if told != e.Number && c.Waits != nil {
			c.Waits(e)
			told = e.Number
		}
	}
	for {
		var err error
		if wait {
			err = look()
		} else {
			err = l.led(ctx, look)
		}
		switch {
		case errors.Is(err, store.ErrFormat), err != nil && !wait:
			return last, err
		case err != nil:
			tell(Epoch{})
		case last.Repository != "" && c.Repository != "" && last.Repository != c.Repository:
			return last, fmt.Errorf("%w: the streams of the name %s belong to a team that works on another repository; rename this team",
				store.ErrForeign, l.config.Team)
		case last.Holder == "", last.Holder == c.Holder:
			return last, nil
		default:
			heard, err := l.listen(ctx, last.Number, c)
			if err != nil || !heard {
				return last, err
			}
			if !wait {
				return last, fmt.Errorf("team %s: %w: %s; covey up --standby waits for its end", l.config.Team, ErrElsewhere, last)
			}
			tell(last)
		}
		select {
		case <-ctx.Done():
			return last, context.Cause(ctx)
		case <-time.After(beatEvery):
			l.announce(c.Host)
		}
	}
}

// announce tells the coordinator that a standby waits.
func (l *Link) announce(host string) {
	if data, err := json.Marshal(alive{Host: host}); err == nil {
		_ = l.nc.Publish(l.subject("standby"), data) // the next one may come through
	}
}

// listen reports whether the coordinator of an epoch, or a later one, is alive.
func (l *Link) listen(ctx context.Context, epoch uint64, c Candidate) (bool, error) {
	sub, err := l.nc.SubscribeSync(l.subject("live"))
	if err != nil {
		return false, err
	}
	defer sub.Unsubscribe()
	for end := time.Now().Add(leaseWait); time.Now().Before(end); {
		m, err := sub.NextMsg(beatEvery)
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		var a alive
		if err == nil && json.Unmarshal(m.Data, &a) == nil && a.Epoch >= epoch {
			return true, nil
		}
		l.announce(c.Host)
	}
	return false, nil
}

// take begins the epoch after last, and brings the files up to date.
func (d *Lead) take(ctx context.Context, last Epoch, c Candidate) error {
	next := Epoch{Holder: c.Holder, Host: c.Host, PID: c.PID, Version: c.Version, Since: time.Now().UTC().Round(0),
		Repository: cmp.Or(c.Repository, last.Repository), Fresh: c.Fresh || c.Repair}
	e, err := d.Log.begin(ctx, last, next)
	if err != nil {
		return err
	}
	d.Log.epoch, d.Journal.chain.epoch = e, e.Number
	if err := d.Journal.begin(ctx); err != nil {
		return err
	}
	at, err := d.Log.fold(ctx, c.Store)
	if err != nil {
		return fmt.Errorf("make the store from the stream: %w", err)
	}
	if len(e.Snapshots) == 0 && e.Number > 1 && !e.Fresh {
		// The first coordinator brings a file that there is already. Later ones must not.
		if err := store.Remove(c.Store); err != nil {
			return err
		}
	}
	if err := c.Prepare(d.Log); err != nil {
		return err
	}
	im, err := store.ReadImage(c.Store)
	if err != nil {
		return err
	}
	if now, _ := im.State(); now != at {
		if err := d.Log.Snapshot(c.Store, now); err != nil {
			return err
		}
	} else {
		d.Log.dropping.Go(func() { d.Log.sweepSnapshots(e.Snapshots, e.Number-1) })
	}
	if e.Fresh {
		_ = d.Log.chain.stream.purge(ctx, e.seq)
	}
	if c.Fresh {
		if err := d.Journal.forget(ctx); err != nil {
			return err
		}
	}
	return d.Journal.restore(ctx, c.Journal)
}

// hear notes a sign of life of a standby.
func (d *Lead) hear(m *nats.Msg) {
	var a alive
	if json.Unmarshal(m.Data, &a) == nil {
		d.standby.Store(standbyHeard{a.Host, time.Now()})
	}
}

// Keep gives signs of life until ctx ends, and calls each with the state after each of them; each must
// not block. It fails with ErrFenced once another process has taken
// over, and with ErrUnknown if a standby waits and the servers have not answered for so long that it
// takes over.
func (d *Lead) Keep(ctx context.Context, each func(Status)) error {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		if err := d.Journal.beat(d.Log.Epoch()); errors.Is(err, ErrFenced) || errors.Is(err, ErrGap) {
			return err
		}
		s := d.Status()
		if s.Standby != "" && !s.Quorum {
			return fmt.Errorf("%w for %s, and %s takes over", ErrUnknown, time.Since(s.Acked).Round(time.Second), s.Standby)
		}
		each(s)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// beat gives a sign of life.
func (j *Journal) beat(e Epoch) error {
	data, err := json.Marshal(alive{Epoch: e.Number, Host: e.Host})
	if err != nil {
		return err
	}
	return j.chain.append(&batch{list: []message{{subject: j.beats, data: data, replace: true}}})
}

// Status describes a coordinator and its servers.
type Status struct {
	Host    string
	Since   time.Time
	Epoch   uint64
	Standby string    // the host of one that waits; empty: none does
	Quorum  bool      // the servers answer
	Acked   time.Time // when they acknowledged something last
	Unsafe  string    // why they may lose data; empty: they do not
}

// Status returns the state of the coordinator.
func (d *Lead) Status() Status {
	e := d.Log.Epoch()
	s := Status{Epoch: e.Number, Host: e.Host, Since: e.Since}
	if d.unsafe != nil {
		s.Unsafe = d.unsafe.Error()
	}
	for _, c := range []*chain{d.Log.chain, d.Journal.chain} {
		if at := c.acked.Load(); at != nil && at.After(s.Acked) {
			s.Acked = *at
		}
	}
	s.Quorum = time.Since(s.Acked) <= ackWait
	if h, ok := d.standby.Load().(standbyHeard); ok && time.Since(h.at) < leaseWait {
		s.Standby = h.host
	}
	return s
}

// Release ends the coordinator in order: another process need not wait for its silence.
func (d *Lead) Release() error {
	d.Log.dropping.Wait()
	err := d.Log.release()
	if errors.Is(err, ErrFenced) {
		err = nil // there is nothing to release
	}
	return errors.Join(err, d.heard.Unsubscribe())
}
