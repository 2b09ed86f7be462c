package command

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// reader parses one dialect. line is called for each line in order, and end once after the
// last.
type reader interface {
	line(l line) []news
	// over reports whether the program has reported the end of its prompt.
	over() bool
	// end returns what the program reported about the end of its prompt. code is its exit
	// code, or -1 if a signal ended it.
	end(code int) ending
}

// news is the content of one line. Unset fields mean nothing.
type news struct {
	session string // the id to resume by
	text    string // a whole text block of the model
	begun   *call
	ended   *result
	plan    []events.PlanEntry // the whole plan; empty: no plan
	warning string             // for people
	// retries, if set, says that the program has lost its model and is retrying, in words
	// for people. Such a line is not a sign of life.
	retries string
}

// call is a tool call that the program makes.
type call struct {
	id string
	// calls is the call as hooks and rules see it: one, or one for each file that it
	// changes. The transcript holds the first.
	calls []agent.ToolCall
}

// result is the result of a call.
type result struct {
	id      string
	text    string
	isError bool
	// rejected means that the program itself refused to make the call.
	rejected bool
}

// ending is the program's own report on how a prompt ended.
type ending struct {
	told bool   // there is a report; otherwise only the exit code is known
	ok   bool   // the prompt completed
	said string // why it did not

	lost    bool      // it does not know the session
	status  int       // HTTP status of the model's API; 0: unknown
	kind    string    // the type of agent.APIError; empty: derived from said
	limit   bool      // the account has reached the limit of its plan
	until   time.Time // end of the limit; zero: unknown
	turns   bool      // the program's own limit of model requests ended it
	guessed bool      // the dialect was guessed from the output

	reply string // the program's reply, which no line may have contained
	left  int64  // bytes of it that were omitted
	spent program.Spent
	total bool // spent counts from the start of the session
}

// number returns a JSON number that is a count, or 0 for another value.
func number(raw json.RawMessage) int64 {
	var n float64
	program.Lenient(raw, &n)
	if n < 0 || n > 1e15 || n != n {
		return 0
	}
	return int64(n)
}

// contentText returns the text of a content list, or of a content that is a string.
func contentText(raw json.RawMessage) string {
	if plain := texts.Text(raw); plain != "" {
		return plain
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	program.Lenient(raw, &blocks)
	var all []string
	for _, b := range blocks {
		switch {
		case b.Text != "":
			all = append(all, b.Text)
		case b.Type != "" && b.Type != "text":
			all = append(all, "["+b.Type+"]")
		}
	}
	return strings.Join(all, "\n")
}

// clean returns text in the form that a transcript can hold.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// objectLine returns the members of a line that is a JSON object.
func objectLine(l line) (map[string]json.RawMessage, bool) {
	data := bytes.TrimSpace(l.data)
	if l.cut || len(data) == 0 || data[0] != '{' {
		return nil, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return nil, false
	}
	return fields, true
}

// otherLines keeps the first lines that do not belong to the dialect, which often explain a
// failure.
type otherLines struct{ lines []string }

// add keeps at most five lines of 500 bytes: the first lines say what went wrong, and a program
// may print for hours.
func (s *otherLines) add(l line) {
	if said := strings.TrimSpace(clean(string(l.data[:min(len(l.data), 500)]))); said != "" && len(s.lines) < 5 {
		s.lines = append(s.lines, said)
	}
}

// text returns the lines for the message of a failure.
func (s *otherLines) text() string { return strings.Join(s.lines, "\n") }
