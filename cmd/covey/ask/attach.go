package ask

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Attach returns `covey attach`. Without a member it shows the whole team, which is
// what an operator who has just started one in the background wants to see.
func Attach(env *cli.Env) *cobra.Command {
	var lines int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "attach [MEMBER]",
		Short: "Watch a member and talk to it",
		Long: `On a terminal, show the team as a board, with what needs you, the members, the tasks
and a log. Questions are answered there, messages sent, members held, and finished
work merged. The last line says which keys do that; "?" lists all of them. q leaves
the board, and the team goes on. The board stays while the team ends and starts
again; of a team that does not run it only shows. Several people may be attached.

With MEMBER, the board opens with the log of that member and a line to write to it,
which is answered "delivered" or "queued". ":approve ID [TEXT]" and ":deny ID [TEXT]"
answer questions there; ":interrupt", ":hold" and ":resume" do what the commands of
these names do. A line that begins with a colon is never sent. Up and Down bring back
lines that you sent. Esc leads to the keys of the board; Ctrl-C leaves, as do Ctrl-D
and q on an empty line.

What a model writes at the moment stands below the log, faint. The whole text takes
its place, or nothing if the model fails.

On a pipe, and on a terminal of type "dumb", attach prints the end of the history
and what happens until the team ends, and only whole texts.`,
		Example: `  covey attach
  covey attach backend
  covey attach backend --lines 500
  covey attach | grep refused`,
		Args:    cli.ArgCount(0, 1, "at most one member"),
		PreRunE: func(*cobra.Command, []string) error { return notNegative(lines) },
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, args []string) error {
			want := func(events.Event) bool { return true }
			if len(args) > 0 {
				if err := cli.KnownMember(place, args[0]); err != nil {
					return err
				}
				want = view.Concerns(args[0])
			}
			if term.IsTerminal(env.In) && env.Out.Draws() && !asJSON {
				return showBoard(ctx, env, place, strings.Join(args, ""))
			}
			return attach(ctx, env, place, logFlags{follow: true, json: asJSON, lines: lines}, want)
		}),
		ValidArgsFunction: env.CompleteMember,
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 0, "on a pipe, begin with the last `N` entries")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the journal's lines, on a terminal, too")
	return cmd
}

// defaultTail is how many entries a pipe, or a terminal of unknown size, begins with.
const defaultTail = 20

// attach prints the end of the journal of a running team, and what happens until the team ends. It calls
// Attach first, because from then on the team has somebody to ask. Lines without text do not count as
// history: of the last twenty lines, nineteen may be hooks that started.
//
// It does not read standard input: covey send is for scripts. A write error ends it, so that head ends
// attach.
func attach(ctx context.Context, env *cli.Env, place state.Place, f logFlags, want func(events.Event) bool) error {
	client, err := api.Dial(ctx, place)
	if errors.Is(err, api.ErrNotRunning) {
		return fmt.Errorf("%w; covey logs shows what happened so far", err)
	}
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := client.Attach(ctx); err != nil {
		return err
	}
	if f.lines == 0 {
		f.lines = defaultTail
		if _, height := env.Out.Size(); height > 0 {
			f.lines = height // an entry takes at least a line, so that many fill the screen
		}
	}
	return printLogs(ctx, env, place, f, func(e events.Event) bool {
		_, shown := view.Full(e)
		return shown && want(e)
	})
}
