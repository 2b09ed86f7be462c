package script

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/teammate/agent"
)

// The keys of each mapping of a script, as in docs/script-model.md.
const (
	scriptKeys = "covey steps helpers usage delay exhausted"
	stepKeys   = "say call when times error usage delay"
	helperKeys = "when steps"
	callKeys   = "tool input"
	errorKeys  = "type message"
	usageKeys  = "input_tokens output_tokens"
)

// errorTypes are the errors of HOOKS.md section 6.
const errorTypes = "rate_limit overloaded authentication_failed oauth_org_not_allowed billing_error " +
	"invalid_request model_not_found server_error max_output_tokens unknown account_on_hold " +
	"verification_required cloud_credential_error"

// decoder turns YAML nodes into a Script. It continues after a mistake, so that one
// run reports all of them. A decoder is for one file. For a part with a mistake it
// returns a placeholder that is never used, because Parse then returns no script.
type decoder struct{ *yaml.Decoder }

// script decodes the whole file. The order of the keys in the file makes no
// difference: usage, delay and exhausted are read before the steps, which inherit
// them.
func (d *decoder) script(root *yaml.Node) *Script {
	s := &Script{}
	parts := d.mapping(root, "a script", scriptKeys)
	if !has(parts, "steps") && !has(parts, "helpers") {
		d.Fail(root.At, "a script needs steps; write `steps: [{say: hello}]`")
	}
	if n := parts["covey"]; n != nil {
		d.format(n)
	}
	if n := parts["usage"]; n != nil {
		s.usage = d.usage(n)
	}
	if n := parts["delay"]; n != nil {
		s.delay = d.delay(n)
	}
	if n := parts["exhausted"]; n != nil {
		s.stop = d.oneOf(n, "exhausted", "stop error") == "stop"
	}
	s.steps = d.steps(parts["steps"], s)
	for _, n := range d.list(parts["helpers"], "helpers") {
		s.helpers = append(s.helpers, d.helper(n, s))
	}
	return s
}

// format checks the version of the file's format.
func (d *decoder) format(n *yaml.Node) {
	if v := d.integer(n, "covey", "the version of the script's format"); v != Format {
		d.Fail(n.At, "this covey reads version %d of the format, not %d; write covey: %d", Format, v, Format)
	}
}

// helper decodes the script of a helper. It inherits usage, delay and exhausted
// from of, the script of the member.
func (d *decoder) helper(n *yaml.Node, of *Script) helper {
	parts := d.mapping(n, "a helper", helperKeys)
	h := helper{script: &Script{usage: of.usage, delay: of.delay, stop: of.stop}}
	if len(parts) > 0 && !has(parts, "steps") {
		d.Fail(n.At, "a helper needs steps; write `steps: [{say: ok}]`")
	}
	h.when = d.when(parts["when"])
	h.script.steps = d.steps(parts["steps"], h.script)
	return h
}

// steps decodes a list of steps; nil is an empty list.
func (d *decoder) steps(n *yaml.Node, of *Script) []step {
	var steps []step
	for _, item := range d.list(n, "steps") {
		steps = append(steps, d.step(item, of))
	}
	return steps
}

// step decodes one step. It inherits the settings of the script, of, and overrides
// those that it sets itself.
func (d *decoder) step(n *yaml.Node, of *Script) step {
	parts := d.mapping(n, "a step", stepKeys)
	s := step{times: 1, usage: of.usage, delay: of.delay, when: d.when(parts["when"])}
	if v := parts["say"]; v != nil {
		s.say = d.text(v, "say")
	}
	for _, v := range d.list(parts["call"], "call") {
		s.calls = append(s.calls, d.call(v))
	}
	if v := parts["times"]; v != nil {
		s.times = d.times(v)
	}
	if v := parts["usage"]; v != nil {
		s.usage = d.usage(v)
	}
	if v := parts["delay"]; v != nil {
		s.delay = d.delay(v)
	}
	if v := parts["error"]; v != nil {
		s.fail = d.failure(v)
	}
	// An empty answer must be explicit, because an empty step is usually a mistake.
	fails, answers := has(parts, "error"), has(parts, "say") || has(parts, "call")
	if len(parts) > 0 && fails == answers {
		d.Fail(n.At, "a step either answers or fails: write say or call, or else error"+
			" (`say: \"\"` is an empty answer)")
	}
	return s
}

