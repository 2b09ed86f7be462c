package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Attach returns `covey attach`. Without a member it shows the whole team, which is
// what an operator who has just started one in the background wants to see: on a terminal as a
// board.
func Attach(env *cli.Env) *cobra.Command {
	var lines int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "attach [MEMBER]",
		Short: "Watch a member and talk to it",
		Long: `Without MEMBER, on a terminal: show the team as a board, with what needs you, the
members, the tasks and a log. Questions are answered there, messages sent, members
held, and finished work merged. The last line says which keys do that; "?" lists all
of them. q leaves the board, and the team goes on. The board stays while the team
ends and starts again; of a team that does not run it only shows.

With MEMBER: show the end of its history, and then what happens. A line that you
type goes to that member and is answered "delivered" or "queued". ":approve ID
[TEXT]" and ":deny ID [TEXT]" answer questions; ":interrupt", ":hold" and ":resume"
do what the commands of these names do; ":help" lists all of these commands. A line
that begins with a colon is never sent.

The line is edited with the keys of a shell; Up and Down bring back lines that you
sent. PgUp and PgDn scroll the history by a page, Shift-Up and Shift-Down by a line;
Home and End go to its ends while the line is empty. Ctrl-Z suspends attach. Ctrl-C
leaves, as do Ctrl-D and q on an empty line; the team continues. Several people may
be attached at once.

In both, what a model writes at the moment stands below the history, faint. The
whole text takes its place, or nothing if the model fails.

On a pipe, and on a terminal of type "dumb", attach prints the end of the history
and what happens until the team ends, and only whole texts.`,
		Example: `  covey attach
  covey attach backend
  covey attach backend --lines 500
  covey attach | grep refused`,
		Args: cli.ArgCount(0, 1, "at most one member"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notNegative(lines); err != nil {
				return err
			}
			place, err := env.Find()
			if err != nil {
				return err
			}
			a := &attachment{env: env, place: place, want: func(events.Event) bool { return true },
				lines: lines, json: asJSON}
			if len(args) > 0 {
				if err := cli.KnownMember(place, args[0]); err != nil {
					return err
				}
				a.member, a.want = args[0], view.Concerns(args[0])
			}
			if a.member == "" && a.draws() {
				return a.board(cmd.Context())
			}
			return a.run(cmd.Context())
		},
		ValidArgsFunction: env.CompleteMember,
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 0, "begin with the last `N` entries; 0: as many as fit; the board has all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the journal's lines, on a terminal, too")
	return cmd
}

// defaultTail is how many entries a pipe, or a terminal of unknown size, begins with.
const defaultTail = 20

// attachment is one `covey attach`. It shows the same on a terminal and on a pipe.
type attachment struct {
	env    *cli.Env
	place  state.Place
	member string // the member shown and written to; empty: all are shown
	want   func(events.Event) bool
	lines  int  // entries to begin with; 0: as many as fit
	json   bool // print the journal's lines instead of showing them
	client *api.Client
	path   string // of the journal
}

// run attaches, shows the journal, and detaches. It reads the journal from its file,
// and the team's process only signals new lines: so any number may be attached, and a
// slow reader delays nobody. It calls Attach first, because from then on the team has
// somebody to ask.
func (a *attachment) run(ctx context.Context) error {
	client, err := api.Dial(ctx, a.place)
	if errors.Is(err, api.ErrNotRunning) {
		return fmt.Errorf("%w; covey logs shows what happened so far", err)
	}
	if err != nil {
		return err
	}
	defer client.Close()
	reply, err := client.Attach(ctx)
	if err != nil {
		return err
	}
	a.client, a.path = client, reply.Journal
	// The tail is read after Attach has said which line was the last: a line that comes in
	// between is in the tail or follows it, and is shown once.
	tail, err := journal.Tail(a.path, a.tailLength(), a.isShown)
	if err != nil {
		return err
	}
	after := reply.Seq
	if len(tail) > 0 {
		after = tail[len(tail)-1].Seq
	}
	wake, err := client.JournalWake()
	if err != nil {
		return err
	}
	follow := func(ctx context.Context, f func(events.Line) error) error {
		for l, err := range journal.Follow(ctx, a.path, after, wake) {
			var damaged *journal.LineError
			switch {
			// A damaged line is passed over here, as it is in the tail; covey logs reports
			// it.
			case errors.As(err, &damaged) || err == nil && !a.isShown(l):
				continue
			case err != nil:
				return err
			}
			if err := f(l); err != nil {
				return err
			}
		}
		return nil
	}
	if a.draws() {
		return a.onTerminal(ctx, tail, follow)
	}
	return a.onPipe(ctx, tail, follow)
}

