package teamtools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/tasks/store"
	"github.com/coveyteam/covey/teammate/agent"
)

// askInput is a member's question to the lead.
type askInput struct {
	Question string `json:"question,omitempty" jsonschema:"the question, with what the lead has to know to answer it"`
}

const (
	// maxQuestion limits a question in bytes.
	maxQuestion = 8 << 10
	// programPatience is how long the call of a program waits. Programs give up calls that take
	// longer than a minute (see mcp.callBook), so they are told to ask again.
	programPatience = 35 * time.Second
	opAnswer        = "answer" // of a tasks.Receipt
)

// askLead asks the lead and waits for the answer. It never waits for a lead that cannot answer.
func askLead(ctx context.Context, c call, in askInput) agent.ToolResult {
	lead, question := c.board.names()[0], strings.TrimSpace(in.Question)
	switch {
	case question == "":
		return agent.Failed("the question is empty; write what you need to know")
	case len(question) > maxQuestion:
		return agent.Failed("the question has %d bytes, at most %d are allowed; "+
			"put the rest into a file and name it", len(question), maxQuestion)
	case c.me.Name == lead:
		return agent.Failed("you are the lead: there is nobody to ask")
	}
	instead := "Go on without the answer, or send it a message with " + c.names.phrases().send +
		" and end your turn"
	if why := c.board.cannotAnswer(lead); why != "" {
		return agent.Failed("%s %s. %s.", lead, why, instead)
	}
	q := inbox.Question{To: lead, Text: question}
	if c.names == MCPNames {
		q.Patience = programPatience
	}
	r, err := c.board.deps.Questions.Consult(ctx, c.me.Actor, q)
	switch {
	case err != nil:
		return agent.Failed("%v", err)
	case r.Open():
		return agent.ToolResult{Content: lead + " has not answered yet. Call this tool again with the same " +
			"question to wait on, or end your turn: the answer comes as a message then."}
	}
	return answerResult(r, lead, instead)
}

// answerResult tells a member how its question ended.
func answerResult(r requests.Request, lead, instead string) agent.ToolResult {
	text := strings.TrimSpace(r.Feedback)
	if text == "" {
		text = map[bool]string{true: "Yes.", false: "No."}[r.Approved()]
	}
	switch {
	case r.State == requests.Expired, r.State == requests.Withdrawn:
		return agent.ToolResult{Content: fmt.Sprintf("%s has not answered in time. %s.", lead, instead)}
	case r.Taken:
		return agent.ToolResult{Content: "The answer has come as a message."}
	case r.By == actors.Operator:
		return agent.ToolResult{Content: "The user answers: " + text}
	}
	return agent.ToolResult{Content: mailText(mail.Message{
		From: r.By, Summary: "the answer to your question", Text: text,
	})}
}

// cannotAnswer returns why a member will not answer soon; empty: it may.
func (b *TaskAPI) cannotAnswer(member string) string {
	state, gone := b.deps.Members.Now(member)
	if gone != "" {
		return "takes no more turns (" + gone + ")"
	}
	busy := []api.MemberState{api.Held, api.Limited, api.LoggedOut, api.NeedsAttention}
	if slices.Contains(busy, api.MemberState(state)) {
		return "cannot answer now (" + state + ")"
	}
	return ""
}

// reply makes a text the answer to a question that its sender has read; replied is false if it is
// an ordinary text. A call that is repeated after a crash is recognized by its receipt.
func (b *TaskAPI) reply(ctx context.Context, by Actor, w parsedMessage) (a SentAnswer, replied bool, err error) {
	to := b.resolve(w.to)
	if to == "" || b.Known(to) != nil || strings.TrimSpace(w.text) == "" ||
		len(w.waitFor) > 0 || by.operator() {
		return a, false, nil
	}
	a = SentAnswer{Success: true, Message: to + " has your answer", Target: to}
	if by.CallID != "" {
		past, known, err := b.deps.Store.Receipt(ctx, by.Name, by.CallID)
		if err != nil || known {
			return a, known && past.Op == opAnswer, err
		}
	}
	text := w.text
	if len(text) > store.MaxShort {
		if text, err = b.deps.Letters.Keep(to, text); err != nil {
			return a, false, fmt.Errorf("keep a long answer: %w", err)
		}
	}
	replied, err = b.deps.Questions.Reply(ctx, by.Actor, to, text)
	return a, replied, err
}
