// Package board is the board of a team on a terminal: what needs a person, the members, the tasks and a
// log, and one key for each thing that a person can do about them. `covey up` shows it while it runs the
// team, and `covey attach` opens it for any team, on one member if it is named. It makes no promise of
// compatibility to programs outside covey.
//
// A view.Feed follows the team. A goroutine takes a scene from it, at most ten times a second: all
// rows of the lists as plain values, with their texts made plain. The model gets scenes, rows of the
// log and keys as messages, and draws a frame from them; it asks nobody and holds no lock. What a
// key asks for runs outside of the model, and its result comes back as a message. So neither a team
// that does not answer nor a terminal that does not read holds up the other, and a frame costs the
// same however long the journal is.
//
// The log draws what is visible of the journal, and keeps a bounded number of rows; older ones are read
// again when somebody scrolls up to them. Text that a model is still writing stands below the rows, fainter,
// until the event with the whole text takes its place.
//
// The state is that of a few fields: which list has the focus, which of its rows is chosen, whether
// somebody types. Each of them has a way out by Esc.
package board
