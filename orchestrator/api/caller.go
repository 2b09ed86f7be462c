package api

import (
	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/process"
)

// nobody replaces the member in the bus identity of a caller without one; no member can
// have this name.
const nobody = "_"

// Identity returns a caller's identity on the bus.
func Identity(c process.Caller) bus.Identity {
	id := bus.Identity{Kind: string(c.Kind), Name: c.Member, PID: c.PID}
	if c.Member == "" {
		id.Name = nobody
	}
	return id
}

// CallerFrom is the inverse of Identity. An unknown kind becomes process.Unowned.
func CallerFrom(id bus.Identity) process.Caller {
	c := process.Caller{Kind: process.CallerKind(id.Kind), PID: id.PID}
	switch c.Kind {
	case process.MemberTool, process.Hook, process.ActingHook:
		if id.Name != nobody {
			c.Member = id.Name
		}
	case process.Operator, process.Unowned, process.OtherNamespace:
	default:
		c.Kind = process.Unowned
	}
	return c
}
