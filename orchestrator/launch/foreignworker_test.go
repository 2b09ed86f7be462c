package launch_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/teamtools"
)

// workerVariable makes the test binary an agent program that does whatever
// tasks its prompts name, and has the faults that its folder, which the variable
// names, tells of: fault.json. It leaves a log there.
const workerVariable = "TEST_ACP_WORKER"

// fault is what goes wrong with a worker.
type fault struct {
	At    string `json:"at,omitempty"`    // a point of the protocol: see worker.at
	Kind  string `json:"kind,omitempty"`  // what happens there: see worker.fail
	First int    `json:"first,omitempty"` // the first of its lives that it befalls
	Lives int    `json:"lives,omitempty"` // so many; 0: none
	Deaf  bool   `json:"deaf,omitempty"`  // TERM and the end of its input do nothing
	Calls string `json:"calls,omitempty"` // the tools called before a task is completed, from "new send"
	Quiet bool   `json:"quiet,omitempty"` // it asks for nothing and logs little
	Also  *fault `json:"also,omitempty"`  // another one; only when and what it is counts
}

// worker is such a program. Unlike fakeProgram it keeps one connection to the
// team's tools, and speaks MCP by hand, so that many of them are small.
type worker struct {
	dir     string
	fault   fault
	life    int
	lines   chan rpc
	session string
	member  string
	tools   mcpByHand
	calls   int
	twice   bool            // the next answer is sent twice
	astray  bool            // the next answer has a wrong id, and there is no other
	stuck   atomic.Bool     // it hangs for good
	failed  map[string]bool // points at which a fault has come up in this life
}

// workerAgent is a worker's main.
func workerAgent(dir string) int {
	w := &worker{dir: dir, lines: make(chan rpc, 100), member: os.Getenv("COVEY_MEMBER"), session: "s", failed: map[string]bool{}}
	data, err := os.ReadFile(filepath.Join(dir, "fault.json"))
	if err != nil || json.Unmarshal(data, &w.fault) != nil {
		fmt.Fprintln(os.Stderr, "no fault.json:", err)
		return 2
	}
	if w.fault.Deaf {
		signal.Ignore(syscall.SIGTERM)
	}
	time.AfterFunc(5*time.Minute, func() { os.Exit(1) }) // a test that failed may have left it
	w.life = w.log("start %d", os.Getpid())
	if _, yes := w.befalls("close"); yes {
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		go func() {
			<-told
			w.at("close")
			os.Exit(0)
		}()
	}
	w.at("start")
	go w.read()
	for m := range w.lines {
		w.serve(m)
	}
	return 0
}

// read takes in lines; cancels are served at once, for the rest may wait.
func (w *worker) read() {
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if w.fault.Deaf {
				testkit.Hang()
			}
			os.Exit(0)
		}
		var m rpc
		if json.Unmarshal(line, &m) == nil {
			w.lines <- m
		}
	}
}

