package api

import (
	"context"

	"github.com/coveyteam/covey/orchestrator/hooklist"
)

// The verbs about a team's spec and hooks.
var (
	VerbApplySpec = forOperator[ApplySpec, SpecChange]("reshape") // its name on the wire since the first version
	VerbHooks     = forAll[struct{}, []hooklist.Info]("hooks")
	VerbReload    = forOperator[struct{}, ReloadReply]("reload")
)

// ApplySpec asks a running team to apply another version of its spec.
type ApplySpec struct {
	Spec string `json:"spec"`           // absolute path
	Goal string `json:"goal,omitempty"` // instead of the spec's
	// Digest is the digest of the spec that the caller trusts. The files on disk
	// must match it. DryRun needs none.
	Digest string `json:"digest,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"` // only return what would change
}

// ApplySpec makes the team apply another version of its spec, or returns what
// would change. It fails with configs.ErrSpec, and changes nothing, if the spec
// is invalid. Only the operator may call it.
func (c *Client) ApplySpec(ctx context.Context, r ApplySpec) (SpecChange, error) {
	return ask(ctx, c, VerbApplySpec, r)
}

// SpecChange is the difference that another spec makes to a team, or what a team
// that does not run would start with.
type SpecChange struct {
	Team    string         `json:"team"`
	Running bool           `json:"running"`
	Resumed bool           `json:"resumed,omitempty"` // the team does not run, and ran before
	Members []MemberChange `json:"member_changes"`
	Tasks   []string       `json:"tasks_added"` // their subjects
	// Goal is the lead's new goal; empty if it does not change.
	Goal string `json:"goal,omitempty"`
	// Settings are the other top-level keys of the spec that differ.
	Settings []string `json:"settings"`
}

// EventType returns the event's type in the journal.
func (SpecChange) EventType() string { return "spec_changed" }

// Empty reports whether nothing changes.
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
	MemberChanges MemberChanged = "changed" // it restarts with its conversation when its turn is over
	MemberRetires MemberChanged = "retired" // it leaves when its turn is over
)

// ReloadReply lists the changed files of a team's hooks.
type ReloadReply struct {
	Applied []string   `json:"applied"` // the new content counts; no earlier reply has listed them
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

// Reload makes the team read the files of its hooks again, and returns the
// changed ones. It waits for the ConfigChange hooks.
func (c *Client) Reload(ctx context.Context) (ReloadReply, error) {
	return ask(ctx, c, VerbReload, struct{}{})
}
