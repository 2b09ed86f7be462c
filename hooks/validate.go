package hooks

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/wording"
)

// Problem is a mistake in configured hooks, with its place.
type Problem struct {
	Event Event  // as it was written
	Group int    // index in the event's list; -1: the event itself
	Hook  int    // index in the group's hooks; -1: the group itself
	Field string // JSON name of the field; empty: the whole
	Text  string // what is wrong, and what to write instead
	odd   bool   // the hook runs all the same
}

// Path is the place of the problem below the hooks section, like
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

// String is the problem with its place.
func (p Problem) String() string { return p.Path() + ": " + p.Text }

// Validate finds all mistakes in s, in the order of events, groups and hooks:
// what could never run, or not as it is written. Specs refuse all of them;
// settings files warn (ParseSettings), so that one entry does not void a file.
func Validate(s Settings) []Problem {
	var problems []Problem
	for _, event := range eventsOf(s) {
		problems = append(problems, checkEvent(event)...)
		known := InfoOf(event)
		for i, group := range s[event] {
			at := Problem{Event: event, Group: i, Hook: -1}
			problems = append(problems, checkGroup(known, group, at)...)
			for j, h := range group.Hooks {
				at.Hook = j
				problems = append(problems, checkHandler(known, h, at)...)
			}
		}
	}
	return problems
}

// eventsOf lists the events of s in the order of the catalog, unknown ones last.
func eventsOf(s Settings) []Event {
	var events []Event
	for _, t := range catalog() {
		if _, ok := s[t.Event]; ok {
			events = append(events, t.Event)
		}
	}
	var unknown []Event
	for event := range s {
		if !event.Known() {
			unknown = append(unknown, event)
		}
	}
	slices.Sort(unknown)
	return append(events, unknown...)
}

// checkEvent says what is wrong with an event's name.
func checkEvent(event Event) []Problem {
	if event.Known() {
		return nil
	}
	text := fmt.Sprintf("there is no event %q", wording.Preview(string(event), 60))
	if near := Nearest(string(event)); near != "" {
		text += fmt.Sprintf(": did you mean %s?", near)
	}
	return []Problem{{Event: event, Group: -1, Hook: -1, Text: text}}
}

// checkGroup says what is wrong with a group itself.
func checkGroup(known *EventInfo, group Group, at Problem) []Problem {
	var problems []Problem
	if _, err := group.matcher(known); err != nil {
		at.Field, at.Text = "matcher", err.Error()
		problems = append(problems, at)
	}
	if len(group.Hooks) == 0 {
		at.Field, at.Text = "hooks", "the group has no hooks: add one, or delete the group"
		problems = append(problems, at)
	}
	return problems
}

// checkHandler says what is wrong with one handler.
func checkHandler(known *EventInfo, h Handler, at Problem) []Problem {
	var problems []Problem
	add := func(field, format string, args ...any) {
		at.Field, at.Text = field, fmt.Sprintf(format, args...)
		problems = append(problems, at)
	}
	if h.Policy != "" {
		return nil
	}
	if text := checkType(known, h.Type); text != "" {
		add("type", "%s", text)
	}
	if h.Type == "command" && strings.TrimSpace(h.Command) == "" {
		add("command", "the hook has no command: write what it is to run")
	}
	if strings.ContainsRune(h.Command+strings.Join(h.Args, ""), 0) {
		add("command", "a command cannot hold the character NUL")
	}
	if h.Timeout < 0 || math.IsNaN(h.Timeout) || h.Timeout > maxTimeout.Seconds() {
		add("timeout", "%v is no time-out: write seconds, more than 0 and at most %.0f", h.Timeout,
			maxTimeout.Seconds())
	}
	if !slices.Contains([]string{"", "bash", "powershell"}, h.Shell) {
		add("shell", "there is no shell %q: write bash or powershell, or leave it out for /bin/sh", h.Shell)
	}
	if !slices.Contains([]string{"", "continue", "block"}, h.OnFailure) {
		at.odd = h.Type == "mcp_tool" // which takes any other word for block
		add("onFailure", "%q: write continue or block", h.OnFailure)
		at.odd = false
	}
	switch {
	case h.Mode != "" && h.Mode != observing:
		add("mode", "%q: write observe, or leave it out", h.Mode)
	case h.Mode == observing && h.Mandatory:
		add("mode", "a hook that only observes cannot be mandatory: remove one of the two")
	}
	if text := checkIf(known, h.If); text != "" {
		_, whole := rules.WholeTool(h.If)
		at.odd = known.AboutTool() && whole // it runs all the same, for every call of the tool
		add("if", "%s", text)
		at.odd = false
	}
	return append(problems, checkFields(&h, at)...)
}

// checkFields says what is wrong with the fields that only the handler's type has.
func checkFields(h *Handler, at Problem) []Problem {
	switch h.Type {
	case "http":
		return checkHTTP(h, at)
	case "prompt", "agent":
		return checkModel(h, at)
	case "mcp_tool":
		return checkTool(h, at)
	}
	return nil
}

// checkType says what is wrong with a handler's type, or "".
func checkType(known *EventInfo, handlerType string) string {
	switch {
	case handlerType == "":
		return "the hook has no type: write command"
	case !slices.Contains(HandlerTypes(), handlerType):
		return fmt.Sprintf("there is no handler type %q: write %s", handlerType,
			strings.Join(HandlerTypes(), ", "))
	case !known.Takes(handlerType):
		return fmt.Sprintf("%s runs no %s hooks", known.Event, handlerType)
	}
	return ""
}

// checkIf says what is wrong with an `if`, or "".
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
	return ""
}
