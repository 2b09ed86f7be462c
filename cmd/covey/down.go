package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/orchestrator"
)

// downWithin is how long a team may take to end before `covey down` gives up
// waiting. The team itself promises five seconds.
const downWithin = 15 * time.Second

// downCommand is `covey down`.
func (c *cli) downCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the team; `covey up` takes it up again",
		Long: `Stop the team in order: turns are cut off, processes ended, and everything that
"covey up" needs to go on is on disk. Comes back when the team has ended.`,
		Example: `  covey down
  covey down --reason "the spec needs another look"
  covey down --team changelog-crew`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			place, err := c.find()
			if err != nil {
				return err
			}
			client, err := orchestrator.Dial(cmd.Context(), place)
			if errors.Is(err, orchestrator.ErrNotRunning) {
				c.out.printf("%s is not running\n", place.Team)
				return nil
			}
			if err != nil {
				return err
			}
			defer client.Close()
			return c.takeDown(cmd.Context(), client, reason)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "say why, for the journal and the end report")
	return cmd
}

// takeDown tells a team to end and waits until it has.
func (c *cli) takeDown(ctx context.Context, client *orchestrator.Client, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, downWithin)
	defer cancel()
	place := client.Place()
	reply, err := client.Down(ctx, reason)
	if err != nil {
		return err
	}
	if err := client.Wait(ctx); err != nil {
		return fmt.Errorf("%s is still ending after %s; as a last resort: kill -9 %d",
			place.Team, downWithin, reply.PID)
	}
	c.out.printf("%s has ended; covey up takes it up again\n", place.Team)
	return nil
}