// draws reports whether attach draws on a terminal instead of printing.
func (a *attachment) draws() bool {
	return term.IsTerminal(a.env.In) && a.env.Out.Draws() && !a.json
}

// isShown reports whether a line is wanted and has a text. Lines without text must
// not count as history: of the last twenty lines, nineteen may be hooks that started.
func (a *attachment) isShown(l events.Line) bool {
	e := l.Event()
	if !a.want(e) {
		return false
	}
	_, ok := view.Full(e)
	return ok
}

// tailLength returns how many entries to begin with. An entry takes at least a line,
// so as many entries as the screen has lines fill the screen.
func (a *attachment) tailLength() int {
	if a.lines > 0 {
		return a.lines
	}
	if _, height := a.env.Out.Size(); height > 0 {
		return height
	}
	return defaultTail
}

// onPipe prints the tail and then everything that happens until the team ends. It
// shortens nothing and does not read standard input: covey send is for scripts. A
// write error ends it, so that head ends attach.
func (a *attachment) onPipe(ctx context.Context, tail []events.Line, follow view.Follower) error {
	show := view.LinePrinter(a.env.Out, a.json)
	for _, l := range tail {
		if err := show(l); err != nil {
			return err
		}
	}
	return follow(ctx, show)
}

// drafts waits until what the shown members write has changed.
func (a *attachment) drafts(ctx context.Context, after uint64) (lives.Drafting, error) {
	return a.client.Drafts(ctx, api.DraftsRequest{Member: a.member, After: after})
}

// send sends a typed line to the member. A timeout is not a refusal: the error says
// so, and the line can be sent again.
func (a *attachment) send(ctx context.Context, text string) view.Answer {
	ctx, cancel := context.WithTimeout(ctx, cli.AnswerWithin)
	defer cancel()
	if strings.HasPrefix(text, ":") {
		return a.runCommand(ctx, text)
	}
	reply, err := a.client.Send(ctx, api.Send{To: a.member, Text: text})
	if err != nil {
		return view.Answer{Text: fmt.Sprintf("not sent: %v", err), Unsent: text}
	}
	return view.Answer{Text: deliveryText(reply.Delivery, a.member)}
}

// older reads lines from before the oldest one on the screen. It reads the file
// backwards from there, so that the length of the journal does not matter.
func (a *attachment) older(before uint64) ([]events.Line, error) {
	var lines []events.Line
	for l, err := range journal.Backwards(a.path, before) {
		if err != nil {
			return nil, err
		}
		if a.isShown(l) {
			lines = append(lines, l)
		}
		if len(lines) == olderLines {
			break
		}
	}
	slices.Reverse(lines)
	return lines, nil
}

// olderLines is how many entries are read at a time when scrolling up: a few screens.
// More would delay the first one, fewer would read at every key.
const olderLines = 200

// onTerminal shows the attach view until the operator leaves it.
func (a *attachment) onTerminal(ctx context.Context, tail []events.Line, follow view.Follower) error {
	view := view.Attach{Title: "covey: " + a.place.Team + " · " + a.member, Tail: tail, Follow: follow,
		Send: a.send, Older: a.older, Drafts: a.drafts}
	over, err := view.Run(ctx, a.env.In, a.env.Out)
	if err != nil {
		return err
	}
	a.sayLeft(!over)
	return nil
}

// sayLeft says after a view that was left what the team does.
func (a *attachment) sayLeft(runs bool) {
	if runs {
		a.env.Out.Printf("left; %s goes on\n", a.place.Team)
		return
	}
	a.env.Out.Printf("%s has ended; covey ps tells how\n", a.place.Team)
}
