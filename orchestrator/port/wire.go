package port

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
	Admit    *bool     `json:"admit,omitempty"`
	Left     *bool     `json:"left,omitempty"`
	Passed   *Passed   `json:"passed,omitempty"`
	Tool     *ToolCall `json:"tool,omitempty"`
	Question *Question `json:"question,omitempty"`
	Notice   *Notice   `json:"notice,omitempty"`
}

// Answered is the answer to an Ask.
type Answered struct {
	Waiting  []agent.Input     `json:"waiting,omitempty"`
	Standing Standing          `json:"standing,omitzero"`
	Tool     agent.ToolResult  `json:"tool,omitzero"`
	Answer   Answer            `json:"answer,omitzero"`
	Copy     worktree.Snapshot `json:"copy,omitzero"` // what the team has made of the copy that came with the request
}

// copy returns what the member's copy has; zero: the request does not depend on it.
func (a Ask) copy() worktree.Snapshot {
	switch {
	case a.Tool != nil:
		return a.Tool.Copy
	case a.Passed != nil:
		return a.Passed.Copy
	}
	return worktree.Snapshot{}
}

// answer asks home what a request asks.
func (a Ask) answer(ctx context.Context, home Home) (out Answered, err error) {
	switch {
	case a.Waiting:
		out.Waiting, err = home.Waiting(ctx)
	case a.Standing:
		out.Standing, err = home.Standing(ctx)
	case a.Taken != nil:
		err = home.Taken(ctx, *a.Taken)
	case a.Admit != nil:
		err = home.Admit(ctx, *a.Admit)
	case a.Left != nil:
		err = home.Left(ctx, *a.Left)
	case a.Passed != nil:
		err = home.Passed(ctx, *a.Passed)
	case a.Tool != nil:
		out.Tool, err = home.Tool(ctx, *a.Tool)
	case a.Question != nil:
		out.Answer, err = home.Ask(ctx, *a.Question)
	case a.Notice != nil:
		err = home.Notice(ctx, *a.Notice)
	default:
		err = fmt.Errorf("a request of %s asks nothing that this covey knows", a.Member)
	}
	return out, err
}

// Reported is a report with the life that it is from.
type Reported struct {
	From
	Report Report `json:"report"`
}

// Order is an order. One field besides From is set.
type Order struct {
	From
	Seat   *SeatOrder `json:"seat,omitempty"`
	Turn   *Turn      `json:"turn,omitempty"`
	End    End        `json:"end,omitempty"`
	Fire   *Fired     `json:"fire,omitempty"`
	Signal *Signal    `json:"signal,omitempty"`
	Renew  *string    `json:"renew,omitempty"`
	Mode   string     `json:"mode,omitempty"`
}

// SeatOrder begins a life.
type SeatOrder struct {
	Session string            `json:"session"`
	Mode    string            `json:"mode"` // permission mode
	Copy    worktree.Snapshot `json:"copy"`
}

// Turn is work for a member that is idle.
type Turn struct {
	No   uint64            `json:"no"` // counts from 1 in a life
	Work teammate.Work     `json:"work"`
	Copy worktree.Snapshot `json:"copy"`
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
	Event hooks.Event     `json:"event"`
	Input json.RawMessage `json:"input"`
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
}
