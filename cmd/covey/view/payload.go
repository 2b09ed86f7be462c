package view

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// payload is the data of a journal line of any type. A field that the
// line's type lacks is zero; data of an unknown shape gives an empty payload, because
// a reader must survive journals of newer versions. One type for all lines saves a
// type, a switch and an error for each of two dozen line types.
type payload struct {
	Agent       string          `json:"agent"`
	AgentType   string          `json:"agent_type"`
	After       int64           `json:"after_tokens"`
	Awaits      string          `json:"awaits"`
	Background  bool            `json:"background"`
	Before      int64           `json:"before_tokens"`
	Brief       string          `json:"brief"`
	By          string          `json:"by"`
	BySpec      bool            `json:"by_spec"`
	Call        string          `json:"call"`
	Cause       string          `json:"cause"`
	Command     string          `json:"command"`
	Content     string          `json:"content"`
	Decision    string          `json:"decision"`
	Description string          `json:"description"`
	Event       string          `json:"event"`
	ExitCode    *int            `json:"exit_code"`
	Failed      int             `json:"failed"`
	Feedback    string          `json:"feedback"`
	For         string          `json:"for"`
	From        string          `json:"from"`
	GivenUp     string          `json:"given_up"`
	Goal        string          `json:"goal"`
	Hint        string          `json:"hint"`
	ID          string          `json:"id"`
	Input       json.RawMessage `json:"input"`
	IsError     bool            `json:"is_error"`
	Kind        string          `json:"kind"`
	Fault       string          `json:"fault"`
	Known       bool            `json:"known"`
	LastText    string          `json:"last_text"`
	Member      string          `json:"member"`
	Members     []string        `json:"members"`
	Message     string          `json:"message"`
	Layer       string          `json:"layer"`
	Left        int             `json:"left"`
	MS          int64           `json:"duration_ms"`
	Mode        string          `json:"mode"`
	ModelFailed bool            `json:"model_failed"`
	Name        string          `json:"name"`
	Op          string          `json:"op"`
	Outcome     string          `json:"outcome"`
	Passes      int             `json:"passes"`
	Path        string          `json:"path"`
	Merge       string          `json:"merge"`
	Problem     string          `json:"problem"`
	Program     string          `json:"program"`
	Prompt      string          `json:"prompt"`
	Ready       bool            `json:"ready"`
	Reason      string          `json:"reason"`
	Resumed     bool            `json:"resumed"`
	Rule        string          `json:"rule"`
	Skipped     string          `json:"skipped"`
	State       string          `json:"state"`
	Status      string          `json:"status"`
	Stderr      string          `json:"stderr"`
	Subject     string          `json:"subject"`
	Summary     string          `json:"summary"`
	Task        *taskInfo       `json:"task"`
	TaskID      string          `json:"task_id"`
	Text        string          `json:"text"`
	To          string          `json:"to"`
	Tool        string          `json:"tool"`
	Until       time.Time       `json:"until"`
	Warning     string          `json:"warning"`
	Why         string          `json:"why"`
}

// taskInfo is the part of a task in a journal line that has a text.
type taskInfo struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	Owner   string `json:"owner"`
}

// data decodes a line's payload. A payload that cannot be decoded is empty, so that
// the line is still shown.
func data(l journal.Line) payload {
	var p payload
	if json.Unmarshal(l.Data, &p) != nil {
		return payload{}
	}
	return p
}

// callText describes a tool call in one line: the tool's name and its main input. It
// is plain and may be as long as the input; callers shorten it.
func callText(name string, input json.RawMessage) string {
	return strings.TrimSpace(term.PlainLine(name) + " " + term.PlainLine(notation.MainInput(input)))
}
