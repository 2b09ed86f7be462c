// Package agent defines the types that agents share with the members of a team that
// host them.
//
// An Agent is the intelligence of a member: it takes a prompt and works until it is
// done. Its Host is the member, which runs the agent's tool calls with hooks and
// permissions, and records the conversation as a list of Messages. An agent program
// that runs its tools itself asks a Supervisor before each call. A Model answers the
// builtin agent.
//
// Events report what happens; each becomes one line of the team's journal.
//
// What helpers and background hooks leave for a member waits in a Later and in a Meter for its
// next request, and the end of a member waits for its Background.
//
// A program that supplies its own agent, tool or model needs only this package.
package agent
