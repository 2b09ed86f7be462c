package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/web"
)

// Validate returns all mistakes in s, in the order of events, groups and hooks: hooks that
// could never run, or not as written. Specs refuse all of them; settings files warn (Parse),
// so that one entry does not invalidate a file.
func Validate(s hooks.Settings) []hooks.Problem {
	var problems []hooks.Problem
	for _, event := range eventsOf(s) {
		problems = append(problems, hooks.CheckEvent(event)...)
		known := hooks.InfoOf(event)
		for i, group := range s[event] {
			at := hooks.Problem{Event: event, Group: i, Hook: -1}
			problems = append(problems, checkGroup(known, group, at)...)
			for j, h := range group.Hooks {
				at.Hook = j
				problems = append(problems, checkHandler(known, h, at)...)
			}
		}
	}
	return problems
}

// eventsOf returns the events of s in the order of the catalog, unknown ones last.
func eventsOf(s hooks.Settings) []hooks.Event {
	var events []hooks.Event
	for _, t := range hooks.Events() {
		if _, ok := s[t.Event]; ok {
			events = append(events, t.Event)
		}
	}
	var unknown []hooks.Event
	for event := range s {
		if !event.Known() {
			unknown = append(unknown, event)
		}
	}
	slices.Sort(unknown)
	return append(events, unknown...)
}

// checkGroup returns what is wrong with a group itself.
func checkGroup(known *hooks.EventInfo, group hooks.Group, at hooks.Problem) []hooks.Problem {
	var problems []hooks.Problem
	if _, err := Matcher(&group, known); err != nil {
		at.Field, at.Text = "matcher", err.Error()
		problems = append(problems, at)
	}
	if len(group.Hooks) == 0 {
		at.Field, at.Text = "hooks", "the group has no hooks: add one, or delete the group"
		problems = append(problems, at)
	}
	return problems
}

// checkHandler returns what is wrong with one handler.
func checkHandler(known *hooks.EventInfo, h hooks.Handler, at hooks.Problem) []hooks.Problem {
	var problems []hooks.Problem
	add := func(field, format string, args ...any) {
		at.Field, at.Text = field, fmt.Sprintf(format, args...)
		problems = append(problems, at)
	}
	if h.Policy != "" {
		return nil
	}
	if text := CheckType(known, h.Type); text != "" {
		add("type", "%s", text)
	}
	if h.Type == "command" && strings.TrimSpace(h.Command) == "" {
		add("command", "the hook has no command: write what it is to run")
	}
	if strings.ContainsRune(h.Command+strings.Join(h.Args, ""), 0) {
		add("command", "a command cannot contain the character NUL")
	}
	if !slices.Contains([]string{"", "bash", "powershell"}, h.Shell) {
		add("shell", "there is no shell %q: write bash or powershell, or leave it out for /bin/sh", h.Shell)
	}
	return append(append(problems, h.Problems(known, at)...), checkFields(&h, at)...)
}

// checkFields returns what is wrong with the fields that are specific to the handler's type.
func checkFields(h *hooks.Handler, at hooks.Problem) []hooks.Problem {
	switch h.Type {
	case "http":
		return checkRequest(h, at)
	case "prompt", "agent":
		return checkModel(h, at)
	case "mcp_tool":
		return checkTool(h, at)
	}
	return nil
}

// checkRequest returns what is wrong with an http handler.
func checkRequest(h *hooks.Handler, at hooks.Problem) []hooks.Problem {
	request := web.Request{URL: h.URL, Headers: h.Headers, AllowedEnvVars: h.AllowedEnvVars}
	found := request.Check()
	if h.Async || h.AsyncRewake {
		found = append(found, web.Problem{Field: "async", Odd: true,
			Text: "only command hooks run in the background: an http hook is waited for"})
	}
	var problems []hooks.Problem
	for _, p := range found {
		at.Field, at.Text, at.Odd = p.Field, p.Text, p.Odd
		problems = append(problems, at)
	}
	return problems
}

// CheckType returns what is wrong with a handler's type, or "".
func CheckType(known *hooks.EventInfo, handlerType string) string {
	switch {
	case handlerType == "":
		return "the hook has no type: write command"
	case !slices.Contains(hooks.HandlerTypes(), handlerType):
		return fmt.Sprintf("there is no handler type %q: write %s", handlerType,
			strings.Join(hooks.HandlerTypes(), ", "))
	case !known.Takes(handlerType):
		return fmt.Sprintf("%s runs no %s hooks", known.Event, handlerType)
	}
	return ""
}

// checkModel returns what is wrong with a prompt or agent handler.
func checkModel(h *hooks.Handler, at hooks.Problem) []hooks.Problem {
	if strings.TrimSpace(h.Prompt) != "" {
		return nil
	}
	at.Field, at.Text = "prompt", "the hook has no prompt: write what the model is to judge"
	return []hooks.Problem{at}
}

// checkTool returns what is wrong with an mcp_tool handler.
func checkTool(h *hooks.Handler, at hooks.Problem) []hooks.Problem {
	var problems []hooks.Problem
	for _, f := range []struct{ name, value, want string }{
		{"server", h.Server, "the hook has no server: write whose tool it calls"},
		{"tool", h.Tool, "the hook has no tool: write which it calls"},
	} {
		if strings.TrimSpace(f.value) == "" {
			at.Field, at.Text = f.name, f.want
			problems = append(problems, at)
		}
	}
	return problems
}
