// Package hooks is the hook protocol of a team: the events at which hooks run,
// what they read, what they may answer, and what comes of it. It speaks the
// protocol of Claude Code's hooks (HOOKS.md), so that scripts written for it run
// unchanged.
//
// It knows nothing of teams, tasks or turns: callers fill an Input and act on
// the Outcome. What goes wrong inside a hook is part of the Outcome.
//
// # Rooms
//
// This package holds what programs use: events and their inputs, configured
// handlers, outcomes, and the Registry of hooks that are Go functions. The rooms
// below it hold the machinery: rules (permission rules and matchers), settings,
// dialect and web, judging, and runner, which runs the hooks of an event. They make
// no promise of compatibility to programs outside covey.
//
// # Functions
//
// A program that embeds covey adds hooks that are Go functions to a Registry
// (runner.Options.Callbacks). They run beside the others, and what they answer is judged
// and merged as what a command prints. Registry.AfterTurn takes functions that
// are told of each turn when it is over.
//
// # Hooks and gates
//
// A hook that cannot run, hangs or answers nonsense fails open: the action goes
// on, as in the original, and the Result says so (FailedOpen, Warning). A gate
// (Handler.Gate) fails closed: it agrees by exit code 0 alone.
//
// # What the model sees
//
// The texts of an Outcome are complete, heading and all, byte for byte as
// recorded hosts show them. Where they belong depends on the event:
//
//	turn end (Stop, TaskCompleted, TeammateIdle)  each of Messages as a user message
//	PreToolUse                                    Feedback is the call's error
//	PostToolUse, PostToolUseFailure               Messages below the tool's result
//	TaskCreated, TaskCompleted by a tool          Feedback is the tool's result
//	SessionStart, UserPromptSubmit                AdditionalContext before the prompt
//
// A refused prompt reaches people alone (SystemMessages). A PreToolUse halt lets
// the call run and ends the turn after it, as recorded.
//
// # What callers owe
//
// The transcript is complete on disk before Run is called. The environment in
// runner.Options.Env holds nothing that hooks must not see. Nothing runs before it is
// trusted: package runner runs what it is given.
package hooks
