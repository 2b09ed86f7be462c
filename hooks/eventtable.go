package hooks

// catalog returns all events in the order of HOOKS.md section 1.
func catalog() []EventInfo {
	context := []string{"additionalContext"}
	return []EventInfo{
		{Event: SessionStart, Matcher: "source", Exit2: Shown, Context: true, Types: "C", Fires: true,
			Outputs: []string{"additionalContext", "initialUserMessage", "sessionTitle", "watchPaths",
				"reloadSkills"}},
		{Event: Setup, Matcher: "trigger", Exit2: Shown, Fires: true, Types: "C", Outputs: context},
		{Event: SessionEnd, Matcher: "reason", Exit2: Shown, Discards: true, Types: "B", Fires: true},
		{Event: UserPromptSubmit, Exit2: Refuses, Decision: Refuses, Halts: true, Context: true, Mode: true,
			Types: "A",
			Fires: true, Outputs: []string{"additionalContext", "sessionTitle", "suppressOriginalPrompt"}},
		{Event: UserPromptExpansion, Matcher: "command_name", Exit2: Refuses, Decision: Refuses, Halts: true,
			Context: true,
			Mode:    true, Fires: true, Types: "A",
			Outputs: []string{"additionalContext", "suppressOriginalPrompt"}},
		{Event: PreToolUse, Matcher: "tool_name", Exit2: ToolError, Decision: ToolError, Halts: true, Mode: true,
			Types: "A",
			Fires: true, Outputs: []string{"additionalContext", "permissionDecision",
				"permissionDecisionReason", "updatedInput"}},
		{Event: PermissionRequest, Matcher: "tool_name", Mode: true, Fires: true, Types: "A",
			Outputs: []string{"decision"}},
		{Event: PermissionDenied, Matcher: "tool_name", Mode: true, Fires: true, Types: "A",
			Outputs: []string{"retry"}},
		{Event: PostToolUse, Matcher: "tool_name", Exit2: WithResult, Decision: WithResult, Halts: true, Mode: true,
			Types: "A", Fires: true, Outputs: []string{"additionalContext", "updatedToolOutput",
				"updatedMCPToolOutput", "classifierContext"}},
		{Event: PostToolUseFailure, Matcher: "tool_name", Exit2: WithResult, Decision: WithResult, Mode: true,
			Types: "A", Fires: true, Outputs: context},
		{Event: PostToolBatch, Exit2: WithResult, Decision: WithResult, Halts: true, Mode: true, Fires: true,
			Types:   "A",
			Outputs: context},
		{Event: Notification, Matcher: "notification_type", Discards: true, Types: "B", Fires: true, Outputs: context},
		{Event: MessageDisplay, Exit2: Ignored, Types: "B", Fires: true,
			Outputs: []string{"displayContent"}},
		{Event: SubagentStart, Matcher: "agent_type", Exit2: Shown, Types: "B", Fires: true,
			Outputs: context},
		{Event: SubagentStop, Matcher: "agent_type", Exit2: ToFeedback, Decision: ToFeedback, Halts: true,
			Mode:  true,
			Types: "A", Fires: true, Outputs: context},
		{Event: Stop, Exit2: ToFeedback, Decision: ToFeedback, Halts: true, Mode: true, Types: "A",
			Fires:   true,
			Outputs: context},
		{Event: StopFailure, Matcher: "error", Discards: true, Types: "B", Fires: true},
		{Event: TeammateIdle, Exit2: ToFeedback, Decision: ToFeedback, Halts: true, Mode: true, Types: "A",
			Fires: true},
		{Event: TaskCreated, Exit2: ToFeedback, Decision: ToFeedback, Types: "A", Fires: true},
		{Event: TaskCompleted, Exit2: ToFeedback, Decision: ToFeedback, Halts: true, Mode: true,
			Types: "A",
			Fires: true},
		{Event: PreCompact, Matcher: "trigger", Exit2: Refuses, Decision: Refuses, Discards: true,
			Types: "B", Fires: true, Outputs: []string{"customInstructions"}},
		{Event: PostCompact, Matcher: "trigger", Exit2: Shown, Types: "B", Fires: true},
		{Event: PreModelSwitch, Matcher: "to_model", Exit2: Refuses, Decision: Refuses, Types: "B", Fires: true,
			Outputs: []string{"permissionDecision", "permissionDecisionReason"}},
		{Event: PostModelSwitch, Matcher: "to_model", Exit2: Shown, Types: "B", Outputs: context, Fires: true},
		{Event: ConfigChange, Matcher: "source", Exit2: Refuses, Decision: Refuses, Types: "B", Fires: true},
		{Event: InstructionsLoaded, Matcher: "load_reason", Fires: true, Types: "B"},
		{Event: CwdChanged, Exit2: Shown, Fires: true, Types: "B", Outputs: []string{"watchPaths"}},
		{Event: DirectoryAdded, Matcher: "source", Fires: true, Types: "B"},
		{Event: FileChanged, Matcher: "file_path", Exit2: Shown, Fires: true, Types: "B",
			Outputs: []string{"watchPaths"}},
		{Event: WorktreeCreate, Exit2: Refuses, Types: "B", Fires: true,
			Outputs: []string{"worktreePath"}},
		{Event: WorktreeRemove, Types: "B", Fires: true},
		{Event: Elicitation, Matcher: "mcp_server_name", Exit2: Refuses, Types: "B", Fires: true,
			Outputs: []string{"action", "content"}},
		{Event: ElicitationResult, Matcher: "mcp_server_name", Exit2: Refuses, Types: "B", Fires: true,
			Outputs: []string{"action", "content"}},
	}
}

// firedOf returns the values of an event's matcher field that this version fires. nil means
// all, or that the values cannot be listed.
func firedOf(event Event) []string {
	switch event {
	case SessionStart:
		return []string{"startup", "resume", "clear", "compact"}
	case SessionEnd:
		return []string{"clear", "resume", "other"}
	case Notification:
		return []string{"permission_prompt", "idle_prompt", "agent_needs_input", "agent_completed",
			"elicitation_response"}
	case InstructionsLoaded:
		return []string{"session_start", "nested_traversal", "include", "compact"}
	case DirectoryAdded:
		return []string{"slash_command"}
	}
	return nil
}

// valuesOf returns the possible values of an event's matcher field. nil means that they
// cannot be listed, or that there is no such field.
func valuesOf(event Event) []string {
	// From HOOKS.md section 1. Hosts may add values, but a matcher that names another one
	// is usually a mistake.
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
