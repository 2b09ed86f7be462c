package ask

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// Inbox returns `covey inbox` with its subcommands. By itself it lists.
func Inbox(env *cli.Env) *cobra.Command {
	cmd := inboxListCommand(env)
	cmd.Long = `List what waits for a person. First the questions: calls that need permission, plans,
work to be approved, members that need attention, forms of MCP servers, and questions
to members, with what becomes of each that nobody answers, and when. ID is a request's
id, such as r7; show also takes the name of a member. While the team does not run, an
answer is kept for its next run.

Then the finished work that waits until you merge it, with the command. With --json
the questions alone are listed; covey review --json has the work.`
	cmd.Example = `  covey inbox
  covey inbox --all --json
  covey inbox show backend
  covey inbox approve r7
  covey inbox deny r7 --feedback "use the v2 API"`
	cmd.AddCommand(inboxShowCommand(env), inboxAnswerCommand(env, true), inboxAnswerCommand(env, false))
	return cmd
}

// inboxListCommand returns `covey inbox` without its subcommands.
func inboxListCommand(env *cli.Env) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "See and answer what waits for a person",
		Args:  cli.NoArgs,
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, _ []string) error {
			list, err := cli.ReadInbox(ctx, place, api.InboxQuery{All: all})
			if err != nil {
				return err
			}
			if asJSON {
				return env.Out.JSON(list)
			}
			// What else a person has to do is only for people.
			ctx, cancel := context.WithTimeout(ctx, cli.AnswerWithin)
			defer cancel()
			needs, err := cli.Ask(ctx, place, (*api.Client).Needs, func() ([]api.Need, error) { return view.ReadNeeds(place) })
			if err != nil {
				return err
			}
			printInbox(env.Out, list, needs, time.Now())
			if len(list) == api.InboxMost {
				order := map[bool]string{false: "oldest", true: "newest"}[all]
				env.Out.Printf("These are the %s %d requests; there may be more.\n", order, len(list))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also list answered requests, as far as they are kept")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// inboxShowCommand returns `covey inbox show`, which shows what to read before an
// answer.
func inboxShowCommand(env *cli.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one request in full",
		Example: `  covey inbox show r7
  covey inbox show backend`,
		Args: cli.ArgCount(1, 1, "a request"),
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, args []string) error {
			list, err := cli.ReadInbox(ctx, place, api.InboxQuery{ID: args[0]})
			if err != nil {
				return err
			}
			return env.Out.Show(asJSON, list[0], func() { printRequest(env.Out, list[0], time.Now()) })
		}),
		ValidArgsFunction: env.CompleteMember,
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// inboxAnswerCommand returns `covey inbox approve` and `covey inbox deny`. They ask
// for no confirmation, so that scripts can answer.
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
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, args []string) error {
			a.ID = args[0]
			r, stored, err := cli.AnswerInbox(ctx, place, a)
			if stored {
				env.Err.Printf("team %s does not run; its next covey up applies the answer\n",
					term.PlainLine(place.Team))
			}
			if err != nil {
				return err
			}
			return env.Out.Show(asJSON, r, func() { env.Out.Printf("%s\n", answeredText(r)) })
		}),
		ValidArgsFunction: env.CompleteMember,
	}
	cmd.Flags().StringVar(&a.Feedback, "feedback", "", "what to tell the member that asked")
	cli.JSONFlag(cmd, &asJSON)
	if yes {
		cmd.Use, cmd.Short, cmd.Example = "approve ID", "Say yes to a request", "  covey inbox approve r7"
		cmd.Long = `Say yes to a request: a call runs, a plan is carried out, a task is completed, a
member in trouble goes on. A form is filled in with the feedback; show ID says how.
A request is answered once; a second answer fails and says whose the first was.`
		cmd.Example += "\n  covey inbox approve r8 --feedback main"
		cmd.Flags().StringVar(&a.Mode, "mode", "", "with a plan: the permission `MODE` that the member works in")
	}
	return cmd
}

