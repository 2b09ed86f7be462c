package events

// The reasons of TurnEnded. The words are those of HOOKS.md section 9; the last ones are covey's
// own.
const (
	EndCompleted        = "completed"           // the gates passed or were overridden, or the API failed
	EndMaxTurns         = "max_turns"           // limits.max_turns reached
	EndAbortedStreaming = "aborted_streaming"   // interrupted between tool calls
	EndAbortedTools     = "aborted_tools"       // interrupted in a tool call
	EndStopPrevented    = "stop_hook_prevented" // a hook of the turn end said continue:false
	EndHookStopped      = "hook_stopped"        // any other hook said so, or refused the prompt
	EndToolDeferred     = "tool_deferred"       // a hook deferred the only call of a message
	EndModelError       = "model_error"         // a script ran out, or the agent or transcript is broken
	EndPromptTooLong    = "prompt_too_long"     // the conversation is too long, and compacting it was not enough
	EndImageError       = "image_error"         // the API refused an image of the conversation
	EndBlockingLimit    = "blocking_limit"      // likewise, and so no request was made
	EndMaxTokens        = "max_tokens"          // limits.max_tokens reached
	EndMaxBudget        = "max_budget_usd"      // limits.max_budget_usd reached
	EndTeamBudget       = "team_budget"         // the team's budget is used
	EndTurnTimeout      = "turn_timeout"        // limits.turn_timeout reached
	EndUsageLimit       = "usage_limit"         // the agent's account has reached its limit
	EndLoggedOut        = "logged_out"          // the agent is not logged in
	EndAwaiting         = "awaiting_answer"     // the member waits for an approval, or for a command in its background
)

// The kinds of NeedsAttention.
const (
	AttentionLimit = "limit" // a limit of the member is used up
	AttentionLogin = "login" // its agent is not logged in; LoggedOut has the details
)

// The reasons of Idle: the result of the last turn of a member that goes idle.
const (
	IdleAvailable   = "available"   // the gates passed
	IdleFailed      = "failed"      // an API error; last_text says which
	IdleInterrupted = "interrupted" // a person ended the turn
	IdleStopped     = "stopped"     // a hook ended the turn
	IdleLimited     = "limited"     // a limit ended the turn, or the gates were overridden
	IdleUsageLimit  = "usage_limit" // the agent's account has reached its limit
	IdleLoggedOut   = "logged_out"  // the agent is not logged in
	IdleAwaiting    = "awaiting"    // it waits for an approval or a command; last_text says which
)
