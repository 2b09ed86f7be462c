package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// logFlags are the flags of `covey logs`. lines counts entries, not lines of a
// screen: an entry may be long.
type logFlags struct {
	follow, json bool
	lines        int
}

// logsCommand is `covey logs`.
func (c *cli) logsCommand() *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "logs [MEMBER]",
		Short: "Print the journal of a member, or of the whole team",
		Long: `Print what happened in the team: prompts, texts, tool calls and their results,
hooks, messages and tasks. Works without a running team, too. --json prints the
journal's own lines, one object a line, of all runs.`,
		Example: `  covey logs backend
  covey logs -f                # the whole team, as it happens
  covey logs backend -n 100
  covey logs --json | jq 'select(.type == "hook_feedback")'`,
		Args: argCount(0, 1, "at most one member"),
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := c.find()
			if err != nil {
				return err
			}
			want := func(journal.Line) bool { return true }
			if len(args) > 0 {
				if err := knownMember(place, args[0]); err != nil {
					return err
				}
				want = concerns(args[0])
			}
			return c.logs(cmd.Context(), place, f, want)
		},
		ValidArgsFunction: c.completeMember,
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on as long as the team runs")
	cmd.Flags().IntVarP(&f.lines, "lines", "n", 0, "only the last `N` entries; 0: all")
	jsonFlag(cmd, &f.json)
	return cmd
}

// concerns accepts the lines of a member, and the messages and tasks that it is
// named in. Mail for a member and its tasks are part of its story, whoever
// caused them.
func concerns(member string) func(journal.Line) bool {
	return func(l journal.Line) bool {
		if l.Member == member {
			return true
		}
		p := data(l)
		if m, ok := mergeOf(l); ok {
			return m.Member == member
		}
		return l.Type == "message" && p.To == member || p.Task != nil && p.Task.Owner == member
	}
}

// logs prints the journal's lines that are wanted. With a tail it goes on
// behind the tail's last line, so that nothing is missing in between and
// nothing is told twice.
func (c *cli) logs(ctx context.Context, place orchestrator.Place, f logFlags, want func(journal.Line) bool) error {
	show := c.linePrinter(f.json)
	after := uint64(0)
	if f.lines > 0 {
		tail, err := journal.Tail(place.Journal(), f.lines, func(l journal.Line) bool {
			_, told := full(l)
			return want(l) && (told || f.json)
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
	err := c.eachLine(ctx, place, after, f.follow, func(l journal.Line) error {
		if !want(l) {
			return nil
		}
		return show(l)
	})
	return noJournal(place, err)
}

// noJournal explains that a team has no journal.
func noJournal(place orchestrator.Place, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("team %s has no journal yet; covey up starts it", place.Team)
	}
	return err
}

// eachLine calls f with the lines of a journal behind after and, if it follows,
// with all that come until the team ends. Damaged lines are told of on stderr.
// Following a team that does not run is reading it to the end.
func (c *cli) eachLine(ctx context.Context, place orchestrator.Place, after uint64, follow bool,
	f func(journal.Line) error) error {
	lines := journal.Read(place.Journal(), after)
	if follow {
		client, err := orchestrator.Dial(ctx, place)
		if err == nil {
			defer client.Close()
			wake, err := client.JournalWake()
			if err != nil {
				return err
			}
			lines = journal.Follow(ctx, place.Journal(), after, wake)
		} else if !errors.Is(err, orchestrator.ErrNotRunning) {
			return err
		}
	}
	for l, err := range lines {
		var damaged *journal.LineError
		if errors.As(err, &damaged) {
			c.err.printf("%s\n", plainLine("covey: "+damaged.Error()))
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

// linePrinter prints lines of the journal as they are, or in words. JSON is one
// object a line, as the journal has it, and complete; words leave out what
// tells a person nothing.
func (c *cli) linePrinter(asJSON bool) func(journal.Line) error {
	return func(l journal.Line) error {
		if asJSON {
			text, err := compactJSON(l)
			if err != nil {
				return err
			}
			_, err = c.out.w.Write(text)
			return err
		}
		e, ok := full(l)
		if !ok {
			return nil
		}
		return c.out.printEntry(e)
	}
}
