package web

import (
	"context"
	"sync/atomic"
	"time"

	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
)

// draftReader reads for one viewer what a member is writing. It asks the running team for the text
// as it is when it can take it, so that a slow viewer holds up nobody: what changes meanwhile is
// never sent.
type draftReader struct {
	changed chan struct{} // signaled when drafting returns something else
	now     atomic.Pointer[members.Drafting]
}

// newReader returns a reader that begins with run.
func newReader() *draftReader {
	d := &draftReader{changed: make(chan struct{}, 1)}
	d.now.Store(&members.Drafting{})
	return d
}

// drafting returns what the member is writing.
func (d *draftReader) drafting() members.Drafting { return *d.now.Load() }

// set notes what the member is writing.
func (d *draftReader) set(now members.Drafting) {
	d.now.Store(&now)
	members.Signal(d.changed)
}

// run reads until ctx ends. While the team does not run, or is of a version without drafts, nobody
// writes.
func (d *draftReader) run(ctx context.Context, place state.Place, member string) {
	for ctx.Err() == nil {
		if client, err := api.Dial(ctx, place); err == nil {
			d.follow(ctx, client, member)
			_ = client.Close() // it was only asked
		}
		select {
		case <-time.After(termview.LookEvery):
		case <-ctx.Done():
		}
	}
}

// follow reads until the team ends or does not know the member.
func (d *draftReader) follow(ctx context.Context, client *api.Client, member string) {
	defer d.set(members.Drafting{})
	var now members.Drafting
	for {
		var err error
		if now, err = client.Drafts(ctx, api.DraftsRequest{Member: member, After: now.Number}); err != nil {
			return
		}
		d.set(now)
	}
}
