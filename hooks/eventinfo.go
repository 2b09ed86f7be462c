package hooks

import "slices"

// EventInfo describes one event for people and for documentation. What a refusal
// does is said as one of these: nothing; shown (to people; nothing is refused);
// refuses (the text is for people); error (refused, the text is the tool call's
// error); beside (too late to refuse, the text goes beside the call's result);
// feedback (refused, the text goes to the model).
type EventInfo struct {
	Event    Event    `json:"event"`
	Matcher  string   `json:"matcher"`  // the input field that matchers are held against; "": matchers are ignored
	Values   []string `json:"values"`   // what that field can be; empty: anything, or there is none
	Fired    []string `json:"-"`        // those of Values that a team fires by itself; empty: all
	Exit2    string   `json:"exit_2"`   // what exit code 2 does
	Decision string   `json:"decision"` // what {"decision":"block"} does
	Blocks   bool     `json:"blocks"`   // exit 2 or decision:block refuses something
	Halts    bool     `json:"continue"` // continue:false counts
	Context  bool     `json:"context"`  // plain stdout becomes context for the model
	Types    string   `json:"-"`        // handler types, as HOOKS.md section 1 groups them: A, B or C
	Handlers []string `json:"handlers"` // the same by name; callbacks listen to every event
	Fires    bool     `json:"fires"`    // this version fires it by itself; the others are fired by hand only
	Later    string   `json:"later"`    // what its moment waits for; empty if it fires
	Outputs  []string `json:"outputs"`  // fields of hookSpecificOutput that count
}

// Events lists all events in the order of HOOKS.md section 1.
func Events() []EventInfo {
	all := catalog()
	infos := make([]EventInfo, len(all))
	for i := range all {
		infos[i] = all[i].info()
	}
	return infos
}

// info describes the event.
func (t *traits) info() EventInfo {
	info := EventInfo{Event: t.event, Matcher: t.field, Values: valuesOf(t.event), Fired: firedOf(t.event),
		Exit2:    t.exit2.words(),
		Decision: t.decision.words(), Blocks: t.exit2 >= refuses, Halts: t.halts, Context: t.plain,
		Types: t.handlers, Fires: t.fires, Outputs: append([]string{}, t.outputs...)}
	if !t.fires {
		info.Later = waitsFor(t.event)
	}
	info.Handlers = slices.DeleteFunc(handlerTypes(), func(name string) bool { return !t.takes(name) })
	return info
}

// words says what the effect is, in one word or two.
func (e effect) words() string {
	switch e {
	case toUser:
		return "shown"
	case refuses:
		return "refuses"
	case toTool:
		return "error"
	case toResult:
		return "beside"
	case toFeedback:
		return "feedback"
	}
	return "nothing"
}

// waitsFor says what has to be there before an event can fire by itself.
func waitsFor(event Event) string {
	switch event {
	case PreCompact, PostCompact:
		return "compaction, which comes with model providers"
	case PreModelSwitch, PostModelSwitch:
		return "members that change their model, which come with model providers"
	case Elicitation, ElicitationResult:
		return "MCP servers of members"
	}
	return "a moment of its own"
}

// firedOf lists the values of an event's matcher field that this version fires, where
// some of them have no moment yet. nil: all have one, or nobody can tell.
func firedOf(event Event) []string {
	switch event {
	case SessionStart:
		return []string{"startup", "resume"}
	case SessionEnd:
		return []string{"other"}
	case Notification:
		return []string{"permission_prompt", "idle_prompt", "agent_needs_input", "agent_completed"}
	case InstructionsLoaded:
		return []string{"session_start", "nested_traversal", "include"}
	case DirectoryAdded:
		return []string{"slash_command"}
	}
	return nil
}

// valuesOf lists what the matcher's field of an event can be. nil: names that
// nobody can list, or there is no such field.
func valuesOf(event Event) []string {
	// From HOOKS.md section 1. Where a host may add to them, the list is what is
	// known; a matcher that names something else is still a mistake more often.
	switch event {
	case SessionStart:
		return []string{"startup", "resume", "clear", "compact", "fork"}
	case Setup:
		return []string{"init", "maintenance"}
	case SessionEnd:
		return []string{"clear", "resume", "logout", "prompt_input_exit", "other"}
	case Notification:
		return []string{"permission_prompt", "idle_prompt", "auth_success", "elicitation_dialog",
			"elicitation_url_dialog", "elicitation_complete", "elicitation_response", "agent_needs_input",
			"agent_completed"}
	case StopFailure:
		return []string{"rate_limit", "overloaded", "authentication_failed", "oauth_org_not_allowed",
			"billing_error", "invalid_request", "model_not_found", "server_error", "max_output_tokens",
			"unknown", "account_on_hold", "verification_required", "cloud_credential_error"}
	case PreCompact, PostCompact:
		return []string{"manual", "auto"}
	case ConfigChange:
		return []string{"user_settings", "project_settings", "local_settings", "policy_settings", "skills"}
	case InstructionsLoaded:
		return []string{"session_start", "nested_traversal", "path_glob_match", "include", "compact"}
	case DirectoryAdded:
		return []string{"slash_command", "register_repo_root"}
	}
	return nil
}
