package ask

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// logFlags are the flags of `covey logs`. lines counts entries, which may have
// several lines.
type logFlags struct {
	follow, json bool
	lines        int
}

// Logs returns `covey logs`.
func Logs(env *cli.Env) *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "logs [MEMBER]",
		Short: "Print the journal of a member, or of the whole team",
		Long: `Print what happened in the team: prompts, texts, tool calls and their results,
hooks, messages and tasks. It also works without a running team. --json prints the
journal's own lines of all runs, one object a line. Secrets are masked.`,
		Example: `  covey logs backend
  covey logs -f                # the whole team, as it happens
  covey logs backend -n 100
  covey logs --json | jq 'select(.type == "hook_feedback")'`,
		Args:    cli.ArgCount(0, 1, "at most one member"),
		PreRunE: func(*cobra.Command, []string) error { return notNegative(f.lines) },
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, args []string) error {
			var want func(events.Event) bool // nil: all
			if len(args) > 0 {
				if err := cli.KnownMember(place, args[0]); err != nil {
					return err
				}
				want = view.Concerns(args[0])
			}
			return printLogs(ctx, env, place, f, want)
		}),
		ValidArgsFunction: env.CompleteMember,
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "continue while the team runs")
	cmd.Flags().IntVarP(&f.lines, "lines", "n", 0, "only the last `N` entries; 0 means all")
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

// printLogs prints the wanted lines of the journal. After a tail it continues with
// the line after the tail's last one, so that no line is lost or repeated.
func printLogs(
	ctx context.Context, env *cli.Env, place state.Place, f logFlags, want func(events.Event) bool,
) error {
	env.Out.Mask = (&cli.Masker{Env: env, Place: place}).Mask
	show := view.LinePrinter(env.Out, f.json)
	after := uint64(0)
	if f.lines > 0 {
		tail, err := state.JournalTail(place.Journal(), f.lines, func(l events.Line) bool {
			if want == nil && f.json {
				return true
			}
			e := l.Event()
			_, shown := view.Full(e)
			return (want == nil || want(e)) && (shown || f.json)
		})
		if err != nil {
			return noJournal(place, err)
		}
		for _, l := range tail {
			if err := show(l); err != nil {
				return err
			}
			after = l.Seq
		}
		if !f.follow {
			return nil
		}
	}
	// after is the last line of the tail, or 0: then all lines come.
	err := eachLine(ctx, env, place, after, f.follow, func(l events.Line) error {
		if want != nil && !want(l.Event()) {
			return nil
		}
		return show(l)
	})
	return noJournal(place, err)
}

// notNegative refuses a number of entries that is none.
func notNegative(lines int) error {
	if lines < 0 {
		return cli.Usagef("-n %d: write how many of the last entries you want; 0 is the default", lines)
	}
	return nil
}

// noJournal explains that a team has no journal.
func noJournal(place state.Place, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("team %s has no journal yet; covey up starts it", place.Team)
	}
	return err
}

// eachLine calls f for the lines of a journal after the given number and, if follow
// is set and the team runs, for all that come until the team ends. It reports damaged
// lines on stderr.
func eachLine(ctx context.Context, env *cli.Env, place state.Place, after uint64, follow bool,
	f func(events.Line) error) error {
	lines := state.ReadJournal(place.Journal(), after)
	if follow {
		client, err := api.Dial(ctx, place)
		if err == nil {
			defer client.Close()
			wake, err := client.JournalWake()
			if err != nil {
				return err
			}
			// If the team ends between the two steps, wake is closed and Follow reads to
			// the end of the file.
			lines = state.FollowJournal(ctx, place.Journal(), after, wake)
		} else if !errors.Is(err, api.ErrNotRunning) {
			return err
		}
	}
	for l, err := range lines {
		var damaged *state.LineError
		if errors.As(err, &damaged) {
			env.Err.Printf("%s\n", term.PlainLine("covey: "+damaged.Error()))
			continue
		}
		if err != nil {
			return err
		}
		if err := f(l); err != nil {
			return err
		}
	}
	return nil
}
