// Package orchestrator runs a team. It opens the store and the bus, makes the members,
// gives the goal to the lead, and ends the team when its work is done or no member can
// continue.
//
// New checks a team and starts nothing. Run opens everything, resumes what an earlier run
// left, and returns an Ending. Package plan decides what to do next, as a pure function
// of one snapshot of the store; package crew carries it out. Every event becomes a line
// of the journal, which all views read. The Client of package api reaches a running team
// from another process.
//
// A program runs a team with the same two calls. Options.Agents are its own agents, each
// an agent.Agent, and Options.Hooks its own hooks, each a function. Orchestrator.Journal
// and Journal iterate over the events. The Examples show each of them. This package does
// not check whether a spec is trusted; the caller does.
package orchestrator
