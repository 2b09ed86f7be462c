package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/coveyteam/covey/orchestrator/state"
)

// The verbs about trust.json.
var (
	VerbTrust   = forOperator[TrustNotice, TrustReply]("trust") // the operator is about to change an entry
	VerbTrusted = forAll[TrustNotice, TrustReply]("trusted")    // whether an entry counts
)

// TrustNotice tells a running team of what its user has trusted for a spec of the team's
// workspace, or asks whether the team has been told.
type TrustNotice struct {
	Workspace string `json:"workspace"` // real path
	Spec      string `json:"spec"`      // real path
	// Digest tells entries of trust.json apart; empty: the spec is no longer trusted.
	Digest string `json:"digest,omitempty"`
}

// TrustReply is the answer to whether an entry of trust.json counts.
type TrustReply struct {
	Counts bool `json:"counts"`
}

// trustWait is how long a team that runs may take to answer a question about trust.
const trustWait = 10 * time.Second

// AnnounceTrust tells all teams that run in a workspace that the operator is about to trust something
// there, or, without a digest, to withdraw that.
func AnnounceTrust(ctx context.Context, n TrustNotice) error {
	_, err := askTeamsIn(ctx, VerbTrust, n)
	return err
}

// TrustCounts reports whether an entry of trust.json counts for all teams that run in its
// workspace. Where none does, it counts.
func TrustCounts(ctx context.Context, n TrustNotice) (bool, error) {
	return askTeamsIn(ctx, VerbTrusted, n)
}

// askTeamsIn asks all teams that run in a workspace about an entry. A team that runs and does not answer
// is an error: what it thinks of the entry would have counted.
func askTeamsIn(ctx context.Context, v Verb[TrustNotice, TrustReply], n TrustNotice) (counts bool, err error) {
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
		if filepath.Base(p.Dir) != state.FolderOf(p.Team, n.Workspace) {
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
		reply, err := ask(ctx, c, v, n)
		if err = errors.Join(err, c.Close()); err != nil {
			return false, fmt.Errorf("ask the running team %s about what is trusted: %w", p.Team, err)
		}
		counts = counts && reply.Counts
	}
	return counts, nil
}
