// Package teammate runs one member of a team: it takes work from its inbox,
// runs an agent on it, puts hooks and permissions around the agent's tool calls,
// and ends a turn only when the gates pass.
//
// Read turnend.go first, then loop.go for the turn around it and member.go for
// the session around the turns. tooluse.go takes a tool call through its hooks,
// and package permission decides it. Package transcript stores what a member
// needs to resume. The package uses the types of hooks and tasks, but neither
// the bus nor the store: an Inbox supplies work, a TaskLister lists the member's
// tasks, a Sink takes its events. An agent is a one-method interface, Agent; the
// agents of covey are in the packages below this one, and a program that embeds
// covey can supply its own (orchestrator.Options.Agents).
package teammate
