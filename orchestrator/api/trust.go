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
	VerbTrust   = forOperator[TrustNotice, TrustReply]("trust") // announces a change of an entry
	VerbTrusted = forAll[TrustNotice, TrustReply]("trusted")    // asks whether an entry counts
)

// TrustNotice is an entry of trust.json for a spec in the team's workspace. It
// announces the entry to a running team, or asks whether the entry was announced.
type TrustNotice struct {
	Workspace string `json:"workspace"` // real path
	Spec      string `json:"spec"`      // real path
	// Digest identifies the entry. It is empty if the spec is no longer trusted.
	Digest string `json:"digest,omitempty"`
}

// TrustReply describes whether an entry of trust.json counts.
type TrustReply struct {
	Counts bool `json:"counts"`
}

// trustWait limits how long a running team may take to answer about trust.
const trustWait = 10 * time.Second

// AnnounceTrust announces to all teams that run in a workspace that the operator
// is about to trust a spec there, or to withdraw its trust if n has no digest.
func AnnounceTrust(ctx context.Context, n TrustNotice) error {
	_, err := askTeamsIn(ctx, VerbTrust, n)
	return err
}

// TrustCounts reports whether an entry of trust.json counts for all teams that
// run in its workspace. It is true if no team runs there.
func TrustCounts(ctx context.Context, n TrustNotice) (bool, error) {
	return askTeamsIn(ctx, VerbTrusted, n)
}

// askTeamsIn asks all teams that run in a workspace about an entry. It fails if a
// running team does not answer, because each answer counts.
func askTeamsIn(ctx context.Context, v Verb[TrustNotice, TrustReply], n TrustNotice) (counts bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, trustWait)
	defer cancel()
	all, err := state.All()
	if err != nil {
		return false, err
	}
	counts = true
	for _, p := range all {
		// The folder's name identifies the team, and not run.json, which any
		// process may write.
		if filepath.Base(p.Dir) != state.FolderOf(p.Team, n.Workspace) {
			continue
		}
		// From another PID namespace the team's process is not visible, but its
		// lock is.
		run, up := state.Running(p)
		if !up && !state.LockHeld(p.Lock()) {
			continue
		}
		if err := checkProtocol(p, run); up && err != nil {
			return false, err
		}
		run.Socket = cmp.Or(run.Socket, p.Socket())
		c, err := dialAt(ctx, p, run)
		if errors.Is(err, ErrNotRunning) {
			continue // the team is starting or ending, and reads trust.json before a member runs
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
