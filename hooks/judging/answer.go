package judging

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
)

// Answer is what a hook's stdout says (HOOKS.md section 5).
type Answer struct {
	plain  string  // stdout that is no JSON object, trimmed; empty if there is none
	fields *fields // the JSON object; nil if stdout is none
	flaw   string  // why the object cannot be used; its blocking fields do not count
	note   string  // what a person should know about text that nearly was an answer
	broken bool    // that text was meant as an answer, as far as one can tell
}

// IsObject reports whether the answer is a JSON object.
func (a Answer) IsObject() bool { return a.fields != nil }

// Halted is the answer that stops the agent for a reason.
func Halted(reason string) Answer { return Answer{fields: &fields{halt: true, stop: reason}} }

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
	stray    hooks.Event                // the event that hookSpecificOutput was meant for, if not this one
}

// Read reads the stdout of a hook that ran for event. Only the whole of
// stdout can be an answer; everything else is plain text and is never silently
// taken for agreement: note says what looked like an answer and was none.
func Read(event hooks.Event, stdout string, cut bool) Answer {
	text := strings.TrimSpace(stdout)
	if !strings.HasPrefix(text, "{") {
		return Answer{plain: text, note: hiddenAnswer(text)}
	}
	object, err := notation.Map([]byte(text))
	switch {
	case err != nil && leaves(text):
		return Answer{fields: &fields{async: true}}
	case err != nil && cut:
		return Answer{plain: text, broken: !isReport(text, cut),
			note: "stdout is too long to be read as a JSON answer"}
	case err != nil:
		return Answer{plain: text, broken: !isReport(text, cut),
			note: "stdout begins like a JSON answer but is none: " + notation.Reason(err)}
	}
	f, flaw := checkAnswer(event, object)
	return Answer{fields: f, flaw: flaw}
}

// hiddenAnswer notices a JSON answer that other output stands before: a shell
// profile that prints something is the classic way to lose a policy.
func hiddenAnswer(text string) string {
	if !notation.Hidden(text) {
		return ""
	}
	return fmt.Sprintf("stdout ends with a JSON object but begins with %q: it counts as plain text",
		notation.Preview(text, 40))
}

// leaves reports whether the first of several lines asks to go on in the background.
func leaves(text string) bool {
	line, _, more := strings.Cut(text, "\n")
	_, asks := AsksForBackground([]byte(line))
	return more && asks
}

// AsksForBackground reads a first line: whether it says {"async":true}, and the
// asyncTimeout beside it, which is in milliseconds. A time-out that is no such
// number does not count.
func AsksForBackground(line []byte) (limit time.Duration, asks bool) {
	var first struct {
		Async   bool            `json:"async"`
		Timeout json.RawMessage `json:"asyncTimeout"`
	}
	if json.Unmarshal(line, &first) != nil || !first.Async {
		return 0, false
	}
	var ms float64
	if json.Unmarshal(first.Timeout, &ms) != nil || !(ms > 0) {
		return 0, true
	}
	if ms > float64(hooks.MaxTimeout/time.Millisecond) {
		return hooks.MaxTimeout, true
	}
	return time.Duration(ms * float64(time.Millisecond)), true
}

// checkAnswer checks the object's known fields. Unknown ones are left alone, as
// recorded hosts do; a wrong type voids the whole answer, and flaw says which
// field it was and what was expected there.
func checkAnswer(event hooks.Event, object map[string]json.RawMessage) (f *fields, flaw string) {
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
func (c *checker) specific(event hooks.Event, f *fields, raw json.RawMessage) {
	inner, err := notation.Map(raw)
	if err != nil {
		c.wrong("hookSpecificOutput", "object", raw)
		return
	}
	sub := checker{object: inner, prefix: "hookSpecificOutput."}
	name := hooks.Event(sub.text("hookEventName"))
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
