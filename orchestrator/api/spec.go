package api

import (
	"context"

	"github.com/coveyteam/covey/events"
)

// The verbs about a team's spec and hooks.
var (
	VerbApplySpec = forOperator[ApplySpec, events.SpecChanged]("reshape") // its name on the wire since the first version
	VerbHooks     = forAll[struct{}, []Hook]("hooks")
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
func (c *Client) ApplySpec(ctx context.Context, r ApplySpec) (events.SpecChanged, error) {
	return ask(ctx, c, VerbApplySpec, r)
}

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
func (c *Client) Hooks(ctx context.Context) ([]Hook, error) {
	return ask(ctx, c, VerbHooks, struct{}{})
}

// Reload makes the team read the files of its hooks again, and returns the
// changed ones. It waits for the ConfigChange hooks.
func (c *Client) Reload(ctx context.Context) (ReloadReply, error) {
	return ask(ctx, c, VerbReload, struct{}{})
}
