package process

import (
	"errors"
	"fmt"
)

// ErrInside is returned by Outside for a connection that a process of the team holds.
var ErrInside = errors.New("belongs to the team")

// CallerKind describes what sent a request to a running team.
type CallerKind string

// The kinds of callers. The kernel determines the kind, not the caller.
const (
	Operator   CallerKind = "operator" // the user who runs the team, or a script of theirs
	MemberTool CallerKind = "tool"     // a process below a member's tool
	Hook       CallerKind = "hook"     // a process that a hook started, on behalf of a member
	// ActingHook is a Hook that the spec allows to act for its member.
	ActingHook     CallerKind = "acting_hook"
	Unowned        CallerKind = "stray"     // a process below covey without a known owner
	OtherNamespace CallerKind = "elsewhere" // a process in another user or PID namespace than the team's
)

// Caller is the sender of a request.
type Caller struct {
	Kind   CallerKind
	Member string // set for MemberTool and Hook; empty for a hook of the whole team
	PID    int
}

// Name returns the caller's name in messages, tasks and the journal: "operator" for a
// person, else the member's name.
func (c Caller) Name() string {
	if c.Kind == Operator {
		return string(Operator)
	}
	return c.Member
}

// String describes the caller for people.
func (c Caller) String() string {
	switch {
	case c.Kind == Operator:
		return "the operator"
	case c.Kind == MemberTool:
		return fmt.Sprintf("process %d was started by member %s", c.PID, c.Member)
	case c.IsHook() && c.Member != "":
		return fmt.Sprintf("process %d is a hook for member %s", c.PID, c.Member)
	case c.IsHook():
		return fmt.Sprintf("process %d is a hook", c.PID)
	case c.Kind == OtherNamespace:
		return fmt.Sprintf("process %d is in another user or PID namespace than the team; call from the one that covey up runs in", c.PID)
	default:
		return fmt.Sprintf("process %d is left over from a tool or hook, or was started by covey's git", c.PID)
	}
}

// IsHook reports whether the caller is a process of a hook or gate.
func (c Caller) IsHook() bool { return c.Kind == Hook || c.Kind == ActingHook }
