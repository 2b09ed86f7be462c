// Package web shows a team as a live web page: what waits for a person, what every member does,
// what gates have refused and why, and whether finished work can be merged. It draws a view.State
// with the sections of package pages, asks the running team for the rest, and acts on it as the
// operator.
//
// # Pages
//
// All pages are HTML from templates and can be read without scripts:
//
//   - / is the board: what needs a person, the team, the review queue, what waits for what,
//     members, tasks, the ends of turns and mail, in this order.
//   - /task/ID is for deciding about one task: what to look at first, its changes hunk by hunk,
//     its evidence, the verdicts of its gates, and its conversation, above a bar that stays in
//     sight. What a person has viewed and noted is in memory (reviewBook).
//   - /member/NAME is a member with its log, /request/ID a question in full.
//   - /a/TOKEN answers one question, for whoever was sent the link; see link.go.
//
// Each form is a POST that also works without scripts: the answer is then a redirect to the page
// that the form was on.
//
// # Live
//
// With scripts a page is live. It opens a stream of server-sent events, and htmx puts the parts
// that have changed in place. htmx and its extension are files of this package, under the licence
// in static/htmx-LICENSE; page.js adds keys, the filter and ages.
//
// A feed follows the journal's file and folds it, so the team never waits for a page. All viewers
// share one board, which is drawn at most once for each change, by whoever asks first, and is cut
// into parts with ids. Each part knows in which version of the board it changed last. A viewer
// asks for what has changed since the version that it has, and gets everything if that was a
// version of another server. Rows whose data are the same are not drawn again (pages.Rows), and
// the time between two drawings grows with what one costs.
//
// The pages of members and tasks are drawn for each viewer (see live): parts with sums, and a log
// with numbers of lines. The id of an event names the journal, the last line and the sums of all
// parts, so a viewer that comes back gets the parts that differ, misses no line and gets none twice.
// One of another server, or of the journal before `covey up --fresh`, gets the whole page. What a
// model is writing comes from the running team (draftReader) and is a state, not a stream.
//
// So there is no queue for a viewer: a slow one gets fewer and larger changes, one that does not
// read is given up after writeTime, and its browser comes back with the id of the last event that
// it has seen. A log in an open page keeps its newest lines; page.js takes the others out.
//
// # Who may
//
// Whoever opens a page acts as the operator, so a member must not be able to. The guard checks,
// in this order: the name by which the page was called (against DNS rebinding), the origin of the
// request, whether a proxy has forwarded it, and who has made the connection, as the kernel shows;
// then the cookie, or the token of the address in its place. An action needs the token of the
// page's forms as well. Who is not found to be the operator needs a code of `covey web --code`. Token,
// codes and the keys of cookies are in memory alone, because members can read the operator's files; a
// browser that had a page open is known again by hashes (former).
// docs/security.md has the reasons.
//
// What members write reaches a page only through the templates, which escape it, and through
// term.Plain, which shows control characters and marks of direction instead of obeying them; secrets
// are masked there, too (cli.Masker). The
// Content-Security-Policy forbids scripts, styles and requests of any other origin, and inline
// ones.
//
// It makes no promise of compatibility to programs outside covey.
package web
