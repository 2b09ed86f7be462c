package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// sendMessageInput is a call of SendMessage in its newest form. foldMessage
// brings the older ones into it.
type sendMessageInput struct {
	To      string          `json:"to,omitempty" jsonschema:"a member's name, or * for all others"`
	Message json.RawMessage `json:"message,omitempty" jsonschema:"what to say; or an object that a request asks for"`
	Summary string          `json:"summary,omitempty" jsonschema:"five to ten words, shown as a preview"`
	WaitFor []string        `json:"wait_for,omitempty" jsonschema:"ids of tasks: the message is read once all of them are done"`
}

// messageTool makes the builtin agent's tool that sends messages.
func messageTool(
	description string, run func(ctx context.Context, callID string, in sendMessageInput) agent.ToolResult,
) (agent.Tool, error) {
	t, err := newTeamTool("SendMessage", description, nil, run)
	if err != nil {
		return nil, err
	}
	t.(*teamTool).fold = foldMessage
	return t, nil
}

// foreignMessage is a call as agent programs are told to make it. Message
// objects come as text: many vendors' schemas know no field of two types.
type foreignMessage struct {
	To      string `json:"to" jsonschema:"a member's name, or * for all others"`
	Message string `json:"message" jsonschema:"what to say; or the JSON object that a request asks for"`
	Summary string `json:"summary,omitempty" jsonschema:"five to ten words, shown as a preview"`
	// It is the same as that of sendMessageInput.
	WaitFor []string `json:"wait_for,omitempty" jsonschema:"ids of tasks: the message is read once all of them are done"`
}

// foreignMessageTool makes the tool of agent programs that sends messages.
func foreignMessageTool(
	description string, run func(ctx context.Context, callID string, in sendMessageInput) agent.ToolResult,
) (agent.Tool, error) {
	t, err := newTeamTool(mcpSend, description, nil,
		func(ctx context.Context, id string, in foreignMessage) agent.ToolResult {
			return run(ctx, id, sendMessageInput{To: in.To, Message: rawjson.Encode(in.Message), Summary: in.Summary,
				WaitFor: in.WaitFor})
		})
	if err != nil {
		return nil, err
	}
	t.(*teamTool).fold = foldForeign
	return t, nil
}

// sendMessage is SendMessage for all kinds of agents.
func sendMessage(ctx context.Context, b *board, me actor, in sendMessageInput) agent.ToolResult {
	w, err := readMessage(in)
	if err != nil {
		return toolError(err)
	}
	a, err := b.say(ctx, me, w)
	if err != nil {
		return toolError(err)
	}
	return agent.ToolResult{Content: string(rawjson.Encode(a)), Response: rawjson.Encode(a)}
}

// sentAnswer is what SendMessage answers, in the words of other hosts. The text
// itself is left out of the routing, where some repeat it: the sender has it.
type sentAnswer struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	// ID is of the one message, IDs of all, in the order of the members.
	ID      string   `json:"msg_id,omitempty"`
	IDs     []string `json:"msg_ids,omitempty"`
	Request string   `json:"request_id,omitempty"` // of a structured message, in both spellings
	RefID   string   `json:"requestId,omitempty"`
	Target  string   `json:"target,omitempty"`
	Routing *routing `json:"routing,omitempty"`

	sent []mail.Message
}

// routing says from whom to whom a text went.
type routing struct {
	Sender  string `json:"sender"`
	Target  string `json:"target"`
	Summary string `json:"summary,omitempty"`
}

// errNoProtocol is for a board that nobody carries out requests for.
var errNoProtocol = errors.New("requests cannot be sent: this board only carries text")

// say carries out what a message wants: text goes into mailboxes, all else to
// the protocol.
func (b *board) say(ctx context.Context, me actor, w wish) (sentAnswer, error) {
	if w.kind == mail.Text || w.kind == mail.OperatorMessage {
		out := mail.Outgoing{Text: w.text, Summary: w.summary, WaitFor: w.waitFor}
		if w.kind == mail.OperatorMessage {
			out.Kind = mail.OperatorMessage
		}
		sent, err := b.send(ctx, me, w.to, out)
		a := textAnswer(me.Name, sent)
		a.Message += readAfter(w.waitFor) + b.absence(sent)
		return a, err
	}
	if b.protocol == nil {
		return sentAnswer{}, errNoProtocol
	}
	switch w.kind {
	case mail.ShutdownAsked:
		return b.askToEnd(ctx, me, w)
	case mail.ModeSet:
		return b.changeMode(ctx, me, w)
	}
	a := sentAnswer{Success: true, Request: w.answer.ID, RefID: w.answer.ID}
	if w.kind == shutdownAnswered {
		a.Message = shutdownAnswerText(me.Name, b.names()[0], w.answer)
		return a, b.protocol.answerShutdown(ctx, me, w.answer)
	}
	a.Message = approvalText(w)
	return a, b.protocol.answerPlan(ctx, me, w.answer)
}

// askToEnd sends a request to end to one member.
func (b *board) askToEnd(ctx context.Context, me actor, w wish) (sentAnswer, error) {
	to, err := b.recipient(me, w.to)
	if err != nil {
		return sentAnswer{}, err
	}
	r, err := b.protocol.shutdown(ctx, me, to, cmp.Or(w.text, w.summary))
	if err != nil {
		return sentAnswer{}, err
	}
	return sentAnswer{
		Success: true, Message: fmt.Sprintf("Shutdown request sent to %s. Request ID: %s", to, r.RequestID),
		Request: r.RequestID, RefID: r.RequestID, Target: to,
	}, nil
}

