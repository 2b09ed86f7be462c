// Package builtin is the agent that covey brings itself: a loop around an
// agent.Model, and the tool Agent with its helpers.
//
// The Agent knows conversations and nothing else: its model may be an API or a
// script, and every tool call goes to the Host, which puts hooks and
// permissions around the tools. Its workspace tools are in package tools.
package builtin
