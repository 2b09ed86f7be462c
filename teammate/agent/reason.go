package agent

// Why turns end, as TurnEnded tells it. The words are those of HOOKS.md
// section 9; the last ones are ours, for what it does not know.
const (
	EndCompleted        = "completed"           // the gates agreed, were overridden, or the model's API failed
	EndMaxTurns         = "max_turns"           // limits.max_turns passes are used up
	EndAbortedStreaming = "aborted_streaming"   // interrupted between tool calls
	EndAbortedTools     = "aborted_tools"       // interrupted in a tool call
	EndStopPrevented    = "stop_hook_prevented" // a hook of the turn end said continue:false
	EndHookStopped      = "hook_stopped"        // any other hook said so, or refused the prompt
	EndToolDeferred     = "tool_deferred"       // a hook put off the one call that the answer had
	EndModelError       = "model_error"         // a script ran out, or the agent or transcript is broken
	EndMaxTokens        = "max_tokens"          // limits.max_tokens are used up
	EndMaxBudget        = "max_budget"          // limits.max_budget_usd is used up
	EndTeamBudget       = "team_budget"         // the team's budget is used up
	EndTurnTimeout      = "turn_timeout"        // limits.turn_timeout is over
	EndUsageLimit       = "usage_limit"         // the agent's account is used up for now
	EndLoggedOut        = "logged_out"          // the agent is not logged in
	EndAwaiting         = "awaiting_answer"     // the member waits for somebody's approval
)

// What the last turn of a member that goes idle came to, as Idle tells it.
const (
	IdleAvailable   = "available"   // the gates agreed
	IdleFailed      = "failed"      // an API error; last_text says which
	IdleInterrupted = "interrupted" // a person ended the turn
	IdleStopped     = "stopped"     // a hook ended the turn
	IdleLimited     = "limited"     // a limit ended the turn, or the gates were overridden
	IdleUsageLimit  = "usage_limit" // the agent's account is used up for now
	IdleLoggedOut   = "logged_out"  // the agent is not logged in
	IdleAwaiting    = "awaiting"    // it waits for somebody's approval; last_text says whose
)
