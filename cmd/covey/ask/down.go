package ask

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// downWithin is how long `covey down` waits for a team to end. It is three times the
// five seconds that a team needs at most, for machines under load.
const downWithin = 15 * time.Second

// Down returns `covey down`.
func Down(env *cli.Env) *cobra.Command {
	var end api.EndMember
	var asJSON bool
	cmd := &cobra.Command{
		Use:        "down",
		SuggestFor: []string{"stop"},
		Short:      "Stop the team; `covey up` continues it",
		Long: `Stop the team in order: turns are aborted and processes ended, and everything that
"covey up" needs to continue is on disk. The command returns when the team has
ended.

With --member one member leaves and the team continues. The member is asked first;
it is ended when it agrees, or when it has not answered in time. Its tasks are open
again. The next start of the team brings it back, unless the lead had added it.`,
		Example: `  covey down
  covey down --reason "the spec needs another look"
  covey down --team changelog-crew
  covey down --member backend --reason "nothing left to do"
  covey down --member backend --now`,
		Args:    cli.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return oneMember(cmd, end) },
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, _ []string) error {
			// A team that is about to start must be stopped as well, and one that is about
			// to end must have ended when the command returns.
			client, err := dialWhenReady(ctx, place)
			if errors.Is(err, api.ErrNotRunning) {
				return printDown(env.Out, downResult{Team: place.Team}, asJSON)
			}
			if errors.Is(err, api.ErrOtherVersion) && end.Member == "" {
				return downOther(ctx, env.Out, place, asJSON)
			}
			if err != nil {
				return err
			}
			defer client.Close()
			if end.Member != "" {
				return endMember(ctx, env.Out, client, end, asJSON)
			}
			if err := takeDown(ctx, client, end.Reason); err != nil {
				return err
			}
			return printDown(env.Out, downResult{Team: place.Team, Stopped: true}, asJSON)
		}),
	}
	cmd.Flags().StringVar(&end.Reason, "reason", "", "say why, for the journal and the end report")
	cmd.Flags().StringVar(&end.Member, "member", "", "end this `MEMBER` only; the team goes on")
	cmd.Flags().DurationVar(&end.Wait, "deadline", 0, "with --member: how long it has to answer (default 2m)")
	cmd.Flags().BoolVar(&end.Now, "now", false, "with --member: do not ask")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// oneMember checks the flags for ending one member. An empty name is an error: a
// script whose variable is not set must not stop the whole team.
func oneMember(cmd *cobra.Command, end api.EndMember) error {
	given := cmd.Flags().Changed
	switch {
	case end.Member == "" && given("member"):
		return cli.Usagef("--member is empty: name a member, or leave the flag out to stop the team")
	case end.Member == "" && (given("deadline") || end.Now):
		return cli.Usagef("--deadline and --now are about one member: name it with --member")
	case given("deadline") && end.Wait <= 0:
		return cli.Usagef("--deadline %s: write a time such as 30s, or --now to end it without asking", end.Wait)
	}
	return nil
}

// endMember ends one member and prints the result. If the member stays, that is an
// error, so that a script notices.
func endMember(
	ctx context.Context, out *term.Screen, client *api.Client, end api.EndMember, asJSON bool,
) error {
	reply, err := client.EndMember(ctx, end)
	switch {
	case err != nil:
		return err
	case asJSON && reply.Gone:
		return out.JSON(reply)
	case !reply.Gone:
		return fmt.Errorf("%s stays: %s; --now ends it without asking", term.PlainLine(end.Member),
			term.PlainLine(reply.Reason))
	}
	back := "; the team's next start brings it back"
	if reply.Added {
		back = ""
	}
	out.Printf("%s has left: %s%s\n", term.PlainLine(end.Member), term.PlainLine(reply.Reason), back)
	return nil
}

// downResult is the output of `covey down --json`. It is not an error if the team was
// not running.
type downResult struct {
	Team    string `json:"team"`
	Stopped bool   `json:"stopped"` // false: it was not running
}

// printDown reports that a team is down, whether it was stopped now or before.
func printDown(out *term.Screen, r downResult, asJSON bool) error {
	switch {
	case asJSON:
		return out.JSON(r)
	case r.Stopped:
		out.Printf("%s has ended; covey up continues it\n", r.Team)
	default:
		out.Printf("%s is not running\n", r.Team)
	}
	return nil
}

// downOther ends a team that another version of covey runs, whose requests this one does
// not know: with a signal, as Ctrl-C does. Members must not do that, and the socket
// cannot check who asks, so downOther refuses calls from inside a team.
func downOther(ctx context.Context, out *term.Screen, place state.Place, asJSON bool) error {
	if err := cli.NotFromInside("covey down"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, downWithin)
	defer cancel()
	err := api.EndProcess(ctx, place)
	if run, up := state.Running(place); up && ctx.Err() != nil {
		err = notEnded(place, run.PID, err)
	}
	if err != nil {
		return err
	}
	return printDown(out, downResult{Team: place.Team, Stopped: true}, asJSON)
}

// dialWhenReady is Dial for a team that may be starting or ending: then its lock is
// held but nobody listens. It waits up to downWithin for that to pass.
func dialWhenReady(ctx context.Context, place state.Place) (*api.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, downWithin)
	defer cancel()
	for retry := time.NewTicker(20 * time.Millisecond); ; {
		client, err := api.Dial(ctx, place)
		if !errors.Is(err, api.ErrNotRunning) || !state.LockHeld(place.Lock()) {
			retry.Stop()
			return client, err
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, fmt.Errorf("%s may still be starting or ending: %w", place.Team, ctx.Err())
			}
			return nil, fmt.Errorf("%s neither runs nor has ended after %s: a process holds %s",
				place.Team, downWithin, place.Lock())
		}
	}
}

// takeDown tells a team to end and waits until it has; otherwise `covey down && covey
// up` would fail. The timeout covers both. The error names the team's process:
// killing it loses nothing that up needs to resume.
func takeDown(ctx context.Context, client *api.Client, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, downWithin)
	defer cancel()
	place := client.Place()
	reply, err := client.Down(ctx, reason)
	if err != nil {
		return err
	}
	return notEnded(place, reply.PID, client.Wait(ctx))
}

// notEnded reports that a team which was told to end may still run, because waiting for it has
// failed: its time is up, or the person who waits has left.
func notEnded(place state.Place, pid int, err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s is still ending after %s; as a last resort: kill -9 %d", place.Team, downWithin, pid)
	case err != nil:
		return fmt.Errorf("%s (process %d) was told to end, and may still be ending: %w", place.Team, pid, err)
	}
	return nil
}
