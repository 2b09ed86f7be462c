package teammate

// History is what a transcript held when it was opened. The zero value is a
// new conversation.
type History struct {
	Messages  []Message       // the conversation, oldest first
	Turns     int             // number of the last turn begun; 0: none yet
	Steps     map[int]int     // script step -> how often it has served
	Delivered map[string]bool // ids of the messages (mail, goal, tasks) that it shows
	Usage     Usage           // tokens of all model requests so far
	Cut       *Cut            // the turn that was cut off; nil: every turn ended
	Kept      []Input         // what the next prompt has to begin with
}

// CutPoint says how far a turn had come when it was cut off.
type CutPoint string

// The points at which a turn can be cut off.
const (
	// CutAtPrompt: the last message is the user's (a prompt, feedback or tool
	// results), and no model has answered it.
	CutAtPrompt CutPoint = "prompt"
	// CutAtTools: tool calls of the last assistant message have no result.
	CutAtTools CutPoint = "tools"
	// CutAtGates: the agent had fallen silent; the turn end had still to run.
	CutAtGates CutPoint = "gates"
)

// Cut is a turn that a crash cut off.
type Cut struct {
	Turn     int
	Cause    Cause  // why the turn began
	PromptID string // prompt_id of its hooks
	Point    CutPoint
	Open     []ToolCall // calls without a result, in order; only at CutAtTools
	Passes   int        // model requests answered in this turn
	Refusals int        // refused turn ends in a row
	Refused  bool       // some turn end of this turn was refused: stop_hook_active
	LastText string     // text of the last assistant message, trimmed
}