// printInbox prints questions as a table, then what else a person has to do, and how to
// answer. It says how only if a question is for the operator: members answer what
// members ask each other.
func printInbox(out *term.Screen, list []requests.Request, needs []api.Need, now time.Time) {
	t := &term.Table{Head: []string{"ID", "KIND", "FROM", "TO", "UNANSWERED", "WHAT"}}
	mine, marks := false, map[string]string{}
	for _, n := range needs {
		if len(n.Marks) > 0 {
			marks[n.ID] = view.MarksText(n.Marks) + ": "
			if n.Kind != api.NeedsAnswer { // behind a title, which is not cut for it
				marks[n.ID] = " · " + view.MarksText(n.Marks)
			}
		}
	}
	for _, r := range list {
		mine = mine || r.Open() && inbox.ForPerson(r)
		silent := unanswered(r, now)
		if !r.Open() { // the state matters, not the time
			silent = string(r.State)
		}
		line, _, _ := strings.Cut(strings.TrimPrefix(r.Text, r.Member+" "), "\n") // its name is in a column
		t.Add(term.Cell{Text: r.ID}, term.Cell{Text: string(r.Kind)}, term.Cell{Text: r.Member},
			term.Cell{Text: answererText(r)},
			term.Cell{Text: silent}, term.Cell{Text: marks[r.ID] + line})
	}
	work := &term.Table{Head: []string{"WORK", "FROM", "MERGES IT", "WHAT"}}
	for _, n := range needs {
		switch command := view.NeedCommand(n); n.Kind {
		case api.NeedsMerge, api.NeedsDecision:
			text, _, _ := strings.Cut(n.Text, ") waits to be merged into ")
			text = strings.TrimPrefix(text, "task "+n.Task+" (")
			work.Add(term.Cell{Text: view.NeedWord(n)}, term.Cell{Text: n.Member}, term.Cell{Text: command}, term.Cell{Text: text + marks[n.ID]})
		default:
			t.Add(term.Cell{}, term.Cell{Text: view.NeedWord(n)}, term.Cell{Text: n.Member}, term.Cell{Text: "you"}, term.Cell{},
				term.Cell{Text: marks[n.ID] + view.NeedText(n)})
		}
	}
	if len(t.Rows)+len(work.Rows) == 0 {
		out.Printf("nothing waits for you\n")
		return
	}
	for _, one := range []*term.Table{t, work} {
		if len(one.Rows) > 0 {
			one.Print(out)
		}
	}
	if mine {
		out.Printf("%s\n", out.Paint(term.Faint,
			"covey inbox approve ID, or deny ID --feedback TEXT, answers; show ID shows all"))
	}
}

// printRequest prints one question in full.
func printRequest(out *term.Screen, r requests.Request, now time.Time) {
	out.Printf("%s %s from %s, for %s, %s\n", r.Kind, r.ID, term.PlainLine(r.Member), answererText(r),
		r.State)
	if silent := unanswered(r, now); silent != "" {
		word, at, _ := strings.Cut(silent, " ")
		out.Printf("%s if unanswered at %s\n", word, at)
	}
	out.Printf("\n%s\n", term.Plain(r.Text))
	if more := inbox.RequestText(r); more != "" {
		out.Printf("\n%s\n", term.Plain(more))
	}
	if !r.Open() {
		out.Printf("\n%s\n", answeredText(r))
	}
}

// answererText names who has to answer.
func answererText(r requests.Request) string {
	if inbox.ForPerson(r) {
		return "you"
	}
	return term.PlainLine(r.To)
}

// unanswered returns what becomes of an open question without an answer, and when.
func unanswered(r requests.Request, now time.Time) string {
	word, at := view.Unanswered(r.Kind, r.To, r.Default, r.Deadline, now)
	if !r.Open() || word == "" {
		return ""
	}
	return word + " " + at
}

// answeredText describes the result of a request.
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
