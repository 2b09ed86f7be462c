// Package command runs any program as a member's agent: one process for each
// prompt, which gets the prompt on its stdin (or as an argument) and prints its
// reply on its stdout.
//
// Read agent.go first: one Run is one process, or several if one is killed or if
// something has to be said before the gates. start.go makes the command line;
// talk.go is the loop while a process runs; verdict.go interprets its end. The
// format of a program's output is its dialect: text.go, claude.go and codex.go
// parse it line by line, and recorder.go converts it to transcript messages.
// inbox.go queues the program's output.
//
// Whatever a program prints, it can end only its own turn: unknown lines, types
// and fields are ignored. Its tool calls are seen only after they have run, because
// no such program asks before it acts. The package does not know hooks, rules or
// tasks: a Host that implements agent.Supervisor is told of the calls.
package command
