// Package builtin is covey's own agent: a loop around an agent.Model, and the tool
// Agent with its helpers.
//
// The Agent manages only the conversation. Its model may be an API or a script.
// Every tool call goes to the Host, which applies hooks and permissions. The
// workspace tools are in package tools.
package builtin