func (w *worker) serve(m rpc) {
	var p struct {
		SessionID string `json:"sessionId"`
		Servers   []struct {
			URL     string
			Headers []struct{ Name, Value string }
		} `json:"mcpServers"`
		Prompt []struct{ Text string }
	}
	_ = json.Unmarshal(m.Params, &p)
	if len(p.Servers) > 0 {
		w.tools = mcpByHand{url: p.Servers[0].URL, bearer: p.Servers[0].Headers[0].Value}
	}
	switch m.Method {
	case "initialize":
		w.at("initialize")
		w.answer(m, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
		w.at("initialized")
	case "session/new":
		w.at("session/new")
		w.session = fmt.Sprintf("s-%d", os.Getpid())
		w.log("new %s", w.session)
		w.answer(m, `{"sessionId":"`+w.session+`"}`)
		w.at("in session")
	case "session/load":
		w.session = p.SessionID
		w.at("load")
		w.log("load %s", w.session)
		w.answer(m, `{}`)
	case "session/prompt":
		var text string
		for _, b := range p.Prompt {
			text += b.Text + "\n"
		}
		w.work(m, text)
	case "session/cancel", "":
	default:
		w.answer(m, `{}`)
	}
}

// Tasks are named in assignments, in claims and in reminders, and found in the
// list where a prompt names none.
var (
	taskNamed  = regexp.MustCompile(`(?m)(?:You own task|you have claimed task|^-) #(\d+)`)
	taskListed = regexp.MustCompile(`(?m)^#(\d+) \[(pending|in_progress)\] .*\((.*)\)$`)
)

// work is one prompt: the first task that it names is done.
func (w *worker) work(m rpc, text string) {
	if !w.fault.Quiet {
		w.log("prompt %s", strings.ReplaceAll(text, "\n", " | "))
	}
	w.at("prompt")
	w.say("I look.")
	w.at("text")
	if w.waits(m, "cancel") {
		return
	}
	id := ""
	if found := taskNamed.FindStringSubmatch(text); found != nil {
		id = found[1]
	} else if strings.Contains(text, "cut off") || strings.Contains(text, "ended in the middle") {
		id = w.own()
	}
	if id != "" {
		w.do(id)
	} else if strings.Contains(text, teamtest.LookPrompt) {
		w.look("ls")
	}
	w.at("end")
	if w.waits(m, "late") {
		return
	}
	w.answer(m, `{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":10}}`)
	w.at("answered")
}

// own is the first open task of the member's own.
func (w *worker) own() string {
	list, err := w.use(teamtools.ListTool, "", "{}")
	if err != nil {
		return ""
	}
	for _, found := range taskListed.FindAllStringSubmatch(list, -1) {
		if found[3] == w.member {
			return found[1]
		}
	}
	return ""
}

// do does a task: it looks at something, for which it asks, makes what calls
// it is told to, and completes the task, as often as that is refused.
func (w *worker) do(id string) {
	if !w.fault.Quiet {
		w.look("echo " + id)
	}
	for call := range strings.FieldsSeq(w.fault.Calls) {
		var err error
		switch call {
		case "new":
			_, err = w.use(teamtools.CreateTool, "new-"+id, `{"subject":"after `+id+`","description":"made by `+w.member+`"}`)
		case "send":
			_, err = w.use(teamtools.SendTool, "send-"+id, `{"to":"ops","message":"`+id+` is done"}`)
		}
		if err != nil {
			w.say(err.Error())
			return
		}
	}
	for range 5 {
		text, err := w.use(teamtools.UpdateTool, "", `{"taskId":"`+id+`","status":"completed"}`)
		if err == nil && strings.Contains(text, "Updated task") || strings.Contains(text, "was so already") {
			return
		}
	}
	w.say("I could not complete it.")
}

// look is a tool call that the program asks for.
func (w *worker) look(command string) {
	w.calls++
	id := fmt.Sprintf("look-%d-%d", os.Getpid(), w.calls)
	w.send(`{"jsonrpc":"2.0","id":"q%d","method":"session/request_permission","params":{"sessionId":%s,"toolCall":{"toolCallId":%s,`+
		`"kind":"execute","rawInput":{"command":%s}},"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]}}`,
		w.calls, texts.Encode(w.session), texts.Encode(id), texts.Encode(command))
	w.at("permission")
	for n := range w.lines {
		if string(n.ID) == fmt.Sprintf(`"q%d"`, w.calls) {
			break
		}
	}
	w.at("permitted")
	w.update(`{"sessionUpdate":"tool_call","toolCallId":%s,"title":"run","kind":"execute","status":"in_progress","rawInput":{"command":%s}}`,
		texts.Encode(id), texts.Encode(command))
	w.at("tool")
	w.update(`{"sessionUpdate":"tool_call_update","toolCallId":%s,"status":"completed"}`, texts.Encode(id))
}

// use calls a team tool over MCP, and tells of it as programs do. A call with a
// name happens once, whatever becomes of the program that made it.
func (w *worker) use(tool, name, args string) (string, error) {
	w.calls++
	id := fmt.Sprintf("mcp-%d-%d", os.Getpid(), w.calls)
	w.update(`{"sessionUpdate":"tool_call","toolCallId":%s,"title":%s,"kind":"other","status":"in_progress","rawInput":%s}`,
		texts.Encode(id), texts.Encode(mcp.ToolName(tool)), args)
	w.tools.sent = nil
	if tool == teamtools.UpdateTool {
		w.tools.sent = func() { w.at("mcp sent") }
	}
	text, err := w.tools.call(tool, name, args)
	if w.stuck.Load() {
		testkit.Hang()
	}
	if tool == teamtools.UpdateTool {
		w.at("mcp done")
	}
	status := "completed"
	if err != nil {
		text, status = err.Error(), "failed"
	}
	w.update(`{"sessionUpdate":"tool_call_update","toolCallId":%s,"status":%s,"content":[{"type":"content","content":{"type":"text","text":%s}}]}`,
		texts.Encode(id), texts.Encode(status), texts.Encode(text))
	return text, err
}

// befalls gives the fault that comes up at a point, once in this life of the
// worker.
func (w *worker) befalls(point string) (kind string, yes bool) {
	for f := &w.fault; f != nil; f = f.Also {
		if f.At == point && !w.failed[point] && w.life >= f.First && w.life < f.First+f.Lives {
			return f.Kind, true
		}
	}
	return "", false
}

// waits lets a prompt wait until it is cancelled, if that is the worker's
// fault. Then comes the fault at the cancel, or an answer that is late.
func (w *worker) waits(m rpc, point string) bool {
	if _, yes := w.befalls(point); !yes {
		return false
	}
	for n := range w.lines {
		if n.Method == "session/cancel" {
			break
		}
	}
	w.at(point)
	w.answer(m, `{"stopReason":"cancelled"}`)
	return true
}

// at is a point of the protocol, where the worker's fault may come up.
func (w *worker) at(point string) {
	if kind, yes := w.befalls(point); yes {
		w.failed[point] = true
		w.log("fault %s %s", point, kind)
		w.fail(kind)
	}
}

// hang is for ever. What runs beside the caller hangs as well, where it would
// do something next.
func (w *worker) hang() {
	w.stuck.Store(true)
	testkit.Hang()
}

// fail is the fault itself. It returns if the worker goes on after it.
func (w *worker) fail(kind string) {
	switch kind {
	case "exit 0":
		os.Exit(0)
	case "exit 1":
		fmt.Fprintln(os.Stderr, "failing as told")
		os.Exit(1)
	case "killed":
		killSelf()
	case "hang":
		w.hang()
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		w.fault.Deaf = true
		w.hang()
	case "silent": // no more output, though it lives
		os.Stdout.Close()
		w.hang()
	case "half a line":
		_, _ = os.Stdout.WriteString(`{"jsonrpc":"2.0","method":"session/upda`)
		w.hang()
	case "half and gone":
		_, _ = os.Stdout.WriteString(`{"jsonrpc":"2.0","id":3,"result":{"stopRea`)
		os.Exit(0)
	case "garbage":
		for _, line := range garbage {
			w.send("%s", line)
		}
	case "long line": // 20 MB in one
		w.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}`, strings.Repeat("long ", 4<<20))
	case "twice":
		w.twice = true
	case "wrong id":
		w.astray = true
	case "late":
		time.Sleep(20 * time.Millisecond) // the answer shall come behind its time
	default:
		panic("no fault is called " + kind)
	}
}

// garbage is what a program may print, by mistake or of a later protocol.
var garbage = []string{
	"", "npm WARN deprecated", "{", "}{", "[]", "7", "null", "\xff\xfe\x00", `{"jsonrpc":"2.0"}`, `{"id":99,"result":{}}`,
	`{"id":{"a":1},"error":"boo"}`, `{"id":null,"result":null}`, `{"method":"session/update"}`, `{"method":"session/update","params":7}`,
	`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"from_the_future","x":[null]}}}`,
	`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"never","status":"completed"}}}`,
	`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"agent_message_chunk"}}}`,
	`{"jsonrpc":"2.0","id":"f1","method":"fs/read_text_file","params":{}}`, `{"jsonrpc":"2.0","method":"vendor/news","params":[]}`,
}

func (w *worker) say(text string) {
	w.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}`, texts.Encode(text))
}

