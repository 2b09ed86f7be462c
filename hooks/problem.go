package hooks

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/texts"
)

// MaxTimeout bounds timeouts in settings. A longer one would overflow a Duration.
const MaxTimeout = 7 * 24 * time.Hour

// Problem is a mistake in configured hooks, with its position.
type Problem struct {
	Event Event  // as written
	Group int    // index in the event's list; -1 for the event itself
	Hook  int    // index in the group's hooks; -1 for the group itself
	Field string // JSON name of the field; empty for the whole
	Text  string // what is wrong, and what to write instead
	Odd   bool   // the hook runs in spite of it
}

// Path returns the position of the problem below the hooks section, such as
// Stop[0].hooks[1].timeout.
func (p Problem) Path() string {
	var path strings.Builder
	path.WriteString(string(p.Event))
	if p.Group >= 0 {
		fmt.Fprintf(&path, "[%d]", p.Group)
	}
	if p.Hook >= 0 {
		fmt.Fprintf(&path, ".hooks[%d]", p.Hook)
	}
	if p.Field != "" {
		path.WriteString("." + p.Field)
	}
	return path.String()
}

// String returns the position and the text.
func (p Problem) String() string { return p.Path() + ": " + p.Text }

// CheckEvent returns what is wrong with an event's name, or nil.
func CheckEvent(event Event) []Problem {
	if event.Known() {
		return nil
	}
	text := fmt.Sprintf("there is no event %q", texts.Preview(string(event), 60))
	if near := Nearest(string(event)); near != "" {
		text += fmt.Sprintf(": did you mean %s?", near)
	}
	return []Problem{{Event: event, Group: -1, Hook: -1, Text: text}}
}

// Problems returns what is wrong with the fields that hooks of all types have. at is the
// position of the hook.
func (h *Handler) Problems(info *EventInfo, at Problem) []Problem {
	var problems []Problem
	add := func(odd bool, field, format string, args ...any) {
		at.Field, at.Text, at.Odd = field, fmt.Sprintf(format, args...), odd
		problems = append(problems, at)
	}
	if h.Timeout < 0 || math.IsNaN(h.Timeout) || h.Timeout > MaxTimeout.Seconds() {
		add(false, "timeout", "%v is not a timeout: write seconds, more than 0 and at most %.0f", h.Timeout,
			MaxTimeout.Seconds())
	}
	if !slices.Contains([]string{"", "continue", "block"}, h.OnFailure) {
		// For an mcp_tool hook any other value means block.
		add(h.Type == "mcp_tool", "onFailure", "%q: write continue or block", h.OnFailure)
	}
	switch {
	case h.Mode != "" && h.Mode != Observe:
		add(false, "mode", "%q: write observe, or leave it out", h.Mode)
	case h.Mode == Observe && h.Mandatory:
		add(false, "mode", "a hook that only observes cannot be mandatory: remove one of the two")
	}
	if text := checkIf(info, h.If); text != "" {
		add(false, "if", "%s", text)
	}
	return problems
}

// checkIf returns what is wrong with an `if`, or "".
func checkIf(known *EventInfo, text string) string {
	if text == "" {
		return ""
	}
	if !known.AboutTool() {
		return fmt.Sprintf("only tool events evaluate `if`: on %s the hook would never run; delete it",
			known.Event)
	}
	if _, err := rules.Parse(text); err != nil {
		return err.Error()
	}
	if severalRules().MatchString(text) {
		return "an `if` is one rule, and this is read as one that hardly any call matches: write one hook for each rule " +
			`(in a rule, \( is a bracket of the command)`
	}
	return ""
}

// severalRules matches where one rule ends and another begins.
var severalRules = texts.Pattern(`\)\s*(,|;|&&|\|\|?|\s)\s*(mcp__[\w-]+|[A-Z]\w*)\(`)
