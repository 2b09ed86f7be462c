// Package acp runs a foreign agent program as a member's agent: it speaks the
// Agent Client Protocol, version 1, over the program's stdin and stdout.
//
// Read agent.go first: one Run is one prompt to the program, or several if it
// crashes or if something has to be said before the gates. session.go starts the
// program and resumes its session; prompt.go is the loop while a prompt runs, and
// verdict.go interprets its end; recorder.go converts updates to transcript
// messages; toolname.go names tool calls for rules and hooks; failure.go
// distinguishes a crash from a limit and from a missing login. conn.go and line.go
// are the wire.
//
// Whatever a program sends, it can end only its own connection: unknown updates,
// methods and fields are ignored, and so are lines that are not JSON and answers to
// no request. The package does not know hooks, rules or tasks: a Host that
// implements agent.Supervisor decides what may run.
package acp