func (w *worker) update(format string, args ...any) {
	w.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%s,"update":%s}}`,
		texts.Encode(w.session), fmt.Sprintf(format, args...))
}

func (w *worker) answer(m rpc, result string) {
	if w.astray {
		w.astray = false
		w.send(`{"jsonrpc":"2.0","id":"astray","result":%s}`, result)
		return
	}
	w.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	if w.twice {
		w.twice = false
		w.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		w.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"login"}}`, m.ID)
	}
}

func (w *worker) send(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stdout, format+"\n", args...)
}

// log adds a line to the log of the folder, and returns how many lines like it
// there were before.
func (w *worker) log(format string, args ...any) int {
	path := filepath.Join(w.dir, "log")
	before, _ := os.ReadFile(path)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprintf(file, format+"\n", args...)
	word, _, _ := strings.Cut(format, " ")
	return strings.Count("\n"+string(before), "\n"+word+" ")
}

// mcpByHand is a client of an MCP server over HTTP, with the least that one can
// do.
type mcpByHand struct {
	url, bearer string
	session     string
	calls       int
	sent        func() // called when a tool call is on its way; may be nil
	client      *http.Client
}

// toldConn is a connection that tells when a tool call has been written. Only
// here is it known: what http traces is not flushed yet.
type toldConn struct {
	net.Conn
	by *mcpByHand
}

