package view

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// payload is the data of a journal line of any type (DESIGN 7). A field that
// the line's type does not have is zero; data of an unknown shape gives an
// empty payload, for a reader must survive journals of newer versions. One type
// for all of them costs some empty fields and saves a type, a switch and an
// error for each of two dozen line types, none of which is more than read here.
type payload struct {
	Agent       string          `json:"agent"`
	AgentType   string          `json:"agent_type"`
	Awaits      string          `json:"awaits"`
	Background  bool            `json:"background"`
	By          string          `json:"by"`
	Cause       string          `json:"cause"`
	Command     string          `json:"command"`
	Content     string          `json:"content"`
	Decision    string          `json:"decision"`
	Description string          `json:"description"`
	Empty       bool            `json:"empty"`
	Event       string          `json:"event"`
	ExitCode    *int            `json:"exit_code"`
	Failed      int             `json:"failed"`
	Feedback    string          `json:"feedback"`
	For         string          `json:"for"`
	From        string          `json:"from"`
	Goal        string          `json:"goal"`
	Hint        string          `json:"hint"`
	ID          string          `json:"id"`
	Input       json.RawMessage `json:"input"`
	IsError     bool            `json:"is_error"`
	Kind        string          `json:"kind"`
	Known       bool            `json:"known"`
	LastText    string          `json:"last_text"`
	Member      string          `json:"member"`
	Members     []string        `json:"members"`
	Message     string          `json:"message"`
	Left        int             `json:"left"`
	MS          int64           `json:"duration_ms"`
	Name        string          `json:"name"`
	Op          string          `json:"op"`
	Outcome     string          `json:"outcome"`
	Passes      int             `json:"passes"`
	Path        string          `json:"path"`
	Merge       string          `json:"merge"`
	Problem     string          `json:"problem"`
	Prompt      string          `json:"prompt"`
	Reason      string          `json:"reason"`
	Resumed     bool            `json:"resumed"`
	Rule        string          `json:"rule"`
	Skipped     string          `json:"skipped"`
	State       string          `json:"state"`
	Status      string          `json:"status"`
	Stderr      string          `json:"stderr"`
	Subject     string          `json:"subject"`
	Summary     string          `json:"summary"`
	Task        *taskNews       `json:"task"`
	TaskID      string          `json:"task_id"`
	Text        string          `json:"text"`
	To          string          `json:"to"`
	Tool        string          `json:"tool"`
	Until       time.Time       `json:"until"`
	Usage       usage           `json:"usage"`
	Warning     string          `json:"warning"`
}

// usage is the tokens of a turn.
type usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// taskNews is the task of a journal line of type task. The board needs no more
// of a task than this.
type taskNews struct {
	ID        string   `json:"id"`
	Subject   string   `json:"subject"`
	Status    string   `json:"status"`
	Owner     string   `json:"owner"`
	BlockedBy []string `json:"blockedBy"`
}

// data decodes a line's payload. What cannot be read is shown as an empty line
// of its type rather than hidden.
func data(l journal.Line) payload {
	var p payload
	if json.Unmarshal(l.Data, &p) != nil {
		return payload{}
	}
	return p
}

// callText says in one line what a tool call does: the tool's name and the one
// input that tells most. It is plain and may be as long as the input: callers
// cut it where room is short.
func callText(name string, input json.RawMessage) string {
	return strings.TrimSpace(term.PlainLine(name) + " " + term.PlainLine(notation.MainInput(input)))
}

// hookEnd is what a line of type hook_finished says.
func hookEnd(l journal.Line) (end hooklist.End) {
	if json.Unmarshal(l.Data, &end) != nil {
		return hooklist.End{}
	}
	return end
}
