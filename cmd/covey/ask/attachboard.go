package ask

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/coveyteam/covey/cmd/covey/board"
	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
)

// showBoard shows the team as a board until the operator leaves it, first the log of a member if one is
// named. A team that another version runs is refused, as by every command. One that does not run is
// shown if it has ever run.
func showBoard(ctx context.Context, env *cli.Env, place state.Place, member string) error {
	client, err := api.Dial(ctx, place)
	switch {
	case err == nil:
		_, err = client.Status(ctx)
		_ = client.Close() // it was only asked
	case errors.Is(err, api.ErrNotRunning):
		if _, missing := os.Stat(place.Journal()); missing == nil {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	context.AfterFunc(ctx, cancel) // a second signal ends the process: the terminal may not read any more
	b := BoardOf(env, place)
	b.Member = member
	switch runs, err := b.Run(ctx, env.In, env.Out); {
	case err != nil:
		return err
	case runs:
		env.Out.Printf("left; %s goes on\n", place.Team)
	default:
		env.Out.Printf("%s has ended; covey ps tells how\n", place.Team)
	}
	return nil
}

// BoardOf returns the board of a team, whose keys do what the commands of these names do.
func BoardOf(env *cli.Env, place state.Place) board.Board {
	return board.Board{
		Place: place, Mask: (&cli.Masker{Env: env, Place: place}).Mask,
		Do: func(ctx context.Context, a board.Act) (string, error) {
			return do(ctx, place, a)
		},
		Question: func(ctx context.Context, id string) (string, error) { return question(ctx, place, id) },
		Changes: func(ctx context.Context, task, member string) (string, error) {
			if task != "" {
				member = ""
			}
			list, err := env.ReadDiff(ctx, place, merging.DiffRequest{Task: task, Member: member})
			var text strings.Builder
			printDiffs(&term.Screen{Writer: &text}, list, true)
			return text.String(), err
		},
	}
}

// question returns the full text of an open question, as covey inbox show prints it.
func question(ctx context.Context, place state.Place, id string) (string, error) {
	list, err := cli.ReadInbox(ctx, place, api.InboxQuery{ID: id})
	if err != nil {
		return "", err
	}
	text := list[0].Text
	if more := inbox.RequestText(list[0]); more != "" {
		text += "\n\n" + more
	}
	return text, nil
}

// do does what a key of the board asks for, as the command of that name does, but for a running
// team only. Work is merged in the background: the board shows what becomes of it.
//
// Each act has a connection of its own, because the team may have ended and started again
// since the last one.
func do(ctx context.Context, place state.Place, act board.Act) (said string, err error) {
	if act.Verb != board.MergeUnmarked { // looking at all work takes its time
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, cli.AnswerWithin)
		defer cancel()
	}
	client, err := api.Dial(ctx, place)
	if err != nil {
		return "", err
	}
	defer client.Close()
	switch act.Verb {
	case board.Approve, board.Deny:
		r, err := client.AnswerInbox(ctx, api.InboxAnswer{
			ID: act.Request, Approve: act.Verb == board.Approve, Feedback: act.Text,
		})
		return answeredText(r), err
	case board.Send:
		to := act.Member
		if to == "" {
			to = lead(place)
		}
		r, err := client.Send(ctx, api.Send{To: to, Text: act.Text})
		return deliveryText(r.Delivery, to), err
	case board.Hold, board.Release:
		r, err := client.Hold(ctx, api.HoldRequest{Member: act.Member, Resume: act.Verb == board.Release})
		return holdText(r), err
	case board.Interrupt:
		r, err := client.Interrupt(ctx, api.InterruptRequest{Member: act.Member})
		return interruptText(act.Member, r), err
	case board.Merge, board.MergeUnmarked:
		r := api.MergeRequest{Task: act.Task, Member: act.Member, Unmarked: act.Verb == board.MergeUnmarked}
		reply, err := client.Merge(ctx, r)
		var names []string
		for _, m := range reply.Merges {
			names = append(names, m.Name())
		}
		return "in the merge queue: " + strings.Join(names, ", "), err
	}
	r, err := client.Return(ctx, api.ReturnRequest{Task: act.Task, Text: act.Text})
	return "task " + act.Task + ": " + r.String(), err
}

// lead returns the name of the lead. The team checks it.
func lead(place state.Place) string {
	if all := cli.Members(place); len(all) > 0 {
		return all[0]
	}
	return ""
}
