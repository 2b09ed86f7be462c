package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/state"
)

// trustWait is how long a team that runs may take to answer a question about trust.
const trustWait = 10 * time.Second

// anyEntry has every entry of trust.json count.
func anyEntry(trustKey, string) (bool, error) { return true, nil }

// announceTrust tells all teams that run in a workspace that the operator is about to
// trust something there, or, without a digest, to trust it no more.
func announceTrust(ctx context.Context, key trustKey, digest string) error {
	_, err := askTeamsAt(ctx, key, verbTrust, digest)
	return err
}

// countsWhereRunning reports whether an entry of trust.json counts for all teams that run in its
// workspace. Where none does, it counts.
func countsWhereRunning(ctx context.Context, key trustKey, digest string) (bool, error) {
	return askTeamsAt(ctx, key, verbTrusted, digest)
}

// askTeamsAt asks all teams that run in a workspace about an entry. A team that runs and does not answer
// is an error: what it thinks of the entry would have counted.
func askTeamsAt(ctx context.Context, key trustKey, v bus.Verb, digest string) (counts bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, trustWait)
	defer cancel()
	all, err := state.All()
	if err != nil {
		return false, err
	}
	counts = true
	for _, p := range all {
		// The folder's name, and not run.json, says whose the team is: anybody may
		// write there.
		if filepath.Base(p.Dir) != state.FolderOf(p.Team, key.Workspace) {
			continue
		}
		// From within another PID namespace its process is not to be seen, and its
		// lock is.
		run, up := state.Running(p)
		if !up && !state.LockHeld(p.Lock()) {
			continue
		}
		run.Socket = cmp.Or(run.Socket, p.Socket())
		c, err := dialAt(ctx, p, run)
		if errors.Is(err, ErrNotRunning) {
			continue // it is starting or ending: it reads trust.json before a member runs
		}
		if err != nil {
			return false, err
		}
		notice := TrustNotice{Workspace: key.Workspace, Spec: key.Spec, Digest: digest}
		reply, err := ask[TrustReply](ctx, c, v, notice)
		if err = errors.Join(err, c.Close()); err != nil {
			return false, fmt.Errorf("ask the running team %s about what is trusted: %w", p.Team, err)
		}
		counts = counts && reply.Counts
	}
	return counts, nil
}

// dialAt connects to the team that a run.json tells of. It fails with ErrNotRunning if nobody
// listens there, and with ErrOtherVersion if what does is of another version.
func dialAt(ctx context.Context, p state.Place, run state.RunFile) (*Client, error) {
	b, err := dialSocket(ctx, p, run)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("team %s is starting or ending, it does not listen: %w", p.Team, ErrNotRunning)
	case errors.Is(err, bus.ErrRefused):
		return nil, fmt.Errorf("team %s: %w: %w", p.Team, ErrDenied, err)
	case errors.Is(err, ErrOtherVersion):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("team %s: %w", p.Team, err)
	}
	c := &Client{place: p, pid: run.PID, bus: b}
	if said := b.Remote(); said.Protocol != controlProtocol {
		c.other = otherVersion(p, cmp.Or(said.Version, run.Version))
	}
	return c, nil
}
