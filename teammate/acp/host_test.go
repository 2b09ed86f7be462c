package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// host is a Host that remembers, and checks what a member's transcript demands.
type host struct {
	tb     testing.TB
	said   []string // the transcript, one entry a block
	open   []string
	usage  agent.Usage
	mail   [][]agent.Input // what each Mail gives
	passes int
	refuse error // of Pass
	fail   error // of Record

	permit func(ctx context.Context, call agent.ToolCall) agent.Permission
	report func(call agent.ToolCall, r agent.ToolResult) agent.Remarks

	asked    []agent.ToolCall
	seen     []agent.ToolCall
	starts   []events.ProgramStarts
	events   []events.Data    // all others
	observed chan events.Data // nil, or gets what is appended to events
}

func (h *host) Pass(ctx context.Context) ([]agent.Input, error) {
	h.passes++
	return nil, h.refuse
}

func (h *host) Call(context.Context, agent.ToolCall) agent.ToolResult {
	h.tb.Error("an ACP agent called a tool of the host")
	return agent.ToolResult{}
}

func (h *host) Mail(context.Context) []agent.Input {
	if len(h.mail) == 0 {
		return nil
	}
	mail := h.mail[0]
	h.mail = h.mail[1:]
	return mail
}

func (h *host) Observe(d events.Data) {
	if start, ok := d.(events.ProgramStarts); ok {
		h.starts = append(h.starts, start)
		return
	}
	h.events = append(h.events, d)
	if h.observed != nil {
		h.observed <- d
	}
}

func (h *host) Permit(ctx context.Context, call agent.ToolCall) agent.Permission {
	h.asked = append(h.asked, call)
	if h.permit == nil {
		return agent.Permission{Allow: true}
	}
	return h.permit(ctx, call)
}

func (h *host) Report(_ context.Context, call agent.ToolCall, r agent.ToolResult) agent.Remarks {
	h.seen = append(h.seen, call)
	if h.report == nil {
		return agent.Remarks{}
	}
	return h.report(call, r)
}

// Record holds messages against the rules of a transcript.
func (h *host) Record(m agent.Record) error {
	if h.fail != nil {
		return h.fail
	}
	results := 0
	for _, b := range m.Message.Content {
		switch b.Type {
		case agent.TextBlock:
			h.said = append(h.said, string(m.Message.Role)+": "+b.Text)
		case agent.ToolUseBlock:
			h.said = append(h.said, fmt.Sprintf("call %s: %s %s", b.ID, b.Name, b.Input))
			if !json.Valid(b.Input) {
				h.tb.Errorf("input of %s is no JSON: %s", b.ID, b.Input)
			}
		case agent.ToolResultBlock:
			results++
			i := slices.Index(h.open, b.ToolUseID)
			if i < 0 {
				return fmt.Errorf("result of %s, which waits for none", b.ToolUseID)
			}
			h.open = slices.Delete(h.open, i, i+1)
			h.said = append(h.said, fmt.Sprintf("result %s (error %t): %s", b.ToolUseID, b.IsError,
				program.Shorten(b.Content, 200)))
		}
	}
	if len(h.open) > 0 && results == 0 {
		return fmt.Errorf("message while %v wait for results: %+v", h.open, m.Message)
	}
	for _, c := range m.Message.ToolCalls() {
		h.open = append(h.open, c.ID)
	}
	h.usage = h.usage.Plus(m.Usage)
	return nil
}

// wants checks the transcript, but for the prompt.
func (h *host) wants(lines ...string) {
	h.tb.Helper()
	if len(h.open) > 0 {
		h.tb.Errorf("calls without a result: %v", h.open)
	}
	got := slices.DeleteFunc(slices.Clone(h.said), func(line string) bool { return line == "user: go" })
	if !slices.Equal(got, lines) {
		h.tb.Errorf("transcript:\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(lines, "\n     "))
	}
}

// rig is an agent on a fake program.
type rig struct {
	*Agent
	host *host
	dir  string
	opts Options
}

// newRig makes an agent whose program lives these lives.
func newRig(tb testing.TB, lives ...life) *rig {
	tb.Helper()
	r := &rig{dir: tb.TempDir(), host: &host{tb: tb}}
	script, err := json.Marshal(play{Lives: lives})
	if err != nil {
		tb.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	r.opts = Options{
		Options: program.Options{
			Command: []string{exe}, Dir: r.dir, Backoff: time.Millisecond,
			Env: []string{"ACP_FAKE=" + string(script), "ACP_FAKE_DIR=" + r.dir, "GORACE=atexit_sleep_ms=0"},
		},
		Timeouts: Timeouts{Start: 5 * time.Minute, Cancel: 5 * time.Minute, Grace: 2 * time.Second},
	}
	return r
}

// start makes the agent of r.opts.
func (r *rig) start(tb testing.TB) {
	tb.Helper()
	a, err := New(r.opts)
	if err != nil {
		tb.Fatal(err)
	}
	r.Agent = a
	tb.Cleanup(func() { a.Close() })
}

// turn runs one prompt.
func (r *rig) turn(tb testing.TB) (agent.Reply, error) {
	tb.Helper()
	if r.Agent == nil {
		r.start(tb)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return r.Run(ctx, goPrompt(), r.host)
}

func goPrompt() []agent.Input { return []agent.Input{{Kind: agent.FromPerson, Text: "go"}} }

// mustTurn is turn for prompts that end well.
func (r *rig) mustTurn(tb testing.TB) agent.Reply {
	tb.Helper()
	reply, err := r.turn(tb)
	if err != nil {
		tb.Fatal(err)
	}
	return reply
}

// log is what the program was sent, one line a message.
func (r *rig) log(tb testing.TB) []string {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "log"))
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// methods are the methods of log; answers have none.
func (r *rig) methods(tb testing.TB) []string {
	tb.Helper()
	var all []string
	for _, line := range r.log(tb) {
		if m, ok := decode([]byte(line)); ok && m.Method != "" {
			all = append(all, m.Method)
		}
	}
	return all
}

// one is the only line of log that holds every one of parts.
func (r *rig) one(tb testing.TB, parts ...string) string {
	tb.Helper()
	var found []string
	for _, line := range r.log(tb) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			found = append(found, line)
		}
	}
	if len(found) != 1 {
		tb.Fatalf("%d lines hold %q:\n%s", len(found), parts, strings.Join(r.log(tb), "\n"))
	}
	return found[0]
}

// logNow is log while the program runs; nothing if there is none yet.
func (r *rig) logNow() []string {
	data, err := os.ReadFile(filepath.Join(r.dir, "log"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}
