package teamtools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// SendMessageInput is the input of SendMessage in its newest form. foldMessage
// converts older forms to it.
type SendMessageInput struct {
	To      string          `json:"to,omitempty" jsonschema:"a member's name, or * for all others"`
	Message json.RawMessage `json:"message,omitempty" jsonschema:"what to say; or the JSON object that a request asks for"`
	Summary string          `json:"summary,omitempty" jsonschema:"five to ten words, shown as a preview"`
	WaitFor []string        `json:"wait_for,omitempty" jsonschema:"ids of tasks: the message is read once all of them are done"`
}

// sendMessage implements SendMessage for all kinds of agents.
func sendMessage(ctx context.Context, c call, in SendMessageInput) agent.ToolResult {
	a, err := c.board.Send(ctx, c.me, in)
	if err != nil {
		return agent.Failed("%v", err)
	}
	return agent.ToolResult{Content: string(texts.Encode(a)), Response: texts.Encode(a)}
}

// Send delivers a text to mailboxes, or carries out the request in a structured
// message. Texts of the operator are marked as a person's.
func (b *TaskAPI) Send(ctx context.Context, by Actor, in SendMessageInput) (SentAnswer, error) {
	w, err := readMessage(in)
	if err != nil {
		return SentAnswer{}, err
	}
	if w.kind != mail.Text {
		return b.sendStructured(ctx, by, w)
	}
	if a, replied, err := b.reply(ctx, by, w); replied || err != nil {
		return a, err
	}
	out := mail.Outgoing{Text: w.text, Summary: w.summary, WaitFor: w.waitFor}
	if by.operator() {
		out.Kind = mail.OperatorMessage
	}
	sent, err := b.sendText(ctx, by, w.to, out)
	a := textAnswer(by.Name, sent)
	a.Message += readAfter(w.waitFor) + b.absentRecipients(sent)
	return a, err
}

// parsedMessage is a parsed SendMessage call: a text, or a structured message of the
// protocol.
type parsedMessage struct {
	// kind is mail.Text, ShutdownAsked, shutdownAnswered, PlanAnswered,
	// ApprovalAnswered or ModeSet.
	kind    mail.Kind
	to      string // as the sender wrote it; may be empty in answers
	text    string // of a mail.Text; the reason of a ShutdownAsked
	summary string
	answer  inbox.Answer // of an answer
	waitFor []string     // of a mail.Text: ids of tasks, see mail.Message
}

// readMessage parses a SendMessage call in its newest form. A text that consists
// of a message object is parsed as that object: models and shells write it that
// way, and delivered as text it would look like a message from covey.
func readMessage(in SendMessageInput) (parsedMessage, error) {
	w := parsedMessage{kind: mail.Text, to: in.To, summary: in.Summary, waitFor: taskIDs(in.WaitFor)}
	if len(in.Message) == 0 {
		return w, nil // sendText refuses an empty text
	}
	object := in.Message
	if json.Unmarshal(in.Message, &w.text) == nil {
		object = json.RawMessage(strings.TrimSpace(w.text))
		if !isTyped(object) {
			return w, nil
		}
	}
	parsed, err := readObject(object)
	if err != nil {
		return w, err
	}
	if len(w.waitFor) > 0 {
		return w, texts.Errorf(api.ErrEmpty, "only a text can wait for tasks, and this is a message of type %q; leave wait_for out", parsed.Type)
	}
	return w.fromObject(parsed)
}

// SentAnswer is the result of SendMessage, with the field names of other hosts.
// Unlike some of them, covey does not repeat the text in the routing, because the
// sender has it.
type SentAnswer struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	// ID is set if one message was sent. IDs holds all ids, in the order of the
	// members.
	ID      string   `json:"msg_id,omitempty"`
	IDs     []string `json:"msg_ids,omitempty"`
	Request string   `json:"request_id,omitempty"` // of a structured message, in both spellings
	RefID   string   `json:"requestId,omitempty"`
	Target  string   `json:"target,omitempty"`
	Routing *routing `json:"routing,omitempty"`

	Sent []mail.Message `json:"-"` // the texts that were stored
}

// routing names the sender and the recipient of a text.
type routing struct {
	Sender  string `json:"sender"`
	Target  string `json:"target"`
	Summary string `json:"summary,omitempty"`
}

// textAnswer returns the answer for texts that were stored.
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

// absentRecipients names the recipients that will not read a message in this run,
// because a sender that reads only "sent" would wait for an answer.
func (b *TaskAPI) absentRecipients(sent []mail.Message) string {
	var text strings.Builder
	for _, m := range sent {
		if _, why := b.deps.Members.Now(m.To); why != "" {
			fmt.Fprintf(&text, "; %s takes no more turns (%s): it reads this when the team is next started",
				m.To, why)
		}
	}
	return text.String()
}

// recipients lists the mailboxes that messages were stored in.
func recipients(sent []mail.Message) string {
	names := make([]string, len(sent))
	for i, m := range sent {
		names[i] = m.To + "'s inbox"
	}
	return strings.Join(names, ", ")
}

// sendText stores a text in a member's mailbox, or in those of all other members
// for "*".
func (b *TaskAPI) sendText(ctx context.Context, by Actor, to string, out mail.Outgoing) ([]mail.Message, error) {
	if to != "*" {
		one, err := b.recipient(by, to)
		if err != nil {
			return nil, err
		}
		out.To = []string{one}
	}
	if strings.TrimSpace(out.Text) == "" {
		return nil, texts.Errorf(api.ErrEmpty, "the message to %s is empty; write what it should say", to)
	}
	out.Summary = cmp.Or(out.Summary, texts.FirstLine(out.Text))
	if to == "*" {
		out.To = slices.DeleteFunc(slices.Clone(b.names()), func(m string) bool { return m == by.Name })
		if len(out.To) == 0 {
			return nil, texts.Errorf(api.ErrNoMember, "there is nobody else in the team")
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
		b.deps.News.Sent(sent)
	}
	return sent, err
}

// recipient resolves a name to a member. It fails if that member is the sender.
func (b *TaskAPI) recipient(by Actor, name string) (string, error) {
	if name == "" {
		return "", texts.Errorf(api.ErrNoMember, "a message needs a recipient in \"to\": a member's name, or \"*\" for all")
	}
	to := b.resolve(name)
	if err := b.Known(to); err != nil {
		return "", err
	}
	if to == by.Name {
		return "", texts.Errorf(api.ErrNoMember, "you are %s: a message to oneself goes nowhere", to)
	}
	return to, nil
}

// post stores a text for its recipients. A text longer than mail.MaxText goes
// into one file per recipient, and the mailbox gets its head and a pointer to the
// file.
func (b *TaskAPI) post(ctx context.Context, by Actor, out mail.Outgoing) ([]mail.Message, error) {
	if len(out.Text) <= mail.MaxText {
		return b.deps.Store.Mail().Send(ctx, by.Actor, out)
	}
	whole := out.Text
	out.Text = mail.Head(whole, mail.HeadText)
	for _, name := range out.To {
		text, err := b.deps.Letters.Keep(name, whole)
		if err != nil {
			return nil, err
		}
		out.Texts = append(out.Texts, text)
	}
	return b.deps.Store.Mail().Send(ctx, by.Actor, out)
}
