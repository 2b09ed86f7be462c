// Package hooks runs the hooks of a team: it matches an event against the
// configured handlers, runs them, reads what they answer and merges it into
// one outcome. It speaks the protocol of Claude Code's hooks (HOOKS.md), so
// that scripts written for it run unchanged.
//
// It knows nothing of teams, tasks or turns: callers fill an Input and act on
// the Outcome. What goes wrong inside a hook is part of the Outcome; Run
// itself fails only when its context ends.
//
// # The way of an event
//
// A Runner is made once from all Sources (the spec, settings files, plugins).
// For each event Run chooses the handlers whose matcher and `if` fit, keeps one
// of equal ones, and starts them side by side with the Input as JSON on stdin.
// Each end is judged by itself (judge, judgeGate), and the verdicts are merged
// in the order in which they came (merge). Judging and merging are pure
// functions; processes and files stand at the rim (Process, spill).
//
// # Functions
//
// A program that embeds covey adds hooks that are Go functions to a Registry
// (Options.Callbacks). They run beside the others, and what they answer is judged
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
// Options.Env holds nothing that hooks must not see. Nothing runs before it is
// trusted: this package runs what it is given.
package hooks
