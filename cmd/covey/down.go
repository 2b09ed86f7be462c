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
// waiting. The team itself promises five seconds. It is three times what a team
// promises, for machines under load.
const downWithin = 15 * time.Second

// downCommand is `covey down`.
func (c *cli) downCommand() *cobra.Command {
	var reason string
	var asJSON bool
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
				return c.wasDown(downResult{Team: place.Team}, asJSON)
			}
			if err != nil {
				return err
			}
			defer client.Close()
			if err := takeDown(cmd.Context(), client, reason); err != nil {
				return err
			}
			return c.wasDown(downResult{Team: place.Team, Stopped: true}, asJSON)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "say why, for the journal and the end report")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// downResult is what `covey down --json` prints. That nothing was running is no
// failure.
type downResult struct {
	Team    string `json:"team"`
	Stopped bool   `json:"stopped"` // false: it was not running
}

// wasDown says that a team does not run, be it stopped now or before: who wants
// it down has what they want either way.
func (c *cli) wasDown(r downResult, asJSON bool) error {
	switch {
	case asJSON:
		return c.out.json(r)
	case r.Stopped:
		c.out.printf("%s has ended; covey up takes it up again\n", r.Team)
	default:
		c.out.printf("%s is not running\n", r.Team)
	}
	return nil
}

// takeDown tells a team to end and waits until it has. Coming back before the
// team is gone would make `covey down && covey up` fail. ctx bounds asking and
// waiting together. The pid in the error is that of the team's process; killing
// it leaves what up needs to go on.
func takeDown(ctx context.Context, client *orchestrator.Client, reason string) error {
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
	return nil
}
