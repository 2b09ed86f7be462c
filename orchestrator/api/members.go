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
	VerbHold      = forMembers[HoldRequest, HoldReply]("hold") // the team lets the lead alone hold others
	VerbEnd       = forOperator[EndMember, EndReply]("member-end")
)

// Send asks to give a text to a member. It is the operator's prompt, or mail
// of the member that sends it.
type Send struct {
	To      string `json:"to"` // a member, or "*" for all but the sender
	Text    string `json:"text"`
	Summary string `json:"summary,omitempty"`
	// WaitFor are ids of tasks: the text is read once all of them are done.
	WaitFor []string `json:"wait_for,omitempty"`
	// As must be empty or the caller's own name: a message is from who sends
	// it. A Handler finds the sender's name here.
	As string `json:"as,omitempty"`
}

// asSender refuses a message that the operator sends as somebody else.
func asSender(by process.Caller, as string) error {
	if by.Kind == process.Operator && as != "" && as != by.Name() {
		return fmt.Errorf("%w: a message is from who sends it, it cannot be sent as %s", ErrDenied, as)
	}
	return nil
}

// notForPeople refuses that the operator calls a tool of the members.
func notForPeople(by process.Caller, _ string) error {
	if by.Kind == process.Operator {
		return denied(by, "the team tools are for members; covey send and covey tasks do the same for people")
	}
	return nil
}

// Delivery says what became of a sent text.
type Delivery string

// The two answers to a Send. Either way the text is stored.
const (
	Delivered Delivery = "delivered" // the member begins a turn with it, or sees it in the running one
	Queued    Delivery = "queued"    // the member gets it when it can take turns again
)

// SendReply answers a Send.
type SendReply struct {
	Delivery Delivery `json:"delivery"`
	IDs      []string `json:"ids"` // of the stored messages, one per recipient
	// RequestID and Message are what came of a structured message: it asked for
	// something, or answered who did.
	RequestID string `json:"request_id,omitempty"`
	Message   string `json:"message,omitempty"`
}

// TeamCall asks for one call of a team tool, from a process that has no token
// and is known by the kernel: `covey mcp`.
type TeamCall struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input,omitempty"`
	// Request names the call, so that a repeat of it is known as one; empty: its tool and
	// input do.
	Request string `json:"request,omitempty"`
	As      string `json:"as,omitempty"` // must be empty or the caller's own name
}

// TeamAnswer is what a call of a team tool came to.
type TeamAnswer struct {
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured"` // an object with the same facts
	IsError    bool            `json:"is_error,omitempty"`
}

// InterruptRequest asks for the turn of a member to be ended. The member is held then,
// unless it is to go on.
type InterruptRequest struct {
	Member string `json:"member"`
	GoOn   bool   `json:"go_on,omitempty"`
}

// InterruptReply answers the request to interrupt a member.
type InterruptReply struct {
	Interrupted bool `json:"interrupted"` // false: it was in no turn
	Held        bool `json:"held"`        // it begins no other turn until it is resumed
	Turn        int  `json:"turn"`
	// Retries says that it was locked out by a usage limit or a missing login,
	// and tries again now.
	Retries bool `json:"retries,omitempty"`
}

// Messages and calls of tools have no force: no gate or limit stops a message, and none lets a tool pass.
func (r Send) onBehalf() (string, bool)            { return r.As, false }
func (r TeamCall) onBehalf() (string, bool)        { return r.As, false }
func (r Send) inNameOf(member string) Send         { r.As = member; return r }
func (r TeamCall) inNameOf(member string) TeamCall { r.As = member; return r }

// HoldRequest asks for a member to be held, or with Resume to go on.
type HoldRequest struct {
	Member string `json:"member"`
	Resume bool   `json:"resume,omitempty"`
	As     string `json:"as,omitempty"` // must be empty or the caller's own name
}

func (r HoldRequest) onBehalf() (string, bool)           { return r.As, false }
func (r HoldRequest) inNameOf(member string) HoldRequest { r.As = member; return r }

// HoldReply says how a member stands after a HoldRequest.
type HoldReply struct {
	Member  string `json:"member"`
	Held    bool   `json:"held"`
	Changed bool   `json:"changed"` // false: it stood so before
	InTurn  bool   `json:"in_turn"` // it is in a turn, which goes on
}

// EndMember asks to end one member; the team goes on.
type EndMember struct {
	Member string        `json:"member"`
	Reason string        `json:"reason,omitempty"`
	Wait   time.Duration `json:"wait,omitempty"` // for its answer, until it is ended without one; 0: two minutes
	Now    bool          `json:"now,omitempty"`  // it is not asked
}

// EndReply says what became of an EndMember.
type EndReply struct {
	Request string `json:"request,omitempty"` // the id of the request that the member got
	Gone    bool   `json:"gone"`              // it has left
	Reason  string `json:"reason,omitempty"`  // why it has left, or why it stays
}

// Send gives a text to a member. When it returns without an error, the text
// is stored and survives a crash.
func (c *Client) Send(ctx context.Context, req Send) (SendReply, error) {
	return ask(ctx, c, VerbSend, req)
}

// Interrupt ends the turn that a member is in; the member stays, and is held unless it is
// to go on.
func (c *Client) Interrupt(ctx context.Context, r InterruptRequest) (InterruptReply, error) {
	return ask(ctx, c, VerbInterrupt, r)
}

// Hold holds a member, or lets it go on.
func (c *Client) Hold(ctx context.Context, r HoldRequest) (HoldReply, error) {
	return ask(ctx, c, VerbHold, r)
}

// EndMember asks a member to leave the team and waits until it has, or says that
// it stays.
func (c *Client) EndMember(ctx context.Context, e EndMember) (EndReply, error) {
	return ask(ctx, c, VerbEnd, e)
}

// CallTool calls a team tool in the name of the caller, which must be a
// member.
func (c *Client) CallTool(ctx context.Context, call TeamCall) (TeamAnswer, error) {
	return ask(ctx, c, VerbTool, call)
}
