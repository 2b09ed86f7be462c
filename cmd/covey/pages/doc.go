// Package pages draws what a team does and has done: as the sections of the live web page, and as the
// report of `covey report`, which is the page of the team in one file, or Markdown.
//
// # Sections
//
// A Drawing makes sections of a view.State, by html/template: what needs a person, the team, its
// members, what waits for what, the tasks, the ends of turns, merges, mail and answers. A Task is all
// that a page shows of one of them. The web page and the report draw both by the same templates, so a
// fact that is added is in both. They differ in the functions that templates call: where links lead,
// and whether somebody can answer.
//
// What members write reaches a section only through the templates, which escape it, and through
// term.Plain, which shows control characters and marks of direction instead of obeying them.
//
// # Work
//
// What is to be looked at first in finished work is known to the State (view.Works.Hints). Differences may be of any size and damaged anywhere, because
// members make them.
//
// # The report
//
// It is made of the journal, of the work that git has, and of what the team says that runs.
// Secrets are masked in every text of it (texts.MaskAll), and its parts are made smaller until
// it fits into its limit; what is left out is said.
//
// It makes no promise of compatibility to programs outside covey.
package pages
