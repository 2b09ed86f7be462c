package api

import (
	"context"

	"github.com/coveyteam/covey/orchestrator/hooklist"
)

// The verbs about what a team is made from.
var (
	VerbApplySpec = forOperator[ApplySpec, SpecChange]("reshape") // its name on the wire since the first version
	VerbHooks     = forAll[struct{}, []hooklist.Info]("hooks")
	VerbReload    = forOperator[struct{}, ReloadReply]("reload")
)

// ApplySpec asks a running team to take up another version of its spec.
type ApplySpec struct {
	Spec string `json:"spec"`           // absolute path
	Goal string `json:"goal,omitempty"` // instead of the spec's
	// Digest is the Digest of what the caller has looked at and trusts; what
	// is on disk by then must be the same. DryRun needs none.
	Digest string `json:"digest,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"` // only tell what would change
}

// ApplySpec has the team take up another version of its spec, or tell what would
// change. It fails with configs.ErrSpec for a spec that cannot count, and then nothing has
// changed. Only the operator may ask for it.
func (c *Client) ApplySpec(ctx context.Context, r ApplySpec) (SpecChange, error) {
	return ask(ctx, c, VerbApplySpec, r)
}

// SpecChange says what another spec makes different in a team, or what a team that
// does not run would begin with.
type SpecChange struct {
	Team    string         `json:"team"`
	Running bool           `json:"running"`
	Resumed bool           `json:"resumed,omitempty"` // of a team that does not run: it ran before
	Members []MemberChange `json:"member_changes"`
	Tasks   []string       `json:"tasks_added"` // their subjects
	// Goal is what the lead is given to work for; empty: no other than it has.
	Goal string `json:"goal,omitempty"`
	// Settings are the keys at the top of the spec that differ besides.
	Settings []string `json:"settings"`
}

// EventType is the journal's name for it.
func (SpecChange) EventType() string { return "spec_changed" }

// Empty reports whether nothing is different.
func (c SpecChange) Empty() bool {
	return len(c.Members) == 0 && len(c.Tasks) == 0 && len(c.Settings) == 0 && c.Goal == ""
}

// MemberChange is what happens to one member.
type MemberChange struct {
	Name   string        `json:"name"`
	Change MemberChanged `json:"change"`
	Agent  string        `json:"agent"`
	Keys   []string      `json:"keys,omitempty"` // of the spec, that differ
}

// MemberChanged says what happens to a member.
type MemberChanged string

// What may happen to a member.
const (
	MemberStarts  MemberChanged = "starts"  // with the team
	MemberAdded   MemberChanged = "added"   // to a team that runs
	MemberChanges MemberChanged = "changed" // it begins anew, with its conversation, when its turn is over
	MemberRetires MemberChanged = "retired" // it leaves when its turn is over
)

// ReloadReply says what became of the files of a team's hooks that have changed.
type ReloadReply struct {
	Applied []string   `json:"applied"` // what is new counts from now on
	Kept    []KeptFile `json:"kept"`    // the old content still counts
}

// KeptFile is a changed file whose old content still counts.
type KeptFile struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Hooks lists the configured hooks of the team.
func (c *Client) Hooks(ctx context.Context) ([]hooklist.Info, error) {
	return ask(ctx, c, VerbHooks, struct{}{})
}

// Reload has the team look at the files that its hooks come from, and tells what
// became of those that have changed. It waits for the ConfigChange hooks.
func (c *Client) Reload(ctx context.Context) (ReloadReply, error) {
	return ask(ctx, c, VerbReload, struct{}{})
}
