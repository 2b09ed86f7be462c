package orchestrator

import (
	"context"
	"fmt"
)

// Setup says what the Setup hooks of a run are to do before any session begins
// (Options.Setup).
type Setup string

// The triggers of Setup hooks.
const (
	SetupNone        Setup = ""            // they do not run
	SetupInit        Setup = "init"        // prepare the workspace
	SetupMaintenance Setup = "maintenance" // put it in order again
)

// prepared is why a run has ended that was to do nothing but that.
const prepared = "the workspace is prepared"

// setUp runs the Setup hooks, once for the team, in the lead's session.
func (c *crew) setUp(ctx context.Context) error {
	if c.only.hooks == SetupNone || c.seating.lead().life.State().Gone != "" {
		return nil
	}
	if err := c.seating.lead().mate.Setup(ctx, string(c.only.hooks)); err != nil {
		return fmt.Errorf("Setup hooks: %w", err)
	}
	return nil
}
