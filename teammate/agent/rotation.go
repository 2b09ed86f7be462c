package agent

import "context"

// Briefer is an Agent that can write a brief of its conversation for the session that takes its
// place, without adding to the conversation. Other agents get the prompt BriefRequest.
type Briefer interface {
	// Brief asks for what BriefRequest says. h is as for Run, but neither has mail nor makes
	// calls. The result says what was used even when it fails.
	Brief(ctx context.Context, h Host) (Brief, error)
}

// Brief is what an agent wrote for its next session.
type Brief struct {
	Text  string
	Step  *int   // as in Record, of the request
	Usage Usage  // of all requests for it
	Model string // likewise
}

// SummaryContents is what a model puts into the summary of a conversation that it will go on
// from.
const SummaryContents = "Say what you were asked, in the original words where they matter; what was decided, and " +
	"why; which files you read, changed or created, and what matters in them; which commands you ran, and what still " +
	"counts of their results; which errors there were, and how they were solved; what other members told you and " +
	"wait for; what is done, what is under way, and what comes next. Leave out what no longer matters."

// BriefRequest asks an agent for a brief.
const BriefRequest = "You have finished a task, and your next work begins in a new session. Of this conversation it " +
	"will have only the brief that you write now. Answer with the brief alone, and call no tools.\n" + SummaryContents
