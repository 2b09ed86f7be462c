package orchestrator

import (
	"context"
	"strings"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// reportInput is what a member tells the lead, or the lead whoever has given it the goal.
type reportInput struct {
	Report   string `json:"report" jsonschema:"what you have done, what came of it, what is left"`
	Answered bool   `json:"answered,omitempty" jsonschema:"for the lead alone: the goal was a question, and this report answers it"`
}

// ReportToolName is the team tool by which members report.
const ReportToolName = mcpReport

// reportTool makes the tool by which members report. It has the same name for all kinds
// of agent.
func reportTool(b *board, me func(callID string) actor) (agent.Tool, error) {
	return newTeamTool(mcpReport, "Report to the lead of your team what you have done and found. The lead calls it only "+
		"where its goal was a question, or asked for no change: with answered true and the answer as the report.",
		map[string]string{"message": "report", "text": "report", "content": "report"},
		func(ctx context.Context, id string, in reportInput) agent.ToolResult {
			return report(ctx, b, me(id), in)
		})
}

// report sends a text to the lead; the report-sent policy is content then. That of the
// lead itself is noted.
func report(ctx context.Context, b *board, me actor, in reportInput) agent.ToolResult {
	lead := b.names()[0]
	switch {
	case me.Name != lead && in.Answered:
		return toolError(wording.Errorf(api.ErrDenied, "only the lead, %s, can say that the goal is answered; report without answered", lead))
	case me.Name != lead:
		return sendMessage(ctx, b, me, sendMessageInput{To: lead, Message: rawjson.Encode(in.Report), Summary: mail.ReportSummary})
	case !in.Answered:
		return toolError(wording.Errorf(api.ErrNoMember, "you are the lead: your answer at the end of the turn is the report; "+
			"set answered to true only if the goal was a question and your report answers it"))
	case strings.TrimSpace(in.Report) == "":
		return toolError(wording.Errorf(api.ErrEmpty, "the report is empty; write the answer into it"))
	}
	if err := b.answered(ctx, in.Report); err != nil {
		return toolError(err)
	}
	return agent.ToolResult{Content: "Noted: the goal was a question, and this is its answer."}
}
