package script_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestServerMapsTools checks, for each kind of agent, the call that the agent gets for
// a call of a script.
func TestServerMapsTools(t *testing.T) {
	for _, test := range []struct{ what, call, offered, schema, name, input string }{
		{"the very name", `{tool: Bash, input: {command: ls}}`, "Bash", `{"properties":{"cmd":{}}}`, "Bash", `{"command":"ls"}`},
		{"an MCP server behind double signs", `{tool: team_task_list}`, "mcp__covey__team_task_list", `{}`,
			"mcp__covey__team_task_list", `{}`},
		{"another server", `{tool: fetch}`, "mcp__web__fetch", `{}`, "mcp__web__fetch", `{}`},
		{"an MCP server behind one sign", `{tool: team_report}`, "mcp_covey_team_report", `{}`, "mcp_covey_team_report", `{}`},
		{"opencode's form", `{tool: team_report}`, "covey_team_report", `{}`, "covey_team_report", `{}`},
		{"copilot's form", `{tool: team_report}`, "covey-team_report", `{}`, "covey-team_report", `{}`},
		{"no tool of a server read", `{tool: file}`, "read_file", `{}`, "file", `{}`},
		{"the builtin agent's team tool", `{tool: TaskUpdate, input: {taskId: "1"}}`, "covey_team_task_update",
			`{"properties":{"task_id":{"type":"string"}}}`, "covey_team_task_update", `{"task_id":"1"}`},
		{"codex", `{tool: Bash, input: {command: ls, description: list}}`, "exec_command",
			`{"properties":{"cmd":{"type":"string"}},"required":["cmd"]}`, "exec_command", `{"cmd":"ls"}`},
		{"a command as a list", `{tool: Bash, input: {command: ls}}`, "shell",
			`{"properties":{"command":{"type":"array"}}}`, "shell", `{"command":["bash","-c","ls"]}`},
		{"gemini, which writes types large", `{tool: Bash, input: {command: ls}}`, "run_shell_command",
			`{"properties":{"command":{"type":"STRING"},"description":{"type":"STRING"},"n":{"type":["INTEGER","NULL"]}},` +
				`"required":["description","n"]}`, "run_shell_command", `{"command":"ls","description":"ok","n":0}`},
		{"camel case", `{tool: Write, input: {file_path: a, content: b}}`, "write",
			`{"properties":{"filePath":{"type":"string"},"content":{"type":"string"}}}`, "write", `{"content":"b","filePath":"a"}`},
		{"other words", `{tool: Edit, input: {file_path: a, old_string: b, new_string: c, replace_all: true}}`, "replace",
			`{"properties":{"absolute_path":{},"old_str":{},"new_text":{},"allow_multiple":{}}}`, "replace",
			`{"absolute_path":"a","allow_multiple":true,"new_text":"c","old_str":"b"}`},
		{"no schema", `{tool: Glob, input: {pattern: "*"}}`, "glob", `null`, "glob", `{"pattern":"*"}`},
		{"no such tool", `{tool: Fly, input: {to: moon}}`, "walk", `{}`, "Fly", `{"to":"moon"}`},
	} {
		t.Run(test.what, func(t *testing.T) {
			w := knock(serverOf(t, "steps: [{call: ["+test.call+"]}]"), "POST", "/v1/messages", fmt.Sprintf(
				`{"messages":[{"role":"user","content":"go"}],"tools":[{"name":%q,"input_schema":%s}]}`, test.offered, test.schema))
			want := fmt.Sprintf(`"input":%s,"name":%q,"type":"tool_use"`, test.input, test.name)
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("got %s, want %s", w.Body, want)
			}
		})
	}
}

// TestServerCallsFreeformTools tests tools of the Responses API that take text instead
// of JSON, alone and in a namespace.
func TestServerCallsFreeformTools(t *testing.T) {
	server := serverOf(t, `
steps:
  - call: [{tool: apply_patch, input: {patch: "*** Begin Patch"}}, {tool: note, input: {a: b, c: d}}]
  - say: patched`)
	const tools = `"tools":[{"type":"custom","name":"apply_patch"},{"type":"namespace","name":"n","tools":[{"type":"custom","name":"note"}]}]`
	w := knock(server, "POST", "/v1/responses", `{"stream":true,"input":"go",`+tools+`}`)
	for _, want := range []string{
		"event: response.custom_tool_call_input.delta", `"delta":"*** Begin Patch"`, `"input":"*** Begin Patch"`,
		`"type":"custom_tool_call"`, `"input":"{\"a\":\"b\",\"c\":\"d\"}"`, `"namespace":"n"`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the stream lacks %s:\n%s", want, w.Body)
		}
	}
	w = knock(server, "POST", "/v1/responses", `{"input":[{"role":"user","content":"go"},`+
		`{"type":"custom_tool_call","call_id":"toolu_0_0_0","name":"apply_patch","input":""},`+
		`{"type":"custom_tool_call_output","call_id":"toolu_0_0_0","output":"done"}],`+tools+`}`)
	if !strings.Contains(w.Body.String(), "patched") {
		t.Errorf("after the patch comes %s", w.Body)
	}
}

