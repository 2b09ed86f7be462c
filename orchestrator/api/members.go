package api

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coveyteam/covey/orchestrator/process"
)

// The verbs about members.
var (
	VerbSend      = forMembers[Send, SendReply]("send", asSender)
	VerbTool      = forMembers[TeamCall, TeamAnswer]("tool", notForPeople)
	VerbInterrupt = forOperator[InterruptRequest, InterruptReply]("interrupt")
	VerbHold      = forMembers[HoldRequest, HoldReply]("hold") // of the members, only the lead may hold others
	VerbEnd       = forOperator[EndMember, EndReply]("member-end")
)

// Send asks to send a text to a member. The text is a prompt of the operator, or
// mail of the member that sends it.
type Send struct {
	To      string `json:"to"` // a member, or "*" for all but the sender
	Text    string `json:"text"`
	Summary string `json:"summary,omitempty"`
	// WaitFor are ids of tasks: the text is read once all of them are done.
	WaitFor []string `json:"wait_for,omitempty"`
	// Now cuts the receiver's running tool short, so that the text is read next; for the operator only.
	Now bool `json:"now,omitempty"`
	// As must be empty or the caller's own name. A Handler finds the sender's
	// name here.
	As string `json:"as,omitempty"`
}

// asSender returns an error if the operator sends a message as somebody else.
func asSender(by process.Caller, as string) error {
	if by.Kind == process.Operator && as != "" && as != by.Name() {
		return fmt.Errorf("%w: a message is from who sends it, it cannot be sent as %s", ErrDenied, as)
	}
	return nil
}

// notForPeople returns an error if the operator calls a team tool.
func notForPeople(by process.Caller, _ string) error {
	if by.Kind == process.Operator {
		return denied(by, "the team tools are for members; covey send and covey tasks do the same for people")
	}
	return nil
}

// Delivery is what happened to a sent text.
type Delivery string

// The deliveries. In both cases the text is stored.
const (
	Delivered Delivery = "delivered" // the member begins a turn with it, or sees it in the running one
	Queued    Delivery = "queued"    // the member gets it when it can take turns again
)

// SendReply is the reply to a Send.
type SendReply struct {
	Delivery Delivery `json:"delivery"`
	IDs      []string `json:"ids"` // of the stored messages, one per recipient
	// RequestID and Message are the result of a structured message, which makes
	// or answers a request.
	RequestID string `json:"request_id,omitempty"`
	Message   string `json:"message,omitempty"`
}

// TeamCall asks for one call of a team tool. `covey mcp` sends it: a process
// without a token, which the kernel identifies.
type TeamCall struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input,omitempty"`
	// Request identifies the call, so that a repeat is recognized. If it is
	// empty, the tool and the input identify the call.
	Request string `json:"request,omitempty"`
	As      string `json:"as,omitempty"` // must be empty or the caller's own name
}

// TeamAnswer is the result of a call of a team tool.
type TeamAnswer struct {
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured"` // an object with the same facts
	IsError    bool            `json:"is_error,omitempty"`
}

// InterruptRequest asks to end a member's turn. The member is then held, unless
// GoOn is set.
type InterruptRequest struct {
	Member string `json:"member"`
	GoOn   bool   `json:"go_on,omitempty"`
}

// InterruptReply is the reply to an InterruptRequest.
type InterruptReply struct {
	Interrupted bool `json:"interrupted"` // false if it was not in a turn
	Held        bool `json:"held"`        // it begins no other turn until it is resumed
	Turn        int  `json:"turn"`
	// Retries is set if it waited for a usage limit or a login, and tries again
	// now.
	Retries bool `json:"retries,omitempty"`
}

// Send and TeamCall have no force: gates and limits do not stop messages, and
// members may not use force.
func (r Send) onBehalf() (string, bool)            { return r.As, false }
func (r TeamCall) onBehalf() (string, bool)        { return r.As, false }
func (r Send) inNameOf(member string) Send         { r.As = member; return r }
func (r TeamCall) inNameOf(member string) TeamCall { r.As = member; return r }

// HoldRequest asks to hold a member, or with Resume to let it go on.
type HoldRequest struct {
	Member string `json:"member"`
	Resume bool   `json:"resume,omitempty"`
	As     string `json:"as,omitempty"` // must be empty or the caller's own name
}

func (r HoldRequest) onBehalf() (string, bool)           { return r.As, false }
func (r HoldRequest) inNameOf(member string) HoldRequest { r.As = member; return r }

// HoldReply is the state of a member after a HoldRequest.
type HoldReply struct {
	Member  string `json:"member"`
	Held    bool   `json:"held"`
	Changed bool   `json:"changed"` // false if Held was so before
	InTurn  bool   `json:"in_turn"` // it is in a turn, which goes on
}

// EndMember asks to end one member; the team goes on.
type EndMember struct {
	Member string        `json:"member"`
	Reason string        `json:"reason,omitempty"`
	Wait   time.Duration `json:"wait,omitempty"` // how long to wait for its answer before it is ended; 0 for two minutes
	Now    bool          `json:"now,omitempty"`  // end it without asking
}

// EndReply is the reply to an EndMember.
type EndReply struct {
	Request string `json:"request,omitempty"` // the id of the request to the member
	Gone    bool   `json:"gone"`              // it has left
	Reason  string `json:"reason,omitempty"`  // why it has left, or why it stays
	Added   bool   `json:"added,omitempty"`   // the lead had added it, so the next start does not bring it back
}

// Send sends a text to a member. If it returns nil, the text is stored and
// survives a crash.
func (c *Client) Send(ctx context.Context, req Send) (SendReply, error) {
	return ask(ctx, c, VerbSend, req)
}

// Interrupt ends a member's turn. The member stays in the team, and is held
// unless GoOn is set.
func (c *Client) Interrupt(ctx context.Context, r InterruptRequest) (InterruptReply, error) {
	return ask(ctx, c, VerbInterrupt, r)
}

// Hold holds a member, or lets it go on.
func (c *Client) Hold(ctx context.Context, r HoldRequest) (HoldReply, error) {
	return ask(ctx, c, VerbHold, r)
}

// EndMember asks a member to leave the team, and waits until it has left or
// refused.
func (c *Client) EndMember(ctx context.Context, e EndMember) (EndReply, error) {
	return ask(ctx, c, VerbEnd, e)
}

// CallTool calls a team tool on behalf of the caller, which must be a member.
func (c *Client) CallTool(ctx context.Context, call TeamCall) (TeamAnswer, error) {
	return ask(ctx, c, VerbTool, call)
}
