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
//
// # A turn, from its input to its end
//
// A turn begins with work of the Inbox, or with one that a crash has cut off. Its inputs pass the
// hooks of prompts, and the agent runs on them. Each tool call of the agent goes, in this order,
// through PreToolUse hooks, the permissions, a person if neither decides, the tool, and
// PostToolUse hooks; its result goes back to the agent and to the transcript. When the agent has
// no more calls, the gates decide: Stop, TaskCompleted for each task in progress, TeammateIdle. A
// refusal is the agent's next input, and the whole chain runs again after it.
//
// # What a member keeps
//
// A member is one goroutine. Other goroutines reach it by the Inbox, by Interrupt, and by events
// of its background work, never by its fields. What must outlast a crash is in the transcript
// before the step that depends on it: a message before hooks may read it, a result before the
// next request, kept inputs before the turn ends. What the store knows is confirmed to it only
// after that, so a crash in between repeats the confirmation and not the message.
//
// # When something fails
//
// An error of the model ends the turn, runs StopFailure hooks, and is tried again by whoever gives
// the work, if it may pass. Trouble in a hook or in the machinery lets the turn end with a warning
// that people see and the model does not. Only a transcript that cannot be written ends the
// member: without it nothing that it does could be resumed.
//
// # A new session
//
// With rotation a member writes a brief after a completed task, when its next work arrives, and goes
// on in a new session that begins with the brief. The old transcript's last line names the new
// session, so after a crash one of the two goes on, and the brief is shown once.
package teammate