// TestServerCallsToolsBehindASearch: Codex hides the tools of MCP servers behind a
// search.
func TestServerCallsToolsBehindASearch(t *testing.T) {
	server := serverOf(t, `
steps:
  - call: [{tool: team_task_claim, input: {taskId: "1"}}, {tool: Bash, input: {command: ls}}]
  - say: claimed`)
	const tools = `"tools":[{"type":"function","name":"exec_command","parameters":{"properties":{"cmd":{"type":"string"}}}},` +
		`{"type":"tool_search","execution":"client","description":"Searches."}]`
	w := knock(server, "POST", "/v1/responses", `{"input":"go",`+tools+`}`)
	for _, want := range []string{`"name":"team_task_claim","namespace":"mcp__covey"`, `"name":"exec_command"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the calls lack %s:\n%s", want, w.Body)
		}
	}
	// Without the calls' ids the step is found by their names.
	w = knock(server, "POST", "/v1/responses", `{"input":[{"role":"user","content":"go"},`+
		`{"type":"function_call","call_id":"a","name":"team_task_claim","namespace":"mcp__covey","arguments":"{}"},`+
		`{"type":"function_call","call_id":"b","name":"exec_command","arguments":"{}"},`+
		`{"type":"function_call_output","call_id":"a","output":"yours"},`+
		`{"type":"function_call_output","call_id":"b","output":"files"}],`+tools+`}`)
	if !strings.Contains(w.Body.String(), "claimed") {
		t.Errorf("after the calls comes %s", w.Body)
	}
}

// TestServerWritesPatches: Codex changes files with a tool that takes patches.
func TestServerWritesPatches(t *testing.T) {
	for _, test := range []struct{ call, patch string }{
		{`{tool: Write, input: {file_path: a/b.txt, content: "one\ntwo\n"}}`,
			"*** Begin Patch\n*** Add File: a/b.txt\n+one\n+two\n*** End Patch\n"},
		{`{tool: Write, input: {file_path: b.txt, content: one}}`,
			"*** Begin Patch\n*** Add File: b.txt\n+one\n*** End Patch\n"},
		{`{tool: Edit, input: {file_path: /w/a, old_string: "one\n\n", new_string: "two\n"}}`,
			"*** Begin Patch\n*** Update File: /w/a\n@@\n-one\n-\n+two\n*** End Patch\n"},
		{`{tool: Edit, input: {old_string: a, new_string: b}}`, `{"old_string":"a","new_string":"b"}`},
	} {
		server := serverOf(t, "steps: [{call: ["+test.call+"]}, {say: seen}]")
		const tools = `"tools":[{"type":"function","name":"exec_command"},{"type":"custom","name":"apply_patch"}]`
		w := knock(server, "POST", "/v1/responses", `{"input":"go",`+tools+`}`)
		var body struct {
			Output []struct{ Type, Name, Input string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || len(body.Output) != 1 {
			t.Fatalf("%s: got %s (%v)", test.call, w.Body, err)
		}
		if o := body.Output[0]; o.Type != "custom_tool_call" || o.Name != "apply_patch" || o.Input != test.patch {
			t.Errorf("%s: got %+v, want %q", test.call, o, test.patch)
		}
		// Without the call's id the step is found by its name.
		w = knock(server, "POST", "/v1/responses", `{"input":[{"role":"user","content":"go"},`+
			`{"type":"custom_tool_call","call_id":"other","name":"apply_patch","input":""},`+
			`{"type":"custom_tool_call_output","call_id":"other","output":"done"}],`+tools+`}`)
		if !strings.Contains(w.Body.String(), "seen") {
			t.Errorf("%s: after the patch comes %s", test.call, w.Body)
		}
	}
}

// TestServerKnowsErrorsOfAllAPIs checks the statuses, by which agents decide to retry.
func TestServerKnowsErrorsOfAllAPIs(t *testing.T) {
	for kind, want := range map[string][3]int{
		"rate_limit": {429, 429, 429}, "overloaded": {529, 503, 503}, "authentication_failed": {401, 401, 401},
		"oauth_org_not_allowed": {403, 403, 403}, "billing_error": {402, 402, 402}, "invalid_request": {400, 400, 400},
		"model_not_found": {404, 404, 404}, "server_error": {500, 500, 500}, "unknown": {500, 500, 500},
		"account_on_hold": {403, 403, 403}, "max_output_tokens": {200, 200, 200},
	} {
		for i, path := range []string{"/v1/messages", "/v1/responses", "/v1beta/models/m:generateContent"} {
			w := knock(serverOf(t, "steps: [{error: {type: "+kind+", message: as told}}]"), "POST", path, `{}`)
			var body struct{ Error struct{ Message string } }
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != want[i] {
				t.Errorf("%s at %s: got %d %s (%v), want %d", kind, path, w.Code, w.Body, err, want[i])
			}
			if w.Code != 200 && body.Error.Message != "as told" {
				t.Errorf("%s at %s says %q", kind, path, body.Error.Message)
			}
		}
	}
}
