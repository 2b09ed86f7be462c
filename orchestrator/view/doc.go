// Package view folds the lines of a team's journal into one State, the source of
// everything that covey shows of a team. The State of a running team (Live) takes events as they
// happen, and decides for all what members do (Member.State); another is folded from the journal.
//
// # A State
//
// A State is a plain value: Apply changes it by one line, and nothing else does. It uses no
// clock, lock, file or network, so the same lines always give the same State, and a test
// folds a journal without a team. The zero State is ready to use. Whoever shares a State
// between goroutines locks it.
//
// Apply accepts every line: one of an unknown type, or with data of an unknown shape, changes
// nothing but Seq and Time, because the journal of a newer covey must be shown too. A line
// whose number is not above Seq was applied before and changes nothing, so a reader that
// reconnects may apply lines twice. The first line of a newer journal, after
// `covey up --fresh`, begins a new State.
//
// A fold may begin in the middle of a journal. First is then above 1, and what came before is
// not known: tasks, members and mail appear with their next line. Missing numbers are in Gaps.
//
// # Snapshots
//
// The JSON of a State is a snapshot. A reader that joins decodes it and applies the lines
// after Seq; the result equals that of a fold from the beginning. Version is the version of
// the names of fields: fields may be added, none is renamed within a version.
//
// # Bounds
//
// A State holds no whole outputs and texts. It holds numbers of lines instead, from which a
// reader gets the text again (state.JournalRange), and texts that are cut to one line.
// Lists of what is over are bounded too; the oldest entries are dropped first, and Dropped
// counts them. What is not over (tasks, open requests, merges on their way) is never dropped.
//
// # What a State does not know
//
// Only a running team or its store knows: differences of files, who is attached, the
// schedules, and the mail of
// earlier journals. What a member does while no line is written is not known either.
//
// The API is for covey only and may change.
package view
