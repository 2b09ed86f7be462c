package ask

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// Inbox is `covey inbox` with what hangs below it. Alone it lists, as
// that is what a person does first.
func Inbox(env *cli.Env) *cobra.Command {
	list := inboxListCommand(env, "inbox")
	list.Short = "See and answer what waits for a person"
	list.Long = `List the questions that wait for an answer: calls that need permission, plans, work
to be approved or merged, members that need attention, and questions to members.
Each has its time limit and the answer that counts when the time is up. ID is a
request's id, such as r7; show also takes the name of a member. While the team does
not run, an answer is kept for its next run.`
	list.Example = `  covey inbox
  covey inbox show backend
  covey inbox approve r7
  covey inbox deny r7 --feedback "use the v2 API"`
	list.AddCommand(inboxListCommand(env, "list"), inboxShowCommand(env), inboxAnswerCommand(env, true),
		inboxAnswerCommand(env, false))
	return list
}

// inboxListCommand is `covey inbox` and `covey inbox list`.
func inboxListCommand(env *cli.Env, use string) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   use,
		Short: "List the questions that wait for an answer",
		Example: `  covey inbox list
  covey inbox list --all --json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := readInbox(cmd.Context(), env, api.InboxQuery{All: all})
			if err != nil {
				return err
			}
			return env.Out.Show(asJSON, list, func() { printInbox(env.Out, list, time.Now()) })
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also list answered requests, as far as they are kept")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// inboxShowCommand is `covey inbox show`: what a person must have read before
// saying yes.
func inboxShowCommand(env *cli.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one request in full",
		Example: `  covey inbox show r7
  covey inbox show backend`,
		Args: cli.ArgCount(1, 1, "a request"),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := readInbox(cmd.Context(), env, api.InboxQuery{ID: args[0]})
			if err != nil {
				return err
			}
			return env.Out.Show(asJSON, list[0], func() { printRequest(env.Out, list[0], time.Now()) })
		},
		ValidArgsFunction: env.CompleteMember,
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// inboxAnswerCommand is `covey inbox approve` and `covey inbox deny`. Neither asks
// "are you sure": a script must be able to answer.
func inboxAnswerCommand(env *cli.Env, yes bool) *cobra.Command {
	a := api.InboxAnswer{Approve: yes}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "deny ID",
		Short: "Deny a request",
		Long: `Deny a request. The feedback goes to the member that asked. A request is answered
once; a second answer fails and says who answered first.`,
		Example: `  covey inbox deny r7 --feedback "not on main"`,
		Args:    cli.ArgCount(1, 1, "a request"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ID = args[0]
			r, err := answerRequest(cmd.Context(), env, a)
			if err != nil {
				return err
			}
			return env.Out.Show(asJSON, r, func() { env.Out.Printf("%s\n", answeredText(r)) })
		},
		ValidArgsFunction: env.CompleteMember,
	}
	cmd.Flags().StringVar(&a.Feedback, "feedback", "", "what to tell the member that asked")
	cli.JSONFlag(cmd, &asJSON)
	if yes {
		cmd.Use, cmd.Short, cmd.Example = "approve ID", "Say yes to a request", "  covey inbox approve r7"
		cmd.Long = `Say yes to a request: a call runs, a plan is carried out, a task is completed, a
