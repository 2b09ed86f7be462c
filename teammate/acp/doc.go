// Package acp makes a foreign agent program a member's agent: it speaks the
// Agent Client Protocol, version 1, over the program's stdin and stdout.
//
// agent.go is the file to read first: one Run is one turn of the program, or a
// few where it crashes, or where something has to be said before the gates are
// asked. session.go brings the program up and finds its session again;
// prompt.go is the loop while a prompt runs, verdict.go what its end means;
// recorder.go makes transcript messages of its updates; toolname.go says what
// its tool calls are called in rules and hooks; failure.go tells a crash from a
// limit and from a program that is not logged in. conn.go and line.go are the
// wire.
//
// Nothing that a program sends can end more than its own connection: updates,
// methods and fields that are not known are passed over, lines that are no
// JSON and answers to nothing as well. The package knows nothing of hooks,
// rules or tasks: a Host that is a agent.Supervisor decides what may run.
package acp
