package orchestrator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/receipts"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/replica"
	"github.com/coveyteam/covey/tasks/store"
)

// coordinator is a run's part in a team whose data is on servers. A nil coordinator is that of a
// team whose data is on this host alone.
type coordinator struct {
	*replica.Lead
	link *replica.Link
	news chan events.Bus // what has changed
}

// lead makes this process the coordinator of the team; nil: the team's data is on this host. prepare
// is called once it is, before the store is opened.
func (o *Orchestrator) lead(ctx context.Context, prepare func() error) (_ *coordinator, err error) {
	spec := o.team().Bus
	if !spec.Given() {
		return nil, prepare()
	}
	candidate, err := o.candidate(ctx, prepare)
	if err != nil {
		return nil, err
	}
	link, err := replica.Connect(replica.Config{
		Team: o.team().Name, URL: spec.URL, Creds: spec.Creds, Unsafe: spec.Unsafe,
		OnError: func(err error) { o.opts.Log.Error("the servers of the team", "err", err) },
	})
	if err != nil {
		return nil, err
	}
	// Also a standby knows then with which key the others sign.
	_, err = receipts.TeamKey(o.place.Home(), spec.Creds, o.team().Name)
	var lead *replica.Lead
	if err == nil {
		lead, err = link.Lead(ctx, candidate, o.opts.Standby)
	}
	if err != nil {
		link.Close()
		return nil, err
	}
	return &coordinator{lead, link, make(chan events.Bus, 1)}, nil
}

// Repair begins the streams of a team anew from the files of this host, for streams that have lost
// what they had acknowledged. The host must be the one that has run the team last, and nothing may
// run it.
func (o *Orchestrator) Repair(ctx context.Context) (err error) {
	if !o.team().Bus.Given() {
		return fmt.Errorf("%w: %s has no bus to repair", configs.ErrSpec, o.team().File)
	}
	if _, err := os.Stat(o.place.Store()); err != nil {
		return fmt.Errorf("this host has never run the team: %w", err)
	}
	lock, err := state.LockTeam(o.place)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	o.repair = true
	c, err := o.lead(ctx, func() error { return nil })
	if err != nil {
		return err
	}
	return c.release()
}

// candidate describes this process to the servers.
func (o *Orchestrator) candidate(ctx context.Context, prepare func() error) (replica.Candidate, error) {
	host, err := os.Hostname()
	if err != nil {
		return replica.Candidate{}, fmt.Errorf("the name of this host: %w", err)
	}
	holder, err := holderOf(o.place)
	if err != nil {
		return replica.Candidate{}, err
	}
	return replica.Candidate{
		Holder: holder + "@" + host, Host: host, PID: os.Getpid(), Version: o.opts.Version, Fresh: o.opts.Fresh, Repair: o.repair,
		Repository: workcopies.GitFor(o.place, nil).Root(ctx, o.place.Workspace),
		Store:      o.place.Store(), Journal: o.place.Journal(),
		Waits: func(e replica.Epoch) {
			why := fmt.Sprintf("team %s runs on another host: %s; this one waits for its end", o.team().Name, e)
			if e.Number == 0 {
				why = fmt.Sprintf("the servers of team %s choose a leader; this host waits for that", o.team().Name)
			}
			if o.opts.OnWait != nil {
				o.opts.OnWait(why)
			}
		},
		Prepare: func(r store.Replica) error {
			if err := prepare(); err != nil {
				return err
			}
			s, err := tasks.Open(o.place.Store(), &tasks.Options{BlobDir: o.place.Blobs(), Replica: r, LockTimeout: readersWait,
				Backups: state.StoreBackups}) // a damaged file is restored before it becomes the first snapshot
			if err != nil {
				return err
			}
			return s.Close()
		},
	}, nil
}

// holderOf returns what identifies the folder of a team among those of other hosts. The first call
// writes it.
func holderOf(p state.Place) (string, error) {
	data, err := os.ReadFile(p.Holder())
	if errors.Is(err, fs.ErrNotExist) {
		data = []byte(rand.Text())
		err = state.WriteAtomic(p.Holder(), data)
	}
	if err != nil {
		return "", state.FolderError(err)
	}
	return strings.TrimSpace(string(data)), nil
}

// replica returns what the store is a copy of; nil: it is no copy.
func (c *coordinator) replica() store.Replica {
	if c == nil {
		return nil
	}
	return c.Log
}

// wrap returns how the journal's file is wrapped, after another wrapper that may be nil.
func (c *coordinator) wrap(inner func(state.JournalFile) state.JournalFile) func(state.JournalFile) state.JournalFile {
	if c == nil {
		return inner
	}
	return func(f state.JournalFile) state.JournalFile {
		if inner != nil {
			f = inner(f)
		}
		return c.Journal.Wrap(f)
	}
}

// keep gives signs of life until ctx ends, or until the team runs elsewhere.
func (c *coordinator) keep(ctx context.Context) error {
	if c == nil {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	var told events.Bus
	return c.Keep(ctx, func(s replica.Status) {
		now := events.Bus(s)
		if told.Acked = now.Acked; told == now {
			return
		}
		select {
		case c.news <- now:
			told = now
		default: // the journal is slow; the next sign of life tells it
		}
	})
}

// report tells what changes until ctx ends. It waits for a slow journal, for which keep must not.
func (c *coordinator) report(ctx context.Context, tell func(events.Data)) error {
	var news chan events.Bus
	if c != nil {
		news = c.news
	}
	for {
		select {
		case b := <-news:
			tell(b)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stalled reports whether the servers have not answered for so long that another host may have
// taken over, and nothing may begin.
func (c *coordinator) stalled() bool { return c != nil && !c.Status().Quorum }

// warning returns what people have to know about the servers; empty: nothing.
func (c *coordinator) warning() string {
	if c == nil || c.Status().Unsafe == "" {
		return ""
	}
	return "the team may lose what it has done, because bus.unsafe is set: " + c.Status().Unsafe
}

// state returns the state of the servers; nil: the team has none.
func (c *coordinator) state() *events.Bus {
	if c == nil {
		return nil
	}
	s := events.Bus(c.Status())
	return &s
}

// release lets another host continue the team at once.
func (c *coordinator) release() error {
	if c == nil {
		return nil
	}
	defer c.link.Close()
	return c.Release()
}
