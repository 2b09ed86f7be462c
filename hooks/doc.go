// Package hooks is the hook protocol of a team: the events at which hooks run, what hooks
// read, what they may answer, and what their answers do. It follows the protocol of Claude
// Code's hooks, so that scripts written for it run unchanged. docs/hooks.md has what users need.
//
// Comments and tests cite HOOKS.md: the project's notes of how Claude Code's hooks behave,
// measured, which are not in this repository. Its sections and rules are named so that the
// origin of a rule can be traced.
//
// It does not know teams, tasks or turns: callers fill in an Input and act on the Outcome.
// Failures inside a hook are part of the Outcome.
//
// # Packages
//
// This package holds what programs use: events and their inputs, configured handlers,
// outcomes, and the Registry of hooks that are Go functions. The packages below it do the
// work: rules (permission rules and matchers), settings (also of other programs' hook files)
// and web, judging, and runner, which runs the hooks of an event. They make no promise of compatibility to
// programs outside covey.
//
// # Functions
//
// A program that embeds covey adds hooks that are Go functions to a Registry
// (runner.Options.Callbacks). They run together with the other hooks, and their answers are
// judged and merged like those of commands. Registry.AfterTurn adds functions that are
// called after each turn.
//
// # Hooks and gates
//
// A hook that cannot run, hangs or gives an invalid answer fails open: the action goes
// ahead, as in the original, and the Result says so (FailedOpen, Warning). A gate
// (Handler.Gate) fails closed: only exit code 0 agrees.
//
// # What the model sees
//
// The texts of an Outcome are complete, including headings, byte for byte as recorded
// hosts show them. Where they go depends on the event:
//
//	turn end (Stop, TaskCompleted, TeammateIdle)  each of Messages as a user message
//	PreToolUse                                    Feedback is the call's error
//	PostToolUse, PostToolUseFailure               Messages below the tool's result
//	TaskCreated, TaskCompleted by a tool          Feedback is the tool's result
//	SessionStart, UserPromptSubmit                AdditionalContext before the prompt
//
// A refused prompt is only shown to people (SystemMessages). A PreToolUse halt lets the
// call run and ends the turn after it, as recorded.
//
// # Obligations of callers
//
// The transcript must be complete on disk before Run is called. runner.Options.Env must not
// hold anything that hooks must not see. The caller checks trust: package runner runs what
// it is given.
package hooks
