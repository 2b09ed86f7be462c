// Package command makes any program a member's agent: one process for each
// prompt, which gets the prompt on its stdin (or as an argument) and prints its
// reply on its stdout.
//
// agent.go is the file to read first: one Run is one process, or a few where
// one is killed, or where something has to be said before the gates are asked.
// start.go makes the command line; talk.go is the loop while a process runs;
// verdict.go says what its end means. What a program prints is its dialect:
// text.go, claude.go and codex.go take it in line by line, recorder.go makes
// transcript messages of it. inbox.go is what stands between the program's
// output and the transcript.
//
// Nothing that a program prints can end more than its own turn: lines, types
// and fields that are not known are passed over. Its tool calls can only be
// looked at when they are done, for no such program asks before it acts. The
// package knows nothing of hooks, rules or tasks: a Host that is a
// agent.Supervisor hears of the calls.
package command
