package acp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/program"
	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	n := naming{servers: []string{"covey", "my_docs"}, titleCommand: true}
	for name, tt := range map[string]struct{ call, want string }{
		"command":          {`{"kind":"execute","rawInput":{"command":"ls -l","description":"list"}}`, `Bash {"command":"ls -l","description":"list"}`},
		"shell script":     {`{"kind":"read","rawInput":{"command":["/bin/bash","-lc","cat a b"],"cwd":"/w"}}`, `Bash {"command":"cat a b","cwd":"/w"}`},
		"argument list":    {`{"rawInput":{"command":["rm","a b","it's"]}}`, `Bash {"command":"rm 'a b' 'it'\\''s'"}`},
		"text in content":  {`{"kind":"execute","content":[{"type":"content","content":{"type":"text","text":"{\"command\": \"git push\"}"}}]}`, `Bash {"command":"git push"}`},
		"no text yet":      {`{"kind":"execute","content":[{"type":"content","content":{"type":"text","text":"{\"command\": \"git"}}]}`, `Bash {}`},
		"its own input":    {`{"kind":"execute","rawInput":{"command":"ls"},"content":[{"type":"content","content":{"type":"text","text":"{\"command\": \"rm x\"}"}}]}`, `Bash {"command":"ls"}`},
		"an output":        {`{"kind":"execute","status":"completed","content":[{"type":"content","content":{"type":"text","text":"{\"command\": \"rm x\"}"}}]}`, `Bash {}`},
		"no command":       {`{"kind":"execute","rawInput":{"x":1}}`, `Bash {"x":1}`},
		"title":            {`{"kind":"execute","title":"npm test [current working directory /w] (run tests)"}`, `Bash {"command":"npm test"}`},
		"title that lies":  {`{"kind":"execute","title":"rm -r x [in /w] (see [in y] (z))"}`, `Bash {"command":"rm -r x [in /w] (see"}`},
		"edit":             {`{"kind":"edit","rawInput":{"filePath":"/w/a"}}`, `Edit {"filePath":"/w/a","file_path":"/w/a"}`},
		"new file":         {`{"kind":"edit","content":[{"type":"diff","path":"/w/a","newText":"x"}]}`, `Write {"file_path":"/w/a"}`},
		"opencode's write": {`{"kind":"edit","title":"write","rawInput":{"filePath":"/w/a","content":""}}`, `Write {"content":"","filePath":"/w/a","file_path":"/w/a"}`},
		"opencode's edit":  {`{"kind":"edit","rawInput":{"filePath":"/w/a","oldString":"","content":"x"}}`, `Edit {"content":"x","filePath":"/w/a","file_path":"/w/a","oldString":""}`},
		"delete":           {`{"kind":"delete","locations":[{"path":"/w/a"}]}`, `Edit {"file_path":"/w/a"}`},
		"patch":            {`{"kind":"edit","rawInput":{"changes":{"/w/b":{},"/w/a":{}}}}`, `Edit {"changes":{"/w/b":{},"/w/a":{}},"file_path":"/w/a"} + Edit {"changes":{"/w/b":{},"/w/a":{}},"file_path":"/w/b"}`},
		"two names":        {`{"kind":"edit","rawInput":{"file_path":"/w/a","FILE_PATH":"/w/b","path":"/w/c"}}`, `Edit {"file_path":"/w/a","path":"/w/c"} + Edit {"file_path":"/w/c","path":"/w/c"}`},
		"diff in disguise": {`{"kind":"think","title":"thinking","content":[{"type":"diff","path":"/w/a"}]}`, `Edit {"file_path":"/w/a"}`},
		"edit of nothing":  {`{"kind":"edit"}`, `Edit {}`},
		"read":             {`{"kind":"read","rawInput":{"abs_path":"/w/a"}}`, `Read {"abs_path":"/w/a","file_path":"/w/a"}`},
		"search":           {`{"kind":"search","rawInput":{"pattern":"x"},"locations":[{"path":"/w"}]}`, `Grep {"path":"/w","pattern":"x"}`},
		"fetch":            {`{"kind":"fetch","title":"Fetch \"https://a.b/c\""}`, `WebFetch {"url":"https://a.b/c"}`},
		"claude's name":    {`{"kind":"other","_meta":{"claudeCode":{"toolName":"TodoWrite"}},"rawInput":{"todos":[]}}`, `TodoWrite {"todos":[]}`},
		"qwen's name":      {`{"kind":"edit","_meta":{"toolName":"write_file"},"rawInput":{"file_path":"/w/a","content":"x"}}`, `Write {"content":"x","file_path":"/w/a"}`},
		"title as a name":  {`{"kind":"other","title":"TodoWrite"}`, `TodoWrite {}`},
		"title as a story": {`{"kind":"other","title":"Do this and that"}`, `Tool {}`},
		"nothing":          {`{}`, `Tool {}`},
		"input is a list":  {`{"rawInput":[1]}`, `Tool {"input":[1]}`},
		"mcp codex":        {`{"title":"x","rawInput":{"server":"covey","tool":"team_report","arguments":{"a":1}}}`, `mcp__covey__team_report {"a":1}`},
		"mcp claude":       {`{"title":"y","_meta":{"claudeCode":{"toolName":"mcp__covey__team_report"}},"rawInput":{"a":1}}`, `mcp__covey__team_report {"a":1}`},
		"mcp gemini":       {`{"title":"team_report (covey MCP Server)"}`, `mcp__covey__team_report {}`},
		"mcp opencode":     {`{"title":"my_docs_find","rawInput":{"q":"x"}}`, `mcp__my_docs__find {"q":"x"}`},
		"mcp copilot":      {`{"title":"covey-team_report"}`, `mcp__covey__team_report {}`},
		"mcp zed":          {`{"title":"Tool: covey/team_report"}`, `mcp__covey__team_report {}`},
		"mcp in a command": {`{"title":"covey_team_report","kind":"execute","rawInput":{"command":"rm x"}}`, `Bash {"command":"rm x"}`},
		"mcp as a command": {`{"title":"covey_team_report; rm x","kind":"execute"}`, `Bash {"command":"covey_team_report; rm x"}`},
		"null input":       {`{"kind":"read","rawInput":null,"locations":null,"content":null}`, `Read {}`},
	} {
		c := &toolCall{ID: "c"}
		c.merge(json.RawMessage(tt.call))
		var got []string
		for _, call := range n.calls(c) {
			got = append(got, call.Name+" "+string(call.Input))
		}
		if text := strings.Join(got, " + "); text != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, text, tt.want)
		}
	}
}

