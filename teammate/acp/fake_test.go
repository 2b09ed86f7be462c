package acp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/program"
	"go.uber.org/goleak"
)

// TestMain lets the test binary play the agent program.
func TestMain(m *testing.M) {
	switch script := os.Getenv("ACP_FAKE"); script {
	case "":
	case "sdk":
		peerMain()
		os.Exit(0)
	default:
		(&fake{}).main(script)
		os.Exit(0)
	}
	testkit.Begin(0)
	goleak.VerifyTestMain(m)
}

// play is what the fake program does in its lives, one after another; the last
// one stays. Everything is in words that fake.do knows.
type play struct {
	Lives []life `json:"lives"`
}

// life is one process of the fake.
type life struct {
	Init    string     `json:"init"`   // result of initialize; empty: load and resume
	Before  []string   `json:"before"` // what it does before it reads anything
	On      mapped     `json:"on"`     // instead of answering a method: these words
	Prompts [][]string `json:"prompts"`
	Deaf    bool       `json:"deaf"` // TERM does nothing
}

type mapped = map[string][]string

// fake is an agent program that does what it is told.
type fake struct {
	life  life
	dir   string
	out   *bufio.Writer
	mu    sync.Mutex
	lines chan message
	log   *os.File
	turn  int
	late  []message // requests that came while another was served
	login string    // the method of the last authenticate
}

func (f *fake) main(script string) {
	var p play
	if err := json.Unmarshal([]byte(script), &p); err != nil {
		panic(err)
	}
	f.dir = os.Getenv("ACP_FAKE_DIR")
	no := f.count()
	f.life = p.Lives[min(no, len(p.Lives)-1)]
	if f.life.Deaf {
		signal.Ignore(syscall.SIGTERM)
	}
	f.out = bufio.NewWriterSize(os.Stdout, 1<<20)
	f.lines = make(chan message, 10_000)
	go f.read()
	for _, words := range f.life.Before {
		f.do(message{}, words)
	}
	for {
		m := f.next()
		if words, ok := f.life.On[m.Method]; ok {
			for _, w := range words {
				f.do(m, w)
			}
			continue
		}
		f.serve(m)
	}
}

