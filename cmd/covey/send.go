package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/orchestrator"
)

// sendCommand is `covey send MEMBER TEXT`.
func (c *cli) sendCommand() *cobra.Command {
	var as string
	var asJSON, answered bool
	var waitFor []string
	cmd := &cobra.Command{
		Use:   "send MEMBER TEXT...",
		Short: "Give a member a text, as its next prompt",
		Long: `Give a member a text. An idle member begins a turn with it, a working one sees it
with its next pass: that is "delivered". "queued" means that the member gets it
later, as when it is in the middle of a tool call. Either way the text is stored and survives
a crash. TEXT "-" reads the text from standard input; MEMBER "*" is everybody. Of a text over 32 KiB
the member gets the start, and the file that has all of it.

With --wait-for the text is read once all of those tasks are completed or deleted: a member
is woken once for the work of several others.

A TEXT that is a JSON object with a type asks for more than to be read, or answers who asked:
shutdown_request, shutdown_response, plan_approval_response and approval_response.

With --answered, which is for the lead's agent, TEXT goes to nobody: it is the answer
to a goal that was a question.`,
		Example: `  covey send backend "use the v2 API"
  covey send backend '{"type":"shutdown_request","reason":"we are done"}'
  covey send lead - < plan.md
  covey send '*' "we ship at four"
  covey send ana --wait-for 2,3 "both parts are in: put them together"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if answered {
				return argCount(1, -1, "an answer")(cmd, args)
			}
			return argCount(2, -1, "a member and a text")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if answered {
				return c.sendAnswer(cmd.Context(), args)
			}
			text, err := c.textOf(args[1:], "there is no text to send")
			if err != nil {
				return err
			}
			client, err := c.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			reply, err := client.Send(cmd.Context(), orchestrator.Send{To: args[0], Text: text, As: as, WaitFor: waitFor})
			if err != nil {
				return err
			}
			if asJSON {
				return c.out.json(reply)
			}
			if reply.Message != "" {
				c.out.printf("%s\n", plainLine(reply.Message))
				return nil
			}
			c.out.printf("%s\n", deliveryText(reply.Delivery, args[0]))
			return nil
		},
		ValidArgsFunction: c.completeMember,
	}
	cmd.Flags().StringVar(&as, "as", "", "send it in the name of `MEMBER`")
	cmd.Flags().StringSliceVar(&waitFor, "wait-for", nil,
		"it is read once these `TASKS` are done: ids with commas between")
	cmd.Flags().BoolVar(&answered, "answered", false, "for the lead's agent: TEXT answers the goal, which was a question")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// sendAnswer is `covey send --answered`, for a lead whose agent has no tools of ours.
func (c *cli) sendAnswer(ctx context.Context, args []string) error {
	text, err := c.textOf(args, "the answer is empty")
	if err != nil {
		return err
	}
	return c.callTool(ctx, orchestrator.ReportToolName, map[string]any{"report": text, "answered": true})
}

// textOf is the text that arguments give: their words, or what stdin has.
// Several words need no quotes; what is not UTF-8 is repaired here, where the
// person who sent it can still see it. An empty text is refused: it would wake
// a member for nothing. missing is what the caller reads then.
func (c *cli) textOf(args []string, missing string) (string, error) {
	text := strings.Join(args, " ")
	if text == "-" {
		data, err := io.ReadAll(c.in)
		if err != nil {
			return "", err
		}
		text = string(data)
	}
	if strings.TrimSpace(text) == "" {
		return "", usagef("%s", missing)
	}
	return strings.ToValidUTF8(text, "\ufffd"), nil
}

// deliveryText says what became of a text. Both mean that the text is safe;
// they differ in when it is read.
func deliveryText(d orchestrator.Delivery, to string) string {
	if to == "*" {
		to = "everybody"
	}
	if d == orchestrator.Queued {
		return "queued for " + plainLine(to) + ": stored; it is read as soon as that can be"
	}
	return "delivered to " + plainLine(to)
}
