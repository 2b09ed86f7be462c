package hooks

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
)

// answer is what a hook's stdout says (HOOKS.md section 5).
type answer struct {
	plain  string  // stdout that is no JSON object, trimmed; empty if there is none
	fields *fields // the JSON object; nil if stdout is none
	flaw   string  // why the object cannot be used; its blocking fields do not count
	note   string  // what a person should know about text that nearly was an answer
	broken bool    // that text was meant as an answer, as far as one can tell
}

// fields is a checked answer.
type fields struct {
	halt     bool   // continue:false
	stop     string // stopReason
	message  string // systemMessage
	terminal string // terminalSequence
	decision string // block or approve
	reason   string
	async    bool                       // {"async":true}: the rest comes later
	specific map[string]json.RawMessage // hookSpecificOutput; nil if absent or of another event
	stray    Event                      // the event that hookSpecificOutput was meant for, if not this one
}

// readAnswer reads the stdout of a hook that ran for event. Only the whole of
// stdout can be an answer; everything else is plain text and is never silently
// taken for agreement: note says what looked like an answer and was none.
func readAnswer(event Event, stdout string, cut bool) answer {
	text := strings.TrimSpace(stdout)
	if !strings.HasPrefix(text, "{") {
		return answer{plain: text, note: hiddenAnswer(text)}
	}
	raw, err := rawjson.Fields([]byte(text))
	switch {
	case err != nil && asyncFirstLine(text):
		return answer{fields: &fields{async: true}}
	case err != nil && cut:
		return answer{plain: text, broken: !isReport(text, cut),
			note: "stdout is too long to be read as a JSON answer"}
	case err != nil:
		return answer{plain: text, broken: !isReport(text, cut),
			note: "stdout begins like a JSON answer but is none: " + rawjson.Reason(err)}
	}
	f, flaw := checkAnswer(event, raw)
	return answer{fields: f, flaw: flaw}
}

// hiddenAnswer notices a JSON answer that other output stands before: a shell
// profile that prints something is the classic way to lose a policy.
func hiddenAnswer(text string) string {
	if !rawjson.Hidden(text) {
		return ""
	}
	return fmt.Sprintf("stdout ends with a JSON object but begins with %q: it counts as plain text",
		wording.Preview(text, 40))
}

// asyncFirstLine reports whether the first line alone says {"async":true}.
func asyncFirstLine(text string) bool {
	line, _, more := strings.Cut(text, "\n")
	if !more {
		return false
	}
	var first struct {
		Async bool `json:"async"`
	}
	return json.Unmarshal([]byte(line), &first) == nil && first.Async
}

// checkAnswer checks the object's known fields. Unknown ones are left alone, as
// recorded hosts do; a wrong type voids the whole answer, and flaw says which
// field it was and what was expected there.
func checkAnswer(event Event, raw []rawjson.Field) (f *fields, flaw string) {
	object := make(map[string]json.RawMessage, len(raw))
	for _, field := range raw {
		object[field.Name] = field.Value
	}
	c := checker{object: object}
	f = &fields{halt: !c.boolean("continue", true)}
	c.boolean("suppressOutput", false)
	f.stop = c.text("stopReason")
	f.decision = c.option("decision", "approve", "block")
	f.reason = c.text("reason")
	f.message = c.text("systemMessage")
	f.terminal = c.text("terminalSequence")
	f.async = c.boolean("async", false)
	if specific, ok := c.object["hookSpecificOutput"]; ok && c.flaw == "" {
		c.specific(event, f, specific)
	}
	if c.flaw != "" {
		return f, "Hook JSON output validation failed — " + c.flaw
	}
	return f, ""
}

// specific checks hookSpecificOutput. One that was meant for another event
// voids the answer, unless the answer refuses or halts by itself: what it says
// there must not be lost by a slip elsewhere.
func (c *checker) specific(event Event, f *fields, raw json.RawMessage) {
	inner, err := rawjson.Fields(raw)
	if err != nil {
		c.wrong("hookSpecificOutput", "object", raw)
		return
	}
	sub := checker{object: map[string]json.RawMessage{}, prefix: "hookSpecificOutput."}
	for _, field := range inner {
		sub.object[field.Name] = field.Value
	}
	name := Event(sub.text("hookEventName"))
	switch {
	case sub.flaw != "":
	case name == "":
		sub.flaw = fmt.Sprintf("hookSpecificOutput.hookEventName: expected %q", event)
	case name != event:
		f.stray = name
		if !f.halt && f.decision != "block" {
			c.flaw = fmt.Sprintf("hookSpecificOutput.hookEventName: expected '%s' but got '%s'", event, name)
		}
		return
	default:
		sub.checkSpecific(event)
		f.specific = sub.object
	}
	c.flaw = sub.flaw
}
