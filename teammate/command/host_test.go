//go:build unix

package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	passes int
	refuse error // of Pass
	fail   error // of Record

	report func(call agent.ToolCall, r agent.ToolResult) agent.Remarks
	seen   []string // calls reported
	plans  []events.Planned
	warned []string
	held   []string
	told   chan string // nil, or gets what is appended to held

	restarts []events.ProgramRestarts
	fresh    []events.FreshSession
}

func (h *host) Pass(context.Context) ([]agent.Input, error) {
	h.passes++
	return nil, h.refuse
}

func (h *host) Call(context.Context, agent.ToolCall) agent.ToolResult {
	h.tb.Error("a command agent called a tool of the host")
	return agent.ToolResult{}
}

func (h *host) Observe(d events.Data) {
	switch d := d.(type) {
	case events.Planned:
		h.plans = append(h.plans, d)
	case events.Warning:
		h.warned = append(h.warned, d.Text)
	case events.ProgramRestarts:
		h.restarts = append(h.restarts, d)
	case events.FreshSession:
		h.fresh = append(h.fresh, d)
	case events.HeldUp:
		h.held = append(h.held, d.For)
		if h.told != nil {
			h.told <- d.For
		}
	}
}

func (h *host) Permit(context.Context, agent.ToolCall) agent.Permission {
	h.tb.Error("a command agent asked for a permission")
	return agent.Permission{}
}

func (h *host) Report(_ context.Context, call agent.ToolCall, r agent.ToolResult) agent.Remarks {
	h.seen = append(h.seen, fmt.Sprintf("%s %s", call.Name, call.Input))
	if h.report == nil {
		return agent.Remarks{}
	}
	return h.report(call, r)
}

// itemID is the part of codex' call ids that is different each time.
var itemID = regexp.MustCompile(`codex_[A-Z0-9]+_`)

// Record holds messages against the rules of a transcript.
func (h *host) Record(m agent.Record) error {
	if h.fail != nil {
		return h.fail
	}
	results := 0
	for _, b := range m.Message.Content {
		id := itemID.ReplaceAllString(b.ID+b.ToolUseID, "")
		switch b.Type {
		case agent.TextBlock:
			h.said = append(h.said, string(m.Message.Role)+": "+b.Text)
		case agent.ToolUseBlock:
			h.said = append(h.said, fmt.Sprintf("call %s: %s %s", id, b.Name, b.Input))
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
			h.said = append(h.said, fmt.Sprintf("result %s (error %t): %s", id, b.IsError, program.Shorten(b.Content, 300)))
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
	script, err := json.Marshal(lives)
	if err != nil {
		tb.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	r.opts = Options{
		Options: program.Options{
			Command: []string{exe}, Dir: r.dir, Backoff: time.Millisecond, Env: []string{"COMMAND_FAKE=" + string(script),
				"COMMAND_FAKE_DIR=" + r.dir, "GORACE=atexit_sleep_ms=0"},
		},
	}
	return r
}

// turn runs one prompt.
func (r *rig) turn(tb testing.TB) (agent.Reply, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Minute)
	defer cancel()
	return r.start(tb).Run(ctx, goPrompt(), r.host)
}

// start makes the agent of r.opts, once.
func (r *rig) start(tb testing.TB) *Agent {
	tb.Helper()
	if r.Agent == nil {
		a, err := New(r.opts)
		if err != nil {
			tb.Fatal(err)
		}
		r.Agent = a
	}
	return r.Agent
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

// starts are what the program was started with, in order.
func (r *rig) starts(tb testing.TB) []started {
	tb.Helper()
	var all []started
	for n := 0; ; n++ {
		data, err := os.ReadFile(filepath.Join(r.dir, "start-"+strconv.Itoa(n)))
		if err != nil {
			return all
		}
		var s started
		if err := json.Unmarshal(data, &s); err != nil {
			tb.Fatalf("%s: %v", data, err)
		}
		all = append(all, s)
	}
}

// waitFile waits until the program has made a file.
func (r *rig) waitFile(tb testing.TB, name string) string {
	tb.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if data, err := os.ReadFile(filepath.Join(r.dir, name)); err == nil && (name != "child" || len(data) > 0) {
			return string(data)
		}
	}
	tb.Fatalf("no file %s", name)
	return ""
}

// testdata is the path of a file that the fake prints.
func testdata(tb testing.TB, name string) string {
	tb.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return path
}
