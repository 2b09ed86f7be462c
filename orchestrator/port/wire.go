package port

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// Methods of the transport.
const (
	methodAsk   = "ask"
	methodOrder = "order"
)

// Errors are the errors that keep their identity on the other side, by code.
var Errors = map[string]error{
	"port-no-seat": ErrNoSeat, "max-tokens": agent.ErrMaxTokens, "max-budget": agent.ErrMaxBudget, "team-budget": agent.ErrTeamBudget,
	"halted": teammate.ErrHalted,
}

// ErrNoSeat means that a node does not have the life of a member that an order is for, or that the
// coordinator has given the member another life.
var ErrNoSeat = errors.New("the member has another life, or none")

// From names the life that a request, a report or an order belongs to. Lives of a member have rising
// numbers.
type From struct {
	Member string `json:"member"`
	Life   uint64 `json:"life"`
}

// Ask is a request. One field besides From is set.
type Ask struct {
	From
	Waiting  bool      `json:"waiting,omitempty"`
	Standing bool      `json:"standing,omitempty"`
	Taken    *[]string `json:"taken,omitempty"`
	Admit    *bool     `json:"admit,omitempty"` // a turn begins; false: it has ended
	Left     *bool     `json:"left,omitempty"`  // what is left for a helper; false: for the member
	Passed   *Passed   `json:"passed,omitempty"`
	Tool     *ToolCall `json:"tool,omitempty"`
	Question *Question `json:"question,omitempty"`
	Verdict  *Verdict  `json:"verdict,omitempty"`
	Lines    *int64    `json:"lines,omitempty"` // the transcript from this byte on
}

// Answered is the answer to an Ask.
type Answered struct {
	Waiting  []agent.Input     `json:"waiting,omitempty"`
	Standing Standing          `json:"standing,omitzero"`
	Tool     agent.ToolResult  `json:"tool,omitzero"`
	Answer   Answer            `json:"answer,omitzero"`
	Verdict  Judged            `json:"verdict,omitzero"`
	Lines    []byte            `json:"lines,omitempty"`
	Copy     worktree.Snapshot `json:"copy,omitzero"` // what the team has made of the copy that came with the request
}

// copy returns what the member's copy has; zero: the request does not depend on it.
func (a Ask) copy() worktree.Snapshot {
	switch {
	case a.Tool != nil:
		return a.Tool.Copy
	case a.Passed != nil:
		return a.Passed.Copy
	case a.Verdict != nil:
		return a.Verdict.Copy
	}
	return worktree.Snapshot{}
}

// Reported is a report with the life that it is from.
type Reported struct {
	From
	Report Report `json:"report"`
}

// Order is an order. One field besides From is set.
type Order struct {
	From
	Adopt  *SeatOrder `json:"adopt,omitempty"` // goes on with the life that runs there
	Seat   *SeatOrder `json:"seat,omitempty"`  // begins a life
	Turn   *Turn      `json:"turn,omitempty"`
	End    End        `json:"end,omitempty"`
	Fire   *Fired     `json:"fire,omitempty"`
	Signal *Signal    `json:"signal,omitempty"`
	Renew  *string    `json:"renew,omitempty"`
	Mode   string     `json:"mode,omitempty"`
}

// SeatOrder is what a life begins with, or goes on with.
type SeatOrder struct {
	Session string            `json:"session"`
	Mode    string            `json:"mode"` // permission mode
	Copy    worktree.Snapshot `json:"copy"`
	Lines   Lines             `json:"lines"` // what the team has of the transcript, without its bytes
}

// Seated is the answer to a SeatOrder.
type Seated struct {
	Used Spent `json:"used"` // over all lives of the member

	// What a life does that goes on.
	Given uint64 `json:"given,omitempty"` // number of the last Turn that was given
	Turn  int    `json:"turn,omitempty"`  // number of the member's turn that runs; 0: none
	State State  `json:"state,omitzero"`
}

// Turn is work for a member that is idle.
type Turn struct {
	No   uint64            `json:"no"` // counts from 1 in a life
	Work teammate.Work     `json:"work"`
	Copy worktree.Snapshot `json:"copy"`
	// Facts are set if another session begins with the work: what is known of the member, for a brief.
	Facts *string `json:"facts,omitempty"`
}

// End tells how a life ends.
type End string

// The values of End.
const (
	EndDone      End = "done"      // it takes no more turns
	EndContinued End = "continued" // its session goes on in another life
	EndNow       End = "now"       // in the middle of its turn
)

// Fired is an event whose hooks are run.
type Fired struct {
	Event     hooks.Event     `json:"event"`
	Input     json.RawMessage `json:"input"`
	Completer string          `json:"completer,omitempty"` // who completes a task that the hooks judge
}

// Link is the node's end of a transport.
type Link interface {
	// Ask sends a request until it is answered or ctx ends.
	Ask(ctx context.Context, member, method string, in json.RawMessage) (json.RawMessage, error)
	// Report stores a report on the node's disk. It reaches the coordinator, in order.
	Report(ctx context.Context, member string, body json.RawMessage) error
}

// Hub is the coordinator's end of a transport.
type Hub interface {
	// Seat waits for a node with labels that has a free place. gone is closed when the node is lost or has
	// begun anew; release gives the place back.
	Seat(ctx context.Context, member string, labels []string) (node string, gone <-chan struct{}, release func(), err error)
	// Order sends an order until it is answered, ctx ends or the node is gone.
	Order(ctx context.Context, node, member, method string, in json.RawMessage) (json.RawMessage, error)
	// Sat returns the node on which a member has sat last, also in earlier runs; empty: none.
	Sat(ctx context.Context, member string) (node string, err error)
}
