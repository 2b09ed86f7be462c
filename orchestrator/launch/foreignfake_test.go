package launch_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/teamtools"
)

// fakeVariable makes the test binary an agent program that speaks ACP. It names
// a folder with the play (play.json) and what the fake leaves behind: log, with
// a line for each thing that it was told, state.json, the memory of its
// sessions, env, and what it was asked to write.
const fakeVariable = "TEST_ACP_FAKE"

// play is what the fake does: of its scenes, the first one that was not played
// yet and whose When is in the prompt.
type play struct {
	Init   string `json:"init,omitempty"` // result of initialize; empty: it can load
	Scenes []act  `json:"scenes"`
}

// act is one prompt's worth of doings, in words that fakeProgram.do knows.
type act struct {
	When string   `json:"when"`
	Do   []string `json:"do"`
}

// fakeProgram is an agent program that does what its play says.
type fakeProgram struct {
	dir     string
	play    play
	lines   chan rpc
	session string
	server  struct {
		URL     string `json:"url"`
		Headers []struct{ Name, Value string }
	}
	played []int // scenes of the session; kept on disk
	asked  int
}

// rpc is a message in either direction.
type rpc struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// fakeAgent is the fake's main.
func fakeAgent(dir string) int {
	f := &fakeProgram{dir: dir, lines: make(chan rpc, 100)}
	data, err := os.ReadFile(filepath.Join(dir, "play.json"))
	if err != nil || json.Unmarshal(data, &f.play) != nil {
		fmt.Fprintln(os.Stderr, "no play:", err)
		return 2
	}
	f.log("start %d", os.Getpid())
	_ = os.WriteFile(filepath.Join(dir, "env"), []byte(strings.Join(os.Environ(), "\n")), 0o600)
	go func() {
		in := bufio.NewReader(os.Stdin)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				os.Exit(0)
			}
			var m rpc
			if json.Unmarshal(line, &m) == nil {
				f.lines <- m
			}
		}
	}()
	for m := range f.lines {
		f.serve(m)
	}
	return 0
}

// commandFakeVariable makes the test binary an agent program that is run once
// for each prompt: it completes task 1, and mends what it is told to. It fails once if
// there is a file "fails" in its folder.
const commandFakeVariable = "TEST_COMMAND_FAKE"

// fakeCommand is its main.
func fakeCommand(dir string) int {
	f := &fakeProgram{dir: dir}
	f.log("start %d", os.Getpid())
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 1
	}
	f.log("prompt %s", strings.ReplaceAll(string(prompt), "\n", " | "))
	if strings.Contains(string(prompt), "mend it") {
		fmt.Println("Mended.")
		if os.WriteFile("mended", nil, 0o600) != nil {
			return 1
		}
		return 0
	}
	if os.Remove(filepath.Join(dir, "fails")) == nil {
		fmt.Fprintln(os.Stderr, "the connection was reset")
		return 7
	}
	f.server.URL = os.Getenv("COVEY_MCP_URL")
	f.server.Headers = []struct{ Name, Value string }{{"Authorization", "Bearer " + os.Getenv("COVEY_MCP_TOKEN")}}
	answer, err := f.use(teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`)
	fmt.Println(answer, err)
	return 0
}

func (f *fakeProgram) serve(m rpc) {
	var p struct {
		SessionID string            `json:"sessionId"`
		Servers   []json.RawMessage `json:"mcpServers"`
		Prompt    []struct{ Text string }
	}
	_ = json.Unmarshal(m.Params, &p)
	if len(p.Servers) > 0 {
		_ = json.Unmarshal(p.Servers[0], &f.server)
		f.log("url %s", f.server.URL)
		f.log("token %s", f.token())
	}
	switch m.Method {
	case "initialize":
		init := f.play.Init
		if init == "" {
			init = `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`
		}
		f.answer(m, init)
	case "session/new":
		f.session, f.played = fmt.Sprintf("s-%d", os.Getpid()), nil
		f.remember()
		f.log("new %s", f.session)
		f.answer(m, `{"sessionId":"`+f.session+`"}`)
	case "session/load":
		f.log("load %s", p.SessionID)
		if !f.recall(p.SessionID) {
			f.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"session not found"}}`, m.ID)
			return
		}
		f.answer(m, `{}`)
	case "session/prompt":
		var texts []string
		for _, b := range p.Prompt {
			texts = append(texts, b.Text)
		}
		f.prompt(m, strings.Join(texts, "\n"))
	case "session/cancel", "":
	default:
		f.answer(m, `{}`)
	}
}

// prompt plays a scene.
func (f *fakeProgram) prompt(m rpc, text string) {
	f.log("prompt %s", strings.ReplaceAll(text, "\n", " | "))
	i := slices.IndexFunc(f.play.Scenes, func(s act) bool { return strings.Contains(text, s.When) })
	for i >= 0 && slices.Contains(f.played, i) {
		next := slices.IndexFunc(f.play.Scenes[i+1:], func(s act) bool { return strings.Contains(text, s.When) })
		if i += 1 + next; next < 0 {
			i = -1
		}
	}
	if i < 0 {
		f.say("I have nothing to do.")
	} else {
		f.played = append(f.played, i)
		f.remember()
		for n, words := range f.play.Scenes[i].Do {
			if done := f.do(m, fmt.Sprintf("c%d-%d-%d", os.Getpid(), i, n), words); done {
				return
			}
		}
	}
	f.answer(m, `{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":10}}`)
}