// changeMode gives one member another permission mode.
func (b *board) changeMode(ctx context.Context, me actor, w wish) (sentAnswer, error) {
	to, err := b.recipient(me, w.to)
	if err == nil {
		err = b.protocol.setMode(ctx, me, to, w.answer.Mode)
	}
	if err != nil {
		return sentAnswer{}, err
	}
	return sentAnswer{Success: true, Message: fmt.Sprintf("%s has permission mode %s now.", to,
		w.answer.Mode), Target: to}, nil
}

// shutdownAnswerText tells a member what its answer to a request to end means.
func shutdownAnswerText(me, lead string, a inbox.Answer) string {
	if a.Approve {
		return fmt.Sprintf("Shutdown approved. Sent confirmation to %s. Agent %s is now exiting.", lead, me)
	}
	return fmt.Sprintf("Shutdown rejected. Reason: %q. Continuing to work.", a.Text)
}

// approvalText tells who approves what came of it.
func approvalText(w wish) string {
	what := "Plan"
	if w.kind == mail.ApprovalAnswered {
		what = "Work"
	}
	switch {
	case w.answer.Approve:
		return what + " approved. Its author goes on."
	case w.answer.Text == "":
		return what + " rejected. Its author is told, without feedback: say what is missing."
	}
	return fmt.Sprintf("%s rejected with feedback: %q", what, w.answer.Text)
}

// textAnswer is the answer to a text that is on its way.
func textAnswer(from string, sent []mail.Message) sentAnswer {
	a := sentAnswer{Success: true, Message: "Message sent to " + recipients(sent), sent: sent}
	for _, m := range sent {
		a.IDs = append(a.IDs, m.ID)
	}
	if len(sent) == 1 {
		a.ID = sent[0].ID
		a.Routing = &routing{Sender: from, Target: "@" + sent[0].To, Summary: sent[0].Summary}
	}
	return a
}

// absence tells a sender who of the receivers will not read a message in this run, because
// "sent" alone would let it wait for an answer.
func (b *board) absence(sent []mail.Message) string {
	var text strings.Builder
	for _, m := range sent {
		if b.gone == nil {
			break
		}
		if why := b.gone(m.To); why != "" {
			fmt.Fprintf(&text, "; %s takes no more turns (%s): it reads this when the team is next started",
				m.To, why)
		}
	}
	return text.String()
}

// recipients names whose mailboxes got a message.
func recipients(sent []mail.Message) string {
	names := make([]string, len(sent))
	for i, m := range sent {
		names[i] = m.To + "'s inbox"
	}
	return strings.Join(names, ", ")
}

// send puts a text into the mailbox of a member, or of all others for "*".
func (b *board) send(ctx context.Context, by actor, to string, out mail.Outgoing) ([]mail.Message, error) {
	if to != "*" {
		one, err := b.recipient(by, to)
		if err != nil {
			return nil, err
		}
		out.To = []string{one}
	}
	if strings.TrimSpace(out.Text) == "" {
		return nil, wording.Errorf(api.ErrEmpty, "the message to %s is empty; write what it should say", to)
	}
	out.Summary = cmp.Or(out.Summary, wording.FirstLine(out.Text))
	if to == "*" {
		out.To = slices.DeleteFunc(slices.Clone(b.names()), func(m string) bool { return m == by.Name })
		if len(out.To) == 0 {
			return nil, wording.Errorf(api.ErrNoMember, "there is nobody else in the team")
		}
		out.Summary = "[to all] " + out.Summary
		out.Kind = cmp.Or(out.Kind, mail.Broadcast)
	}
	out.Kind, out.Summary = cmp.Or(out.Kind, mail.Text), mail.Summary(out.Summary)
	sent, err := b.post(ctx, by, out)
	if errors.Is(err, tasks.ErrFull) {
		return nil, fmt.Errorf("nothing was sent: %w, or do without the message", err)
	}
	if err == nil && b.heard != nil {
		b.heard(sent)
	}
	return sent, err
}

// recipient is the one member that a name means, who must not be the sender.
func (b *board) recipient(by actor, name string) (string, error) {
	if name == "" {
		return "", wording.Errorf(api.ErrNoMember, "a message needs a recipient in \"to\": a member's name, or \"*\" for all")
	}
	to := b.resolve(name)
	if err := b.known(to); err != nil {
		return "", err
	}
	if to == by.Name {
		return "", wording.Errorf(api.ErrNoMember, "you are %s: a message to oneself goes nowhere", to)
	}
	return to, nil
}

// post stores a text for its receivers. One that is too long to be read in a
// piece goes to files, and a pointer into the mailboxes.
func (b *board) post(ctx context.Context, by actor, out mail.Outgoing) ([]mail.Message, error) {
	if len(out.Text) <= mail.MaxText {
		return b.store.Mail().Send(ctx, by.Actor, out)
	}
	whole := out.Text
	out.Text = mail.Head(whole, mail.HeadText)
	for _, name := range out.To {
		text, err := b.letters.Keep(name, whole)
		if err != nil {
			return nil, err
		}
		out.Texts = append(out.Texts, text)
	}
	return b.store.Mail().Send(ctx, by.Actor, out)
}