// Copilot CLI names the server of an MCP tool in a call's first title, and leaves it out
// when it asks for permission.
func TestFirstTitleNamesTheCall(t *testing.T) {
	n := naming{servers: []string{"covey"}}
	for name, tt := range map[string]struct{ first, later, want string }{
		"mcp tool": {
			`{"title":"covey-team_task_claim","kind":"other","rawInput":{"taskId":"1"}}`,
			`{"title":"team_task_claim","kind":"other","rawInput":{"taskId":"1"}}`,
			`mcp__covey__team_task_claim {"taskId":"1"}`,
		},
		"tool of its own": {`{"title":"websearch","kind":"other"}`, `{"title":"Looking"}`, `websearch {}`},
		"name comes late": {`{"title":"Looking at it","kind":"other"}`, `{"title":"websearch"}`, `websearch {}`},
		"no title at first": {
			`{"kind":"other","rawInput":{}}`, `{"title":"covey-team_report"}`, `mcp__covey__team_report {}`,
		},
		"command": {
			`{"title":"covey-team_report","kind":"execute"}`, `{"rawInput":{"command":"rm x"}}`, `Bash {"command":"rm x"}`,
		},
	} {
		c := &toolCall{ID: "c"}
		c.merge(json.RawMessage(tt.first))
		c.mergeQuestion(json.RawMessage(tt.later))
		if got := n.calls(c)[0]; got.Name+" "+string(got.Input) != tt.want {
			t.Errorf("%s: %s %s, want %s", name, got.Name, got.Input, tt.want)
		}
	}
}

// Whatever is put behind a command in a title, what rules see holds all of it.
func TestTitleCommandIsNeverShorter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.StringMatching(`[a-z \[\]()]{0,30}`).Draw(t, "command")
		why := rapid.StringMatching(`[a-z \[\]()]{0,10}( \[in [a-z]\])?[a-z \[\]()]{0,10}`).Draw(t, "why")
		got := titleCommand(command + " [in /w] (" + why + ")")
		if !strings.HasPrefix(got, command) {
			t.Fatalf("%q lacks a part of %q", got, command)
		}
	})
}

func TestMergeKeepsWhatIsNotMentioned(t *testing.T) {
	c := &toolCall{ID: "c"}
	for _, part := range []string{
		`{"title":"a","kind":"edit","rawInput":{}}`, `{"rawInput":{"path":"/x"},"status":"pending"}`,
		`{"rawInput":{},"status":"completed","rawOutput":{"output":"out"}}`, `{"title":null,"kind":7}`, `[]`,
	} {
		c.merge(json.RawMessage(part))
	}
	if c.Title != "a" || c.Kind != "edit" || string(c.RawInput) != `{"path":"/x"}` || c.output() != "out" || !c.ended() {
		t.Errorf("%+v", c)
	}
}

