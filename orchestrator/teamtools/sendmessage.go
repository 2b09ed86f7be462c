package teamtools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// SendMessageInput is a call of SendMessage in its newest form. foldMessage
// brings the older ones into it.
type SendMessageInput struct {
	To      string          `json:"to,omitempty" jsonschema:"a member's name, or * for all others"`
	Message json.RawMessage `json:"message,omitempty" jsonschema:"what to say; or the JSON object that a request asks for"`
	Summary string          `json:"summary,omitempty" jsonschema:"five to ten words, shown as a preview"`
	WaitFor []string        `json:"wait_for,omitempty" jsonschema:"ids of tasks: the message is read once all of them are done"`
}

// sendMessage is SendMessage for all kinds of agents.
func sendMessage(ctx context.Context, c call, in SendMessageInput) agent.ToolResult {
	a, err := c.board.Send(ctx, c.me, in)
	if err != nil {
		return toolError(err)
	}
	return agent.ToolResult{Content: string(notation.Encode(a)), Response: notation.Encode(a)}
}

// Send carries out what a message wants: text goes into mailboxes, and what asks for more
// than to be read is asked. What the operator sends is marked as a person's.
func (b *Board) Send(ctx context.Context, by Actor, in SendMessageInput) (SentAnswer, error) {
	w, err := readMessage(in)
	if err != nil {
		return SentAnswer{}, err
	}
	if w.kind != mail.Text {
		return b.demand(ctx, by, w)
	}
	out := mail.Outgoing{Text: w.text, Summary: w.summary, WaitFor: w.waitFor}
	if by.operator() {
		out.Kind = mail.OperatorMessage
	}
	sent, err := b.sendText(ctx, by, w.to, out)
	a := textAnswer(by.Name, sent)
	a.Message += readAfter(w.waitFor) + b.absence(sent)
	return a, err
}

// wish is what somebody wants said or done by a message.
type wish struct {
	// kind is TextMessage, or what is asked of the protocol: ShutdownAsked,
	// shutdownAnswered, PlanAnswered or ApprovalAnswered.
	kind    mail.Kind
	to      string // as the sender wrote it; may be empty in answers
	text    string // of a TextMessage; the reason of a ShutdownAsked
	summary string
	answer  inbox.Answer // of an answer
	waitFor []string     // of a TextMessage: ids of tasks, see mail.Message
}

// readMessage says what a call of SendMessage in its newest form wants. A text
// that is a message object from end to end is taken for the object: models and
// shells write it so, and it must not reach anybody as words that look like
// covey's.
func readMessage(in SendMessageInput) (wish, error) {
	w := wish{kind: mail.Text, to: in.To, summary: in.Summary, waitFor: taskIDs(in.WaitFor)}
	if len(in.Message) == 0 {
		return w, nil // an empty text, which is refused for what it is
	}
	object := in.Message
	if json.Unmarshal(in.Message, &w.text) == nil {
		object = json.RawMessage(strings.TrimSpace(w.text))
		if !isTyped(object) {
			return w, nil
		}
	}
	said, err := readWords(object)
	if err != nil {
		return w, err
	}
	if len(w.waitFor) > 0 {
		return w, notation.Errorf(api.ErrEmpty, "only a text can wait for tasks, and this is a message of type %q; leave wait_for out", said.Type)
	}
	return w.of(said)
}

// SentAnswer is what SendMessage answers, in the words of other hosts. The text
// itself is left out of the routing, where some repeat it: the sender has it.
type SentAnswer struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	// ID is of the one message, IDs of all, in the order of the members.
	ID      string   `json:"msg_id,omitempty"`
	IDs     []string `json:"msg_ids,omitempty"`
	Request string   `json:"request_id,omitempty"` // of a structured message, in both spellings
	RefID   string   `json:"requestId,omitempty"`
	Target  string   `json:"target,omitempty"`
	Routing *routing `json:"routing,omitempty"`

	Sent []mail.Message `json:"-"` // the texts that are on their way
}

// routing says from whom to whom a text went.
type routing struct {
	Sender  string `json:"sender"`
	Target  string `json:"target"`
	Summary string `json:"summary,omitempty"`
}

// textAnswer is the answer to a text that is on its way.
func textAnswer(from string, sent []mail.Message) SentAnswer {
	a := SentAnswer{Success: true, Message: "Message sent to " + recipients(sent), Sent: sent}
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
func (b *Board) absence(sent []mail.Message) string {
	var text strings.Builder
	for _, m := range sent {
		if _, why := b.ports.Members.Now(m.To); why != "" {
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

// sendText puts a text into the mailbox of a member, or of all others for "*".
func (b *Board) sendText(ctx context.Context, by Actor, to string, out mail.Outgoing) ([]mail.Message, error) {
	if to != "*" {
		one, err := b.recipient(by, to)
		if err != nil {
			return nil, err
		}
		out.To = []string{one}
	}
	if strings.TrimSpace(out.Text) == "" {
		return nil, notation.Errorf(api.ErrEmpty, "the message to %s is empty; write what it should say", to)
	}
	out.Summary = cmp.Or(out.Summary, notation.FirstLine(out.Text))
	if to == "*" {
		out.To = slices.DeleteFunc(slices.Clone(b.names()), func(m string) bool { return m == by.Name })
		if len(out.To) == 0 {
			return nil, notation.Errorf(api.ErrNoMember, "there is nobody else in the team")
		}
		out.Summary = "[to all] " + out.Summary
		out.Kind = cmp.Or(out.Kind, mail.Broadcast)
	}
	out.Kind, out.Summary = cmp.Or(out.Kind, mail.Text), mail.Summary(out.Summary)
	sent, err := b.post(ctx, by, out)
	if errors.Is(err, tasks.ErrFull) {
		return nil, fmt.Errorf("nothing was sent: %w, or do without the message", err)
	}
	if err == nil {
		b.ports.News.Sent(sent)
	}
	return sent, err
}

// recipient is the one member that a name means, who must not be the sender.
func (b *Board) recipient(by Actor, name string) (string, error) {
	if name == "" {
		return "", notation.Errorf(api.ErrNoMember, "a message needs a recipient in \"to\": a member's name, or \"*\" for all")
	}
	to := b.resolve(name)
	if err := b.Known(to); err != nil {
		return "", err
	}
	if to == by.Name {
		return "", notation.Errorf(api.ErrNoMember, "you are %s: a message to oneself goes nowhere", to)
	}
	return to, nil
}

// post stores a text for its receivers. One that is too long to be read in a
// piece goes to files, and a pointer into the mailboxes.
func (b *Board) post(ctx context.Context, by Actor, out mail.Outgoing) ([]mail.Message, error) {
	if len(out.Text) <= mail.MaxText {
		return b.ports.Store.Mail().Send(ctx, by.Actor, out)
	}
	whole := out.Text
	out.Text = mail.Head(whole, mail.HeadText)
	for _, name := range out.To {
		text, err := b.ports.Letters.Keep(name, whole)
		if err != nil {
			return nil, err
		}
		out.Texts = append(out.Texts, text)
	}
	return b.ports.Store.Mail().Send(ctx, by.Actor, out)
}
