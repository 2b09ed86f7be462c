package agent

import "context"

// Compactor is a Host whose member's conversation can be compacted: replaced by a summary,
// because the model has no room for more. Like Record, its methods are called between tool
// calls only.
type Compactor interface {
	// MayCompact runs the PreCompact hooks. custom is what a person asked for; the result
	// adds what hooks ask for. A refusal says why the conversation must stay as it is, and is
	// empty if it need not.
	MayCompact(ctx context.Context, trigger, custom string) (instructions, refusal string)
	// Reminders returns what the model must know again after a compaction: the member's
	// tasks in progress, and what files hold now.
	Reminders(ctx context.Context, files []string) []string
	// Compacted records a compaction, which counts from then on, also after a crash. It
	// runs the SessionStart, InstructionsLoaded and PostCompact hooks, and returns what
	// they add for the model.
	Compacted(ctx context.Context, c Compaction) ([]Input, error)
}

// The triggers of a compaction, as hooks see them (HOOKS.md section 1, PreCompact).
const (
	ManualCompaction = "manual" // a person asked for it
	AutoCompaction   = "auto"
)

// Compaction is a conversation that was replaced by one message.
type Compaction struct {
	Trigger string
	Message Message // all that the model sees of the conversation from then on
	Summary string  // as the model wrote it
	Inputs  []Input // what asked for it, if a person did
	Before  int64   // size of the conversation in tokens, estimated
	After   int64
	Step    *int   // as in Record, of the request for the summary
	Usage   Usage  // likewise
	Model   string // likewise
}