// do does one thing; done says that the prompt is answered.
func (f *fakeProgram) do(m rpc, id, words string) (done bool) {
	verb, rest, _ := strings.Cut(words, " ")
	one, two, _ := strings.Cut(rest, " ")
	switch verb {
	case "say":
		f.say(rest)
	case "askmcp", "mcp": // TOOL ARGUMENTS; may ask first
		if verb == "askmcp" && !f.askFor(id, "mcp__covey__"+one, two) {
			f.result(id, "denied", false)
			return false
		}
		f.call(id, "mcp__covey__"+one, two, "other")
		text, err := f.use(one, two)
		f.result(id, text, err == nil)
	case "unknown": // TOOL, which the program does not have
		f.call(id, one, "{}", "other")
		f.result(id, "Tool "+one+" not found.", false)
	case "run": // COMMAND, if it may
		f.call(id, "run", string(texts.Encode(map[string]string{"command": rest})), "execute")
		if !f.ask(id, rest) {
			f.say("I was not allowed to run " + rest + ".")
			f.result(id, "denied", false)
			return false
		}
		out, err := exec.Command("sh", "-c", rest).CombinedOutput()
		f.result(id, string(out), err == nil)
	case "askread": // FILE, if it may
		if !f.askOf(id, "read", "", string(texts.Encode(map[string]string{"file_path": rest}))) {
			f.result(id, "denied", false)
			return false
		}
		text, err := os.ReadFile(rest)
		f.result(id, string(text), err == nil)
	case "askedit": // FILE TEXT, if it may
		input := string(texts.Encode(map[string]string{"file_path": one, "content": two}))
		if !f.askOf(id, "edit", "", input) {
			f.result(id, "denied", false)
			return false
		}
		f.call(id, "edit", input, "edit")
		f.result(id, "written", os.WriteFile(one, []byte(two), 0o600) == nil)
	case "edit": // FILE TEXT, without asking
		f.call(id, "edit", string(texts.Encode(map[string]string{"file_path": one, "content": two})), "edit")
		f.result(id, "written", os.WriteFile(one, []byte(two), 0o600) == nil)
	case "sneak": // COMMAND, without telling anybody
		out, err := exec.Command("sh", "-c", rest).CombinedOutput()
		f.log("sneaked %v %s", err == nil, out)
	case "list": // the team's tools
		f.log("listed %v", f.list())
	case "think":
		f.say(f.think(rest))
	case "cost": // so much since the session began, in US dollars
		f.update(`{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":%s,"currency":"USD"}}`, rest)
	case "die":
		killSelf()
	case "forget":
		_ = os.Remove(filepath.Join(f.dir, "state.json"))
	case "error": // code and message of the prompt's end
		f.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":%s}}`, m.ID, one, texts.Encode(two))
		return true
	case "steered": // works on until mail comes in the middle of the turn
		f.workUntilSteered(m, id)
	case "deaf": // from now on
		f.log("deaf %s", f.session)
		signal.Ignore(syscall.SIGTERM)
		testkit.Hang()
	case "stop": // as SIGSTOP does, until somebody has it continue
		f.log("stopped %d", os.Getpid())
		stopSelf()
	case "await": // FILE of the fake's folder; is heard of meanwhile
		for _, err := os.Stat(filepath.Join(f.dir, rest)); err != nil; _, err = os.Stat(filepath.Join(f.dir, rest)) {
			f.send(`{"jsonrpc":"2.0","method":"vendor/news","params":{}}`)
			time.Sleep(5 * time.Millisecond)
		}
	case "hang": // until it is told to stop
		f.log("hang")
		for n := range f.lines {
			if n.Method == "session/cancel" {
				break
			}
		}
		f.log("cancelled")
		f.answer(m, `{"stopReason":"cancelled"}`)
		return true
	default:
		panic("the fake does not know " + words)
	}
	return false
}

