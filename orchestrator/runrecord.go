package orchestrator

import (
	"bytes"
	"context"
	"os"
	"sync"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// runRecord is the run.json of a team that runs, as the team has written it. Every process
// of this user can write there, the members' among them, and other commands believe what it says.
type runRecord struct {
	mu      sync.Mutex
	last    RunFile
	written []byte // nil: nothing yet
}

// write replaces run.json. If that fails restore tries again.
func (r *runRecord) write(p Place, f RunFile) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := f.text()
	if err != nil {
		return err
	}
	r.last, r.written = f, data
	return f.Write(p)
}

// current is what was written last; false: nothing was.
func (r *runRecord) current() (RunFile, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.written != nil
}

// restore writes run.json anew if it is not what the team has written, and reports that.
func (r *runRecord) restore(p Place) (restored bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := os.ReadFile(p.RunFile())
	if r.written == nil || err == nil && bytes.Equal(data, r.written) {
		return false, nil
	}
	return true, writeAtomic(p.RunFile(), r.written)
}

// guardState looks at trust.json and run.json until ctx ends: what a member's process has
// written there is undone and told of.
func (o *Orchestrator) guardState(ctx context.Context, c *crew) error {
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			o.lookAtState(c)
		}
	}
}

// lookAtState looks once.
func (o *Orchestrator) lookAtState(c *crew) {
	c.trust.look()
	restored, err := o.record.restore(o.place)
	switch {
	case err != nil:
		c.short.note(err)
		c.log.Error("run.json is not as the team has written it, and cannot be written anew", "err", err)
	case restored:
		c.journal.Tell(agent.Warning{Text: "something other than this team has changed its run.json; it was written anew"})
	}
}