member in trouble goes on. A request is answered once; a second answer fails and
says whose the first was.`
		cmd.Flags().StringVar(&a.Mode, "mode", "", "with a plan: the permission `MODE` that the member works in")
	}
	return cmd
}

// answerRequest hands a person's answer to the running team, or stores it for the next
// run of one that does not run.
func answerRequest(ctx context.Context, env *cli.Env, a api.InboxAnswer) (requests.Request, error) {
	place, err := env.Find()
	if err != nil {
		return requests.Request{}, err
	}
	return cli.Ask(ctx, place, func(c *api.Client) (requests.Request, error) {
		return c.AnswerInbox(ctx, a)
	}, func() (requests.Request, error) {
		if err := cli.NotFromInside("covey inbox"); err != nil {
			return requests.Request{}, err
		}
		r, err := orchestrator.AnswerStopped(ctx, place, a)
		if err == nil {
			env.Err.Printf("team %s does not run; its next covey up takes the answer up\n",
				term.PlainLine(place.Team))
		}
		return r, err
	})
}

// readInbox asks the running team, or reads its files: questions outlive the
// process that asked them.
//
// The time limit is for a team that hangs: a list that does not come is told as an error
// and does not hang too.
func readInbox(ctx context.Context, env *cli.Env, q api.InboxQuery) ([]requests.Request, error) {
	place, err := env.Find()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cli.AnswerWithin)
	defer cancel()
	return cli.Ask(ctx, place, func(c *api.Client) ([]requests.Request, error) {
		return c.Inbox(ctx, q)
	}, func() ([]requests.Request, error) { return filedInbox(ctx, place, q) })
}

// filedInbox reads the questions of a team that does not run.
func filedInbox(ctx context.Context, place state.Place,
	q api.InboxQuery) ([]requests.Request, error) {
	store, err := place.OpenStore()
	if errors.Is(err, fs.ErrNotExist) {
		return []requests.Request{}, nil // a team that has never run has asked nothing
	}
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if q.ID != "" {
		r, err := store.Requests().Find(ctx, q.ID)
		return []requests.Request{r}, err
	}
	list, err := store.Requests().List(ctx)
	if err != nil || q.All {
		return list, err
	}
	return slices.DeleteFunc(list, func(r requests.Request) bool { return !r.Open() }), nil
}

// printInbox prints questions as a table, and below it how to answer.
//
// The line on how to answer is printed only if something is for the person who looks:
// what members ask of each other is theirs to answer.
func printInbox(out *term.Screen, list []requests.Request, now time.Time) {
	if len(list) == 0 {
		out.Printf("nothing waits for an answer\n")
		return
	}
	t := &term.Table{Head: []string{"ID", "KIND", "FROM", "TO", "LEFT", "WHAT"}}
	mine := false
	for _, r := range list {
		mine = mine || r.Open() && inbox.ForPerson(r)
		left := leftText(r, now)
		if !r.Open() { // the one thing that is worth knowing of it
			left = string(r.State)
		}
		t.Add(term.Cell{Text: r.ID}, term.Cell{Text: string(r.Kind)}, term.Cell{Text: r.Member},
			term.Cell{Text: answererText(r)},
			term.Cell{Text: left}, term.Cell{Text: term.PlainLine(firstLineOf(r.Text))})
	}
	t.Print(out)
	if mine {
		out.Printf("%s\n", out.Paint(term.Faint,
			"covey inbox approve ID, or deny ID --feedback TEXT, answers; show ID tells all"))
	}
}

// printRequest prints one question in full.
func printRequest(out *term.Screen, r requests.Request, now time.Time) {
	out.Printf("%s %s from %s, for %s, %s\n", r.Kind, r.ID, term.PlainLine(r.Member), answererText(r), r.State)
	if left := leftText(r, now); left != "" {
		out.Printf("%s left; without an answer it counts as %s\n", left, map[bool]string{true: "yes",
			false: "no"}[r.Default])
	}
	out.Printf("\n%s\n", term.Plain(r.Text))
	if more := inbox.RequestText(r); more != "" {
		out.Printf("\n%s\n", term.Plain(more))
	}
	if !r.Open() {
		out.Printf("\n%s\n", answeredText(r))
	}
}

// answererText is who is to answer.
func answererText(r requests.Request) string {
	if inbox.ForPerson(r) {
		return "you"
	}
	return term.PlainLine(r.To)
}

// leftText is how long an open question may still wait.
//
// It is empty for what waits for ever, and never negative: the team may be a moment
// behind with what has just run out.
func leftText(r requests.Request, now time.Time) string {
	if !r.Open() || r.Deadline.IsZero() {
		return ""
	}
	return term.Elapsed(max(0, r.Deadline.Sub(now)))
}

// answeredText says what became of a request.
func answeredText(r requests.Request) string {
	text := fmt.Sprintf("%s of %s: %s", r.Kind, term.PlainLine(r.Member), r.State)
	if r.By != "" && r.By != actors.Operator {
		text += " by " + term.PlainLine(r.By)
	}
	if r.Feedback != "" {
		text += " (" + term.PlainLine(r.Feedback) + ")"
	}
	return text
}

// firstLineOf is the first line of a text.
func firstLineOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
