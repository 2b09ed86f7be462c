// Package acpserver is `covey acp`: it serves teams to an ACP client, such as an editor, as if each
// were one agent. It makes no promise of compatibility to programs outside covey.
//
// A session is a team, that of the spec in the session's folder. A prompt is a run of it: the
// server starts `covey up --json` below itself, reads the journal from its output, and turns
// the lines into session updates; the end of the run is the end of the prompt. So a team here
// is what it is anywhere else, a crash of one session leaves the others alone, and all other
// commands work on it. The first prompt is the goal. Each later one is a text to the lead,
// stored before the next run begins.
//
//   - The run has a pipe from the server as its standard input, and ends in order when that is
//     closed, whether the server closes it or is killed. The next run continues.
//   - session/cancel interrupts and holds all members, then ends the run in the same way.
//   - An open request for a person becomes session/request_permission. Its answer goes to the
//     team's socket, as that of `covey inbox` does.
//   - A client that stops reading stops the reader of the journal, which the team does not
//     wait for.
package acpserver
