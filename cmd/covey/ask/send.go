package ask

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtools"
)

// Send returns `covey send MEMBER TEXT`.
func Send(env *cli.Env) *cobra.Command {
	var as string
	var asJSON, answered, now bool
	var waitFor []string
	cmd := &cobra.Command{
		Use:   "send MEMBER TEXT...",
		Short: "Send a member a text, as its next prompt",
		Long: `Send a member a text. An idle member begins a turn with it, and a working one reads
it with its next pass: that is "delivered". "queued" means that the member reads it
later, for example after a tool call. In both cases the text is stored and survives
a crash. TEXT "-" reads the text from standard input; MEMBER "*" means all members.
Of a text over 32 KiB the member gets the beginning and the path of a file that has
all of it.

With --now the text cuts the tool that the member runs short and is what it reads next.
An agent program, which takes texts only between its turns, ends its turn for it.

With --wait-for the member gets the text when all of those tasks are completed or
deleted, so it is woken once for the work of several others.

A TEXT that is a JSON object with a type is a request or an answer:
shutdown_request, shutdown_response, plan_approval_response, approval_response or
mode_set_request.

With --answered, which is for the lead's agent, TEXT goes to no member: it is the
answer to a goal that was a question.`,
		Example: `  covey send backend "use the v2 API"
  covey send backend '{"type":"shutdown_request","reason":"we are done"}'
  covey send lead - < plan.md
  covey send '*' "we ship at four"
  covey send ana --wait-for 2,3 "both parts are in: put them together"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if answered {
				return cli.ArgCount(1, -1, "an answer")(cmd, args)
			}
			return cli.ArgCount(2, -1, "a member and a text")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if answered {
				return sendAnswer(cmd.Context(), env, args)
			}
			text, err := env.TextOf(args[1:], "there is no text to send")
			if err != nil {
				return err
			}
			mail := api.Send{To: args[0], Text: text, As: as, WaitFor: waitFor, Now: now}
			reply, err := cli.Call(cmd.Context(), env, cli.With((*api.Client).Send, mail))
			if err != nil {
				return err
			}
			if asJSON {
				return env.Out.JSON(reply)
			}
			// The team has something to say about the delivery that the two words for it do
			// not cover.
			if reply.Message != "" {
				env.Out.Printf("%s\n", term.PlainLine(reply.Message))
				return nil
			}
			env.Out.Printf("%s\n", deliveryText(reply.Delivery, args[0]))
			return nil
		},
		ValidArgsFunction: env.CompleteMember,
	}
	cmd.Flags().StringVar(&as, "as", "", "send it in the name of `MEMBER`")
	cmd.Flags().StringSliceVar(&waitFor, "wait-for", nil,
		"it is read once these `TASKS` are done: ids with commas between")
	cmd.Flags().BoolVar(&now, "now", false, "cut the tool that the member runs short: the text comes next")
	cmd.Flags().BoolVar(&answered, "answered", false,
		"for the lead's agent: TEXT answers the goal, which was a question")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// sendAnswer is `covey send --answered`, for a lead whose agent lacks the team tools.
func sendAnswer(ctx context.Context, env *cli.Env, args []string) error {
	text, err := env.TextOf(args, "the answer is empty")
	if err != nil {
		return err
	}
	return callTool(ctx, env, teamtools.ReportTool, map[string]any{"report": text, "answered": true})
}

// deliveryText describes the delivery of a text. Either way it is stored; the
// difference is when it is read.
func deliveryText(d api.Delivery, to string) string {
	if to == "*" {
		to = "everybody"
	}
	if d == api.Queued {
		return "queued for " + term.PlainLine(to) + ": stored; it is read as soon as that can be"
	}
	return "delivered to " + term.PlainLine(to)
}
