// Package program has what those share that talk to foreign programs, above all agents: a running
// program with its streams, the turns of an agent that is a program, the meaning of error texts, and
// restarts of a failed program. It makes no promise of compatibility to programs outside covey.
//
// # A Process
//
// A Process is a program that talks over its streams. It runs in a session of its own, so that a
// terminal's Ctrl-C does not reach it, and its whole tree ends with it. What it writes to stderr is
// kept, the end of it only, because that is where programs say why they stopped.
//
// # An agent
//
// Options, Conversation, Talk and Recorder are what an agent that is a program needs, whatever
// protocol it speaks: how it is started, its turns, one prompt, and the transcript of that prompt.
//
// # What went wrong
//
// Programs report the errors of their vendors as text. One table gives these texts a meaning, with the
// version of the program and the source for each: a limit with the time of its end, a missing login,
// an error that may pass. A text that is in no row stays an error of the program.
//
// # Starting again
//
// A program that fails is started again after pauses that grow, and given up after some failures in
// a row; an answer in between starts the count again. Inputs that come while a program works wait, and
// are given to it in their order with the next prompt.
package program
