package runner

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// Answer is what a hook's stdout says (HOOKS.md section 5).
type Answer struct {
	plain  string  // stdout that is not a JSON object, trimmed
	fields *fields // the JSON object; nil if stdout is not one
	flaw   string  // why the object is invalid; its blocking fields have no effect then
	note   string  // for people, about text that is almost an answer
	broken bool    // that text was probably meant as an answer
}

// IsObject reports whether the answer is a JSON object.
func (a Answer) IsObject() bool { return a.fields != nil }

// Halted returns an answer that stops the agent for a reason.
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
	specific map[string]json.RawMessage // hookSpecificOutput; nil if absent or for another event
	stray    hooks.Event                // the event that hookSpecificOutput names, if not this one
}

// Read reads the stdout of a hook that ran for event. Only the whole of stdout can be an
// answer; everything else is plain text. A text that looks like an answer but is not gets a
// note, so that it is never silently taken for agreement.
func Read(event hooks.Event, stdout string, cut bool) Answer {
	text := strings.TrimSpace(stdout)
	if !strings.HasPrefix(text, "{") {
		return Answer{plain: text, note: hiddenAnswer(text)}
	}
	object, err := texts.Map([]byte(text))
	switch {
	case err != nil && detaches(text):
		return Answer{fields: &fields{async: true}}
	case err != nil && cut:
		return Answer{plain: text, broken: !isReport(text, cut),
			note: "stdout is too long to be read as a JSON answer"}
	case err != nil:
		return Answer{plain: text, broken: !isReport(text, cut),
			note: "stdout begins like a JSON answer but is none: " + texts.Reason(err)}
	}
	f, flaw := checkAnswer(event, object)
	a := Answer{fields: f, flaw: flaw}
	if word := foreignWord(object); word != "" && flaw == "" {
		a.note = fmt.Sprintf("the answer has %q, which other agent programs read: it has no effect in the file of this hook; "+
			"write decision, or hookSpecificOutput", word)
		// An answer that decides nothing by itself was probably meant to.
		a.broken = !f.halt && f.decision == "" && len(f.specific) == 0
	}
	return a
}

// foreignWord returns a field by which a hook of another agent program decides, or "". If the
// hook's file were one of that program, it would have been translated. An allow loses nothing.
func foreignWord(object map[string]json.RawMessage) string {
	for _, name := range []string{"permission", "permissionDecision", "behavior"} {
		if word := texts.Text(object[name]); word != "" && word != "allow" {
			return name
		}
	}
	for _, name := range []string{"followup_message", "modifiedArgs", "updated_input"} {
		if _, ok := object[name]; ok {
			return name
		}
	}
	return ""
}

// hiddenAnswer returns a note about a JSON answer that follows other output. A shell profile
// that prints something often causes that, and the policy would be lost.
func hiddenAnswer(text string) string {
	if !texts.Hidden(text) {
		return ""
	}
	return fmt.Sprintf("stdout ends with a JSON object but begins with %q: it counts as plain text",
		texts.Preview(text, 40))
}

// detaches reports whether the first of several lines asks for the background.
func detaches(text string) bool {
	line, _, more := strings.Cut(text, "\n")
	_, asks := AsksForBackground([]byte(line))
	return more && asks
}

// AsksForBackground reads a first line: whether it contains {"async":true}, and its
// asyncTimeout, which is in milliseconds. An invalid timeout is ignored.
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

// checkAnswer checks the object's known fields. Unknown ones are ignored, as in recorded
// hosts. A wrong type invalidates the whole answer; flaw names the field and what was
// expected.
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

// specific checks hookSpecificOutput. If it is for another event, the answer is invalid,
// unless it refuses or halts by itself: a mistake elsewhere must not undo that.
func (c *checker) specific(event hooks.Event, f *fields, raw json.RawMessage) {
	inner, err := texts.Map(raw)
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