func (c toldConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if c.by.sent != nil && bytes.Contains(p, []byte(`"tools/call"`)) {
		c.by.sent()
	}
	return n, err
}

// call calls a tool. name is what the request is called; empty: nothing.
func (c *mcpByHand) call(tool, name, args string) (string, error) {
	if c.session == "" {
		_, head, err := c.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
			`"capabilities":{},"clientInfo":{"name":"worker","version":"1"}}}`)
		if err != nil {
			return "", err
		}
		c.session = head.Get("Mcp-Session-Id")
		if _, _, err := c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
			return "", err
		}
	}
	c.calls++
	meta := ""
	if name != "" {
		meta = fmt.Sprintf(`,"_meta":{%q:%q}`, "covey/requestId", name)
	}
	body, _, err := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`,
		c.calls, tool, args, meta))
	if err != nil {
		return "", err
	}
	var answer struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
		Error json.RawMessage
	}
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Result.Content) == 0 {
		return "", fmt.Errorf("the team's tools answered %s", body)
	}
	if answer.Result.IsError {
		return "", errors.New(answer.Result.Content[0].Text)
	}
	return answer.Result.Content[0].Text, nil
}

// post sends one message and returns the answer's.
func (c *mcpByHand) post(message string) (body []byte, head http.Header, err error) {
	r, err := http.NewRequest("POST", c.url, strings.NewReader(message))
	if err != nil {
		return nil, nil, err
	}
	for name, value := range map[string]string{
		"Authorization": c.bearer, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Session-Id": c.session, "Mcp-Protocol-Version": "2025-06-18",
	} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if c.client == nil {
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return toldConn{conn, c}, err
		}
		c.client = &http.Client{Transport: &http.Transport{DialContext: dial}}
	}
	reply, err := c.client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer reply.Body.Close()
	body, err = io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s", reply.Status, body)
	}
	for line := range bytes.Lines(body) { // of an event stream
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			body = data
		}
	}
	return body, reply.Header, err
}

// setFault writes the fault of the workers of a folder.
func setFault(t *testing.T, dir string, f fault) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "fault.json"), texts.Encode(f), 0o600); err != nil {
		t.Fatal(err)
	}
}

// workersOf are the pids of all workers that have used a folder.
func workersOf(t *testing.T, dir string) []int {
	t.Helper()
	var pids []int
	for _, text := range toldFake(t, dir, "start") {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// noneRuns checks that none of some processes runs any more.
func noneRuns(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if p, err := process.Read(pid); err == nil && !p.Zombie {
			t.Errorf("process %d still runs", pid)
		}
	}
}