func TestOutput(t *testing.T) {
	for call, want := range map[string]string{
		`{"status":"completed","rawOutput":"plain"}`:                                                                             "plain",
		`{"status":"completed","rawOutput":{"stdout":"","exit":0}}`:                                                              "",
		`{"status":"completed","rawOutput":{"x":1}}`:                                                                             `{"x":1}`,
		`{"status":"completed","rawOutput":{"stdout":"","formatted_output":"f"}}`:                                                "f",
		`{"status":"completed","content":[{"type":"content","content":{"type":"text","text":"a"}},{"type":"diff","path":"/b"}]}`: "a\nchanged /b",
		`{"status":"completed","content":[{"type":"content","content":{"type":"image","uri":"u"}},{"type":"terminal"}]}`:         "[image u]",
		`{"status":"completed","content":[{"type":"content","content":{"type":"resource","resource":{"uri":"u","text":"t"}}}]}`:  "t",
		`{"status":"failed"}`: "",
	} {
		c := &toolCall{}
		c.merge(json.RawMessage(call))
		if r := c.result(); r.Content != want || r.IsError != (c.Status == "failed") {
			t.Errorf("%s: %+v, want %q", call, r, want)
		}
	}
	c := &toolCall{RawOutput: json.RawMessage(`"` + strings.Repeat("y", 3*program.MaxResult) + `"`)}
	if got := c.result().Content; len(got) > program.MaxResult+100 || !strings.Contains(got, "bytes left out") {
		t.Errorf("%d bytes", len(got))
	}
}

func FuzzToolCall(f *testing.F) {
	f.Add([]byte(`{"kind":"edit","rawInput":{"file_path":"/a"},"content":[{"type":"diff","path":"x"}]}`), []byte(`{"status":"completed"}`))
	f.Add([]byte(`{"title":"covey_x","rawInput":["\ud800"]}`), []byte(`{"rawOutput":{"output":{}}}`))
	n := naming{servers: []string{"covey", ""}, titleCommand: true}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		c := &toolCall{ID: "c"}
		c.merge(one)
		c.merge(two)
		calls := n.calls(c)
		if len(calls) == 0 {
			t.Fatal("no call")
		}
		for _, call := range calls {
			var object map[string]json.RawMessage
			if call.Name == "" || json.Unmarshal(call.Input, &object) != nil || object == nil {
				t.Fatalf("call %q %s", call.Name, call.Input)
			}
		}
		c.result()
	})
}

// A program that runs a command to read, and tells of the file alone, is held against the
// rules for that command. One that has a tool for it is not.
func TestCommandsThatAreToldAsReads(t *testing.T) {
	for call, want := range map[string]string{
		`{"kind":"read","title":"Read file '/w/a b'","locations":[{"path":"/w/a b"}]}`: "cat '/w/a b'",
		`{"kind":"read","title":"List files in 'sub'"}`:                                "ls",
		`{"kind":"search","title":"Search for 'x' in sub"}`:                            "rg x",
		`{"kind":"read","title":"ReadFile a.txt","locations":[{"path":"/w/a"}]}`:       "",
		`{"kind":"read","title":"Read file 'a'","rawInput":{"file_path":"/w/a"}}`:      "",
	} {
		c := &toolCall{ID: "c"}
		c.merge(json.RawMessage(call))
		got := (naming{}).calls(c)[0]
		if want == "" && got.Shell != nil || want != "" && !slices.Contains(got.Shell, want) {
			t.Errorf("%s may be %q, want %q", call, got.Shell, want)
		}
	}
}

// A call that its program has refused to make is no call.
func TestRejectedByTheProgram(t *testing.T) {
	for call, want := range map[string]bool{
		`{"status":"failed","rawOutput":{"message":"The user rejected this tool call.","code":"rejected"}}`:                                            true,
		`{"status":"failed","content":[{"type":"content","content":{"type":"text","text":"Permission to use Bash with command x has been denied."}}]}`: true,
		`{"status":"failed","content":[{"type":"content","content":{"type":"text","text":"Exit code 1\nPermission to use x has been denied."}}]}`:      false,
		`{"status":"completed","rawOutput":{"code":"rejected"}}`:                                                                                       false,
		`{"status":"failed","rawOutput":{"code":1}}`:                                                                                                   false,
	} {
		c := &toolCall{ID: "c"}
		c.merge(json.RawMessage(call))
		if got := c.result().Rejected; got != want {
			t.Errorf("%s: rejected %t", call, got)
		}
	}
}
