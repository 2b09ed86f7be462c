// Package agent has the words that agents share with the members of a team that
// host them.
//
// An Agent does the thinking: it takes a prompt and works until it falls silent.
// Its Host is the member: it runs the agent's tool calls, with hooks and
// permissions around them, and records the conversation, a list of Messages.
// An agent program that runs its tools by itself asks a Supervisor before each
// call. A Model answers the builtin agent.
//
// What happens meanwhile is told by Events, each of which becomes one line of
// the team's journal.
//
// A program that brings an agent, a tool or a model of its own needs this
// package alone.
package agent
