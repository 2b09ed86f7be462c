// Package orchestrator runs a team: it is the only place where the parts
// meet. It opens the store and the bus, makes the members, hands the goal to
// the lead, wakes whoever has something to do, and ends the team when its work
// is done or nobody can go on.
//
// New checks a team and starts nothing. Run opens everything, resumes what an
// earlier run left, and returns an Ending. Inside, what to do next is decided
// by plan, a pure function over one snapshot of the store; the crew carries it
// out. Everything that happens becomes a line of the journal, which is what
// all views read. The Client of package
// api reaches a running team from another process.
//
// A program of one's own runs a team by the same two calls. Options.Agents are
// its agents, each a agent.Agent; Options.Hooks its hooks, each a function;
// Orchestrator.Journal and Journal are what happens, as loops. The Examples show
// each of them. Nobody is asked here whether a spec is trusted: that is the
// caller's matter.
package orchestrator
