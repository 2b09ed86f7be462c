// Package teammate runs one member of a team: it takes work from its inbox,
// lets an agent think about it, puts hooks and permissions around the agent's
// tool calls, and lets a turn end only when the gates agree.
//
// turnend.go is the file to read first, then loop.go, the turn around it, and
// member.go, the life around the turns; tooluse.go takes a tool call through
// its hooks and package permission decides it; package transcript keeps what
// a member writes down and resumes from. The package knows hooks and tasks by
// their types, but neither the bus nor the store: an Inbox hands it work, a
// TaskLister tells what it owns, a Sink takes its events. How an agent thinks
// is behind the one-method interface Agent; covey's kinds live in the packages
// below this one, and a program that embeds covey can bring its own
// (orchestrator.Options.Agents).
package teammate
