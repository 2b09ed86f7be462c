package command

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
)

// reader understands one dialect. Lines come in order; end comes once, after
// the last. What it returns is taken in in order.
type reader interface {
	line(l line) []news
	// over reports whether the program has said how its prompt ended.
	over() bool
	// end says what the program's own word is on how its prompt ended. code is its
	// exit code; -1: a signal ended it.
	end(code int) ending
}

// news is one thing that a line told. Fields that are not set tell nothing.
type news struct {
	session string // the id to resume by
	text    string // what the model said, a whole block
	begun   *call
	ended   *result
	plan    []agent.PlanEntry // all of it; empty: no plan
	warning string            // for people
	// retries says that the line is nothing but the news that the program has lost its
	// model and tries again, in words for people. It is no sign of life.
	retries string
}

// call is a tool call that the program makes.
type call struct {
	id string
	// calls is the call as hooks and rules see it: one, or one for each file that
	// it changes. The transcript holds the first.
	calls []agent.ToolCall
}

// result is what a call came to.
type result struct {
	id      string
	text    string
	isError bool
	// rejected says that the program has refused to make the call by itself.
	rejected bool
}

// ending is the program's own word on how a prompt ended.
type ending struct {
	told bool   // it said how; else only its exit code is known
	ok   bool   // the prompt came to its end
	said string // why not

	lost    bool      // it does not know the session
	status  int       // HTTP status of the model's API; 0: not known
	kind    string    // the type of agent.APIError; empty: by the words
	limit   bool      // the account has used up what its plan allows
	until   time.Time // until when; zero: not known
	turns   bool      // a limit of the program's own on model requests ended it
	guessed bool      // the dialect was guessed from what was printed

	reply string // what the program calls its reply, which may not have been news
	left  int64  // bytes of it that were left out
	spent Spent
	total bool // Spent counts from the session's beginning
}

// fieldsOf are the members of an object; none if it is something else.
func fieldsOf(raw json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	lenient(raw, &fields)
	return fields
}

// lenient reads raw into a field and leaves it alone if the form is not the
// usual one: one odd field must not cost the rest.
func lenient(raw json.RawMessage, field any) {
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, field) // see above
	}
}

// text is a JSON string; empty: it is none.
func text(raw json.RawMessage) string {
	var s string
	lenient(raw, &s)
	return s
}

// number is a JSON number that counts something; 0: it is none.
func number(raw json.RawMessage) int64 {
	var n float64
	lenient(raw, &n)
	if n < 0 || n > 1e15 || n != n {
		return 0
	}
	return int64(n)
}

// object is raw if it is an object with fields, else an object that holds it.
func object(raw json.RawMessage) json.RawMessage {
	raw = bytes.ToValidUTF8(bytes.TrimSpace(raw), []byte("\uFFFD")) // the JSON decoder would let it through
	switch {
	case len(raw) == 0, string(raw) == "null":
		return json.RawMessage(`{}`)
	case raw[0] == '{' && json.Valid(raw):
		return raw
	}
	return notation.Encode(map[string]json.RawMessage{"input": raw})
}

// contentText is the text of a content list, or of a content that is a string.
func contentText(raw json.RawMessage) string {
	if plain := text(raw); plain != "" {
		return plain
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	lenient(raw, &blocks)
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

// clean is text as a transcript may hold it.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// objectLine are the members of a line that is a JSON object.
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

// stray keeps the first words of a program that prints something else than its
// dialect: how it failed, often.
type stray struct{ lines []string }

// add keeps five lines of 500 bytes at most: the first words are the ones that
// say what went wrong, and a program may print for hours.
func (s *stray) add(l line) {
	if said := strings.TrimSpace(clean(string(l.data[:min(len(l.data), 500)]))); said != "" && len(s.lines) < 5 {
		s.lines = append(s.lines, said)
	}
}

// text is what was kept, for the message of a failure.
func (s *stray) text() string { return strings.Join(s.lines, "\n") }

// isAny reports whether name is one of names.
func isAny(name string, names ...string) bool { return slices.Contains(names, name) }