// workUntilSteered makes one call after another until it is handed mail.
func (f *fakeProgram) workUntilSteered(m rpc, id string) {
	for n := 0; ; n++ {
		f.do(m, fmt.Sprintf("%s-%d", id, n), "mcp team_task_list {}")
		select {
		case mail := <-f.lines:
			if mail.Method == "_session/steering" {
				f.log("steered %s", mail.Params)
				f.answer(mail, `{"outcome":"injected"}`)
				return
			}
			f.serve(mail)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// connect opens a connection to the team's MCP server.
func (f *fakeProgram) connect(ctx context.Context) (*mcp.ClientSession, error) {
	return mcp.NewClient(&mcp.Implementation{Name: "fake", Version: "1"}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{
			Endpoint: f.server.URL, HTTPClient: &http.Client{Transport: testkit.Bearer{Token: f.token(), Next: http.DefaultTransport}}, MaxRetries: -1,
		}, nil)
}

// list asks which team tools there are.
func (f *fakeProgram) list() error {
	session, err := f.connect(context.Background())
	if err != nil {
		return err
	}
	defer session.Close()
	_, err = session.ListTools(context.Background(), nil)
	return err
}

// use calls a team tool over MCP, with a connection of its own.
func (f *fakeProgram) use(tool, args string) (string, error) {
	ctx := context.Background()
	session, err := f.connect(ctx)
	if err != nil {
		return err.Error(), err
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		return err.Error(), err
	}
	text := ""
	for _, c := range result.Content {
		text += c.(*mcp.TextContent).Text
	}
	if result.IsError {
		err = errors.New(text)
	}
	return text, err
}

// token is the bearer token of the team's MCP server.
func (f *fakeProgram) token() string {
	for _, h := range f.server.Headers {
		if h.Name == "Authorization" {
			return strings.TrimPrefix(h.Value, "Bearer ")
		}
	}
	return ""
}

// think asks the model of its environment, over Anthropic's API.
func (f *fakeProgram) think(prompt string) string {
	body := texts.Encode(map[string]any{
		"model": "any", "max_tokens": 10, "messages": []any{map[string]string{"role": "user", "content": prompt}},
	})
	r, err := http.NewRequest("POST", os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("X-Api-Key", os.Getenv("ANTHROPIC_API_KEY"))
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer reply.Body.Close()
	data, _ := io.ReadAll(reply.Body)
	var answer struct{ Content []struct{ Text string } }
	if json.Unmarshal(data, &answer) != nil || len(answer.Content) == 0 {
		return "no answer: " + string(data)
	}
	return answer.Content[0].Text
}

// ask asks for permission to run a command.
func (f *fakeProgram) ask(id, command string) bool {
	return f.askFor(id, "", string(texts.Encode(map[string]string{"command": command})))
}

// askFor asks for permission to call a tool.
func (f *fakeProgram) askFor(id, title, input string) bool {
	kind := "execute"
	if title != "" {
		kind = "other"
	}
	return f.askOf(id, kind, title, input)
}

// askOf asks for permission to make a call of a kind.
func (f *fakeProgram) askOf(id, kind, title, input string) bool {
	f.asked++
	f.send(`{"jsonrpc":"2.0","id":"q%d","method":"session/request_permission","params":{"sessionId":%s,"toolCall":{"toolCallId":%s,"title":%s,`+
		`"kind":%s,"rawInput":%s},"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]}}`,
		f.asked, texts.Encode(f.session), texts.Encode(id), texts.Encode(title), texts.Encode(kind), input)
	for m := range f.lines {
		if string(m.ID) == fmt.Sprintf(`"q%d"`, f.asked) {
			return strings.Contains(string(m.Result), `"y"`)
		}
	}
	return false
}

func (f *fakeProgram) say(text string) {
	f.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}`, texts.Encode(text))
}

func (f *fakeProgram) call(id, title, input, kind string) {
	f.update(`{"sessionUpdate":"tool_call","toolCallId":%s,"title":%s,"kind":%s,"status":"in_progress","rawInput":%s}`,
		texts.Encode(id), texts.Encode(title), texts.Encode(kind), input)
}

func (f *fakeProgram) result(id, text string, ok bool) {
	status := "completed"
	if !ok {
		status = "failed"
	}
	f.log("result %s", strings.ReplaceAll(text, "\n", " | "))
	f.update(`{"sessionUpdate":"tool_call_update","toolCallId":%s,"status":%s,"content":[{"type":"content","content":{"type":"text","text":%s}}]}`,
		texts.Encode(id), texts.Encode(status), texts.Encode(text))
}

func (f *fakeProgram) update(format string, args ...any) {
	f.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%s,"update":%s}}`,
		texts.Encode(f.session), fmt.Sprintf(format, args...))
}

func (f *fakeProgram) answer(m rpc, result string) {
	f.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (f *fakeProgram) send(format string, args ...any) {
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

// log adds a line to the fake's log.
func (f *fakeProgram) log(format string, args ...any) {
	file, err := os.OpenFile(filepath.Join(f.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprintf(file, format+"\n", args...)
}

// remember keeps what a session was told, as agent programs do.
func (f *fakeProgram) remember() {
	state := texts.Encode(map[string][]int{f.session: f.played})
	if err := os.WriteFile(filepath.Join(f.dir, "state.json"), state, 0o600); err != nil {
		panic(err)
	}
}

// recall enters a session again, if the fake remembers it.
func (f *fakeProgram) recall(session string) bool {
	var state map[string][]int
	data, err := os.ReadFile(filepath.Join(f.dir, "state.json"))
	if err != nil || json.Unmarshal(data, &state) != nil {
		return false
	}
	played, ok := state[session]
	f.session, f.played = session, played
	return ok
}