// count is how often the program was started before, kept in a file.
func (f *fake) count() int {
	path := filepath.Join(f.dir, "starts")
	old, _ := os.ReadFile(path)
	n, _ := strconv.Atoi(string(old))
	if err := os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600); err != nil {
		panic(err)
	}
	log, err := os.OpenFile(filepath.Join(f.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	f.log = log
	return n
}

// read takes in lines and writes them to the log.
func (f *fake) read() {
	lines := newLineReader(os.Stdin, maxLine)
	for {
		line, _, err := lines.next()
		if err != nil {
			if f.life.Deaf {
				time.Sleep(time.Hour)
			}
			os.Exit(0)
		}
		if os.Getenv("ACP_FAKE_QUIET") == "" {
			fmt.Fprintf(f.log, "%s\n", line)
		}
		m, _ := decode(line)
		f.lines <- m
	}
}

func (f *fake) next() message {
	if len(f.late) > 0 {
		m := f.late[0]
		f.late = f.late[1:]
		return m
	}
	return <-f.lines
}

// wait reads until a message is what want says; requests that come meanwhile
// are served later.
func (f *fake) wait(want func(message) bool) message {
	for i, m := range f.late {
		if want(m) {
			f.late = slices.Delete(f.late, i, i+1)
			return m
		}
	}
	for {
		m := <-f.lines
		if want(m) {
			return m
		}
		if m.Method == "_session/steering" {
			f.answer(m, `{"outcome":"injected"}`)
			continue
		}
		f.late = append(f.late, m)
	}
}

func (f *fake) serve(m message) {
	switch m.Method {
	case "initialize":
		init := f.life.Init
		if init == "" {
			init = `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}`
		}
		f.answer(m, init)
	case "session/new":
		f.answer(m, `{"sessionId":"s-`+strconv.Itoa(os.Getpid())+`"}`)
	case "session/prompt":
		words := []string{"say done", "end end_turn"}
		if len(f.life.Prompts) > 0 {
			words = f.life.Prompts[min(f.turn, len(f.life.Prompts)-1)]
		}
		f.turn++
		for _, w := range words {
			f.do(m, w)
		}
	case "authenticate":
		f.login = texts.Text(program.Fields(m.Params)["methodId"])
		f.answer(m, `{}`)
	case "session/cancel", "":
	case "_session/steering":
		f.answer(m, `{"outcome":"promptRequired"}`)
	default:
		f.answer(m, `{}`)
	}
}

// do does one thing; m is the request that is being served.
func (f *fake) do(m message, words string) {
	verb, rest, _ := strings.Cut(words, " ")
	one, two, _ := strings.Cut(rest, " ")
	switch verb {
	case "say":
		f.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + strconv.Quote(rest) + `}}`)
	case "update":
		f.update(rest)
	case "burst":
		n, _ := strconv.Atoi(rest)
		for i := range n {
			f.update(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d,"}}`, i))
		}
	case "big": // a line of so many KiB
		n, _ := strconv.Atoi(one)
		f.update(`{"sessionUpdate":"tool_call_update","toolCallId":"` + two + `","status":"completed","title":"big","rawOutput":"` +
			strings.Repeat("x", n<<10) + `"}`)
	case "tool":
		f.update(`{"sessionUpdate":"tool_call","toolCallId":"` + one + `","title":"t","kind":"execute","status":"in_progress",` +
			`"rawInput":{"command":` + strconv.Quote(two) + `}}`)
	case "done":
		f.update(`{"sessionUpdate":"tool_call_update","toolCallId":"` + one + `","status":"completed",` +
			`"content":[{"type":"content","content":{"type":"text","text":` + strconv.Quote(two) + `}}]}`)
	case "ask": // ID COMMAND
		f.ask(`{"toolCallId":"` + one + `","kind":"execute","rawInput":{"command":` + strconv.Quote(two) + `}}`)
	case "askraw":
		f.ask(rest)
	case "raw":
		f.line(strings.ReplaceAll(rest, "$ID", string(m.ID)))
	case "half":
		f.mu.Lock()
		f.out.WriteString(rest)
		f.out.Flush()
		f.mu.Unlock()
	case "end":
		f.answer(m, `{"stopReason":"`+rest+`"}`)
	case "answer":
		f.answer(m, rest)
	case "error":
		f.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":` + rest + `}`)
	case "need": // METHOD: serves the request after this login
		if f.login != rest {
			f.do(m, `error {"code":-32000,"message":"log in first"}`)
			return
		}
		f.serve(m)
	case "stderr":
		fmt.Fprintln(os.Stderr, rest)
	case "cancelled":
		f.wait(func(m message) bool { return m.Method == "session/cancel" })
	case "steered": // waits for mail in mid-turn, and takes it
		mail := f.wait(func(m message) bool { return m.Method == "_session/steering" })
		if rest != "silently" {
			f.answer(mail, `{"outcome":"injected"}`)
		}
	case "await": // until the test lets it go on
		awaitFile(filepath.Join(f.dir, rest))
	case "sleep":
		d, _ := time.ParseDuration(rest)
		time.Sleep(d)
	case "die":
		fmt.Fprintln(os.Stderr, "dying as told")
		os.Exit(3)
	case "hang":
		testkit.Hang()
	case "close":
		os.Stdout.Close()
		testkit.Hang()
	default:
		panic("the fake does not know " + words)
	}
}

func (f *fake) update(update string) {
	f.line(`{"jsonrpc":"2.0","method":"session/update","params":{"update":` + update + `}}`)
}

// ask asks for permission and says what the answer was.
func (f *fake) ask(call string) {
	f.line(`{"jsonrpc":"2.0","id":"q1","method":"session/request_permission","params":{"toolCall":` + call +
		`,"options":[{"optionId":"yes-always","kind":"allow_always"},{"optionId":"yes","kind":"allow_once"},` +
		`{"optionId":"no","kind":"reject_once"}]}}`)
	m := f.wait(func(m message) bool { return string(m.ID) == `"q1"` })
	outcome := program.Fields(program.Fields(m.Result)["outcome"])
	f.do(m, "say ["+texts.Text(outcome["outcome"])+" "+texts.Text(outcome["optionId"])+"]")
}

func (f *fake) answer(m message, result string) {
	f.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
}

func (f *fake) line(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out.WriteString(line)
	f.out.WriteByte('\n')
	f.out.Flush()
}
