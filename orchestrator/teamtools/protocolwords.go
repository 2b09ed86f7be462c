package teamtools

import (
	"encoding/json"
	"fmt"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// protocolInput returns a message of TEAMS.md 4 as a model sees it. A member's
// message is framed and holds the JSON that models know from other hosts. Covey's
// own is plain text.
func (n ToolNames) protocolInput(m mail.Message) agent.Input {
	in := agent.Input{Kind: agent.FromMail, MessageID: m.ID}
	switch {
	case m.Kind == mail.Text, m.Kind == mail.Broadcast, len(m.Data) == 0:
		in.Text = mailText(m)
	case m.From == "":
		in.Kind, in.Text = agent.FromCovey, m.Text
	default:
		in.Text = fmt.Sprintf("<teammate-message teammate_id=\"%s\">\n%s%s\n</teammate-message>",
			attribute(m.From), texts.Defuse(string(m.Data)), n.howToAnswer(m))
	}
	return in
}

// howToAnswer returns instructions for answering a request, or "" for other
// messages.
func (n ToolNames) howToAnswer(m mail.Message) string {
	var ref mail.RequestRef
	if json.Unmarshal(m.Data, &ref) != nil || ref.RequestID == "" {
		return ""
	}
	switch m.Kind {
	case mail.ShutdownAsked:
		return "\n\nThis is a shutdown request. To approve it, " + n.answering(m.From, shutdownAnswered, ref) +
			" Approving ends you once this call is over; words alone do not. To decline, because you are in the " +
			`middle of something, say the same with "approve": false and a "reason".`
	case mail.QuestionAsked:
		return "\n\n" + m.From + " waits for your answer before it goes on: the next text that you send to it " +
			"is the answer. Send it with " + n.phrases().send + "."
	case mail.PlanAsked:
		return "\n\nThis plan waits for you: its author may only read until you answer. To approve it, " +
			n.answering(m.From, mail.PlanAnswered, ref) + ` To refuse it, say the same with "approve": false and ` +
			`"feedback" on what to change.`
	case mail.ApprovalAsked:
		return "\n\nThis task's completion waits for you. Look at the work. To approve it, " +
			n.answering(m.From, mail.ApprovalAnswered,
				ref) + ` To refuse it, say the same with "approve": false and ` +
			`"feedback" on what to mend.`
	}
	return ""
}

// answering returns the call that approves a request. Its message is an object,
// not text.
func (n ToolNames) answering(to string, kind mail.Kind, ref mail.RequestRef) string {
	object := string(texts.Encode(struct {
		Type    mail.Kind `json:"type"`
		Request string    `json:"request_id"`
		Approve bool      `json:"approve"`
	}{kind, ref.RequestID, true}))
	if n == ShellNames {
		return fmt.Sprintf("run: %s send %s '%s'.", coveyShell, to, object)
	}
	return fmt.Sprintf("call %s with exactly this input: {\"to\":%s,\"message\":%s}.", n.phrases().send, texts.Encode(to), object)
}
