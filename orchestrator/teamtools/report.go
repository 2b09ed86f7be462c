package teamtools

import (
	"context"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// reportInput is a member's report to the lead, or the lead's report to the
// operator.
type reportInput struct {
	Report   string `json:"report" jsonschema:"what you have done, what came of it, what is left"`
	Answered bool   `json:"answered,omitempty" jsonschema:"for the lead alone: the goal was a question, and this report answers it"`
}

// report sends a member's report to the lead, which satisfies the report-sent
// policy. The lead's own report is stored as the answer to the goal.
func report(ctx context.Context, c call, in reportInput) agent.ToolResult {
	lead := c.board.names()[0]
	switch {
	case c.me.Name != lead && in.Answered:
		return agent.Failed("only the lead, %s, can say that the goal is answered; report without answered", lead)
	case c.me.Name != lead:
		return sendMessage(ctx, c, SendMessageInput{To: lead, Message: texts.Encode(in.Report), Summary: mail.ReportSummary})
	case !in.Answered:
		return agent.Failed("you are the lead: your answer at the end of the turn is the report; " +
			"set answered to true only if the goal was a question and your report answers it")
	case strings.TrimSpace(in.Report) == "":
		return agent.Failed("the report is empty; write the answer into it")
	}
	if err := c.board.deps.Goals.Answer(ctx, in.Report); err != nil {
		return agent.Failed("%v", err)
	}
	return agent.ToolResult{Content: "Noted: the goal was a question, and this is its answer."}
}
