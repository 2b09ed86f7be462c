package members

import (
	"slices"
	"sync/atomic"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// Member is one member from the moment it gets its seat until it leaves it. A member
// whose spec has changed gets another Member.
type Member struct {
	*configs.Member               // as the team's spec has it; must not be changed
	Lead            bool          // whether it leads the team
	Session         actors.Member // its session, as the store has it
	Dir             string        // the folder it works in; set before its first turn
	Remembers       string        // what its model is told of its memory in this session; set with Dir

	fallback atomic.Pointer[configs.Agent] // the agent it uses instead of its own; nil: its own
}

// Return describes how a member comes back within a run.
type Return struct {
	SameAgent bool // its spec names the agent that it had
	Rotated   bool // it goes on in a new session
}

// Actor is the member, in its current session, as the store records who changes something.
func (m *Member) Actor() actors.Actor {
	return actors.Actor{Name: m.Name, Session: m.Session.Epoch}
}

// CurrentAgent is the agent that the member uses now: that of its spec, or a
// fallback. It may be called from any goroutine.
func (m *Member) CurrentAgent() configs.Agent { return *m.AgentInUse() }

// AgentInUse is CurrentAgent without a copy. It must not be changed.
func (m *Member) AgentInUse() *configs.Agent {
	if a := m.fallback.Load(); a != nil {
		return a
	}
	return &m.Agent
}

// Current is the member's spec with its current agent.
func (m *Member) Current() configs.Member {
	spec := *m.Member
	spec.Agent = m.CurrentAgent()
	return spec
}

// FallbackAgent is the name of the agent that the member uses instead of its own;
// empty: it uses its own.
func (m *Member) FallbackAgent() string {
	if a := m.fallback.Load(); a != nil {
		return a.Name
	}
	return ""
}

// SwitchAgent makes a the member's current agent; nil goes back to its own. It
// may be called from any goroutine.
func (m *Member) SwitchAgent(a *configs.Agent) { m.fallback.Store(a) }

// Skills are what a member has of what tasks may want.
func Skills(m *configs.Member) tasks.Skills {
	return tasks.Skills{Role: m.Role, Labels: m.Labels, Tools: m.Tools}
}

// Takes reports whether a member could take a task by itself: it has what the task wants, or,
// if that is nothing in particular, it can change something.
func Takes(m *configs.Member, w tasks.Wants) bool {
	return w.Suits(Skills(m)) && !(w.Empty() && m.OnlyReads())
}

// MayUse reports whether a tool is among those that a spec names; nil names all.
// A member that has Bash can also read and end what it runs in the background.
func MayUse(named []string, tool string) bool {
	if tool == "BashOutput" || tool == "KillShell" {
		return named == nil || slices.Contains(named, tool) || slices.Contains(named, "Bash")
	}
	return named == nil || rules.Lists(named, tool)
}