// call decodes one tool call. CheckTools checks whether the tool exists.
func (d *decoder) call(n *yaml.Node) call {
	parts := d.mapping(n, "a call", callKeys)
	c := call{input: json.RawMessage("{}")}
	switch {
	case parts["tool"] != nil:
		c.tool = d.text(parts["tool"], "tool")
		c.place = d.Problem(parts["tool"].At, "")
	case len(parts) > 0 && !has(parts, "tool"):
		d.Fail(n.At, "a call needs a tool; write {tool: Bash, input: {command: ls}}")
	}
	// Every tool takes an object; the tool itself checks the fields.
	if v := parts["input"]; v != nil {
		if v.Kind != yaml.MappingKind {
			d.Fail(v.At, "input is %s; write a mapping, such as {command: ls}", v.Describe())
			return c
		}
		c.input = d.json(v)
	}
	return c
}

// failure decodes the error that a step returns instead of an answer. An error
// without a message gets a default one, so that no report ends with a colon.
func (d *decoder) failure(n *yaml.Node) *agent.APIError {
	parts := d.mapping(n, "an error", errorKeys)
	e := &agent.APIError{Type: "unknown"}
	switch {
	case parts["type"] != nil:
		e.Type = d.oneOf(parts["type"], "type", errorTypes)
	case len(parts) > 0 && !has(parts, "type"):
		d.Fail(n.At, "an error needs a type; write {type: overloaded}")
	}
	e.Message = "an error of the script"
	if v := parts["message"]; v != nil {
		e.Message = d.text(v, "message")
	}
	// What providers say is how scripts say it, too, so that compaction can be tried offline.
	e.Overflow = e.Type == "invalid_request" && strings.Contains(e.Message, "prompt is too long")
	return e
}

// when decodes a regular expression; nil returns nil.
func (d *decoder) when(n *yaml.Node) *regexp.Regexp {
	if n == nil {
		return nil
	}
	expr, err := regexp.Compile(d.text(n, "when"))
	if err != nil {
		d.Fail(n.At, "when is not a regular expression: %v; put a backslash before special characters "+
			"that are meant literally", err)
	}
	return expr
}

// times decodes how often a step may serve. Zero is refused, because a step that
// can never serve is a mistake.
func (d *decoder) times(n *yaml.Node) int {
	v := d.integer(n, "times", "how often the step may serve, or -1 for no limit")
	if v == 0 || v < -1 {
		d.Fail(n.At, "times is %d; write how often the step may serve, or -1 for no limit", v)
	}
	return v
}

// usage decodes token counts; an omitted count is 0.
func (d *decoder) usage(n *yaml.Node) agent.Usage {
	parts := d.mapping(n, "usage", usageKeys)
	tokens := func(key string) int64 {
		v := parts[key]
		if v == nil {
			return 0
		}
		count := int64(d.integer(v, key, "a number of tokens"))
		if count < 0 {
			d.Fail(v.At, "%s is %d; write a number of tokens from 0 up", key, count)
		}
		return count
	}
	return agent.Usage{InputTokens: tokens("input_tokens"), OutputTokens: tokens("output_tokens")}
}

// delay decodes a duration. A bare number is refused, because its unit would be
// ambiguous.
func (d *decoder) delay(n *yaml.Node) time.Duration {
	v, err := time.ParseDuration(n.Text)
	if err != nil || v < 0 || n.Kind != yaml.TextKind {
		d.Fail(n.At, "delay is %s; write a time with its unit, such as 50ms or 2s", n.Describe())
		return 0
	}
	return v
}

// oneOf decodes a word that must be one of words, which are separated by spaces.
func (d *decoder) oneOf(n *yaml.Node, key, words string) string {
	word, known := d.text(n, key), strings.Fields(words)
	if slices.Contains(known, word) || word == "" { // text has reported a missing text
		return word
	}
	if near := d.Nearest(word, known); near != "" {
		d.Fail(n.At, "%s is %s; did you mean %s?", key, yaml.Quote(word), near)
		return word
	}
	d.Fail(n.At, "%s is %s; write one of %s", key, yaml.Quote(word), strings.Join(known, ", "))
	return word
}
