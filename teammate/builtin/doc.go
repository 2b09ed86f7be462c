// Package builtin is the agent that covey brings itself: a loop around a
// agent.Model, and the workspace tools Bash, Read, Write, Edit, Glob and
// Grep.
//
// The Agent knows conversations and nothing else: its model may be an API or a
// script, and every tool call goes to the Host, which puts hooks and
// permissions around the tools. The tools in turn know a working directory and
// an environment, but no agent, hook or rule; any agent kind may use them.
package builtin
