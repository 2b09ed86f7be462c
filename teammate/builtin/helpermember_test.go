//go:build unix

package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin"
	"github.com/coveyteam/covey/teammate/builtin/tools"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/script"
	"github.com/coveyteam/covey/teammate/transcript"
	"github.com/coveyteam/covey/teammate/workspace"
)

// hookRunner is the part of runner.Runner that a member uses.
type hookRunner interface {
	Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error)
}

// member is a complete member with a script: the builtin agent with its tools, the
// hooks of runner, and a transcript on disk. It is its own inbox.
type member struct {
	dir    string
	path   string // of the transcript
	script *script.Script
	runner hookRunner
	extra  []agent.Tool
	types  []builtin.HelperType
	may    func(string) bool
	cut    func(*teammate.Options) // changes options before each life
	mate   *teammate.Teammate
	passes int // 0: the default

	mu     sync.Mutex
	work   []teammate.Work
	more   chan struct{}
	seen   map[string][]string // by conversation: what its model was shown
	inputs []string            // hooks that ran, each with its input
	events []events.Event
	watch  func(events.Event)
	told   map[string]bool
}

// newMember returns a lead that plays the script in text.
func newMember(t *testing.T, text []byte) *member {
	t.Helper()
	played, err := script.Parse("test.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	noHooks, err := runner.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &member{
		dir: dir, path: filepath.Join(dir, "state", "lead", "s1.jsonl"), script: played, runner: noHooks,
		more: make(chan struct{}, 100), seen: map[string][]string{}, told: map[string]bool{},
	}
}

// run gives the member a prompt and waits until nothing is left to do.
func (m *member) run(t *testing.T, prompt string) {
	t.Helper()
	if err := m.live(t, t.Context(), prompt); err != nil {
		t.Fatal(err)
	}
}

// live runs the member once. An empty prompt means no prompt.
func (m *member) live(t *testing.T, ctx context.Context, prompt string) error {
	t.Helper()
	if prompt != "" {
		m.work = append(m.work, teammate.Work{Cause: events.ByGoal, Inputs: []agent.Input{
			{Kind: agent.FromPerson, Text: prompt},
		}})
	}
	file, history, err := transcript.Open(m.path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	workdir := workspace.NewWorkdir(m.dir)
	tools := tools.New(tools.Env{
		Workdir: workdir, Environ: []string{"PATH=/usr/bin:/bin"}, OutputDir: filepath.Join(m.dir, "state", "out"),
	})
	defer tools.Close()
	list := append(tools.List(), builtin.NewAgentTool(tools, builtin.Helpers{
		Types: func() []builtin.HelperType { return m.types }, Model: m.helperModel, May: m.may, MaxPasses: m.passes,
	}))
	list = append(list, builtin.ForHelpers(mailer{}, list[len(list)-1]))
	list = append(list, m.extra...)
	specs := make([]agent.Spec, len(list))
	for i, tool := range list {
		specs[i] = tool.Spec()
	}
	agent, err := builtin.New(builtin.Options{
		Model: &shown{m, "a", m.script.Model(&script.Options{Served: history.Steps})}, Tools: specs,
		History: history.Messages,
	})
	if err != nil {
		t.Fatal(err)
	}
	opts := teammate.Options{
		Name: "lead", Team: "crew", Lead: true, Kind: "test", Agent: agent, Tools: list, Hooks: m, Inbox: m,
		Sink: m.sink, SessionID: "s1", Transcript: file, History: &history, Workdir: workdir,
		Resumed: history.Turns > 0, Rights: permission.NewRights(permission.Policy{Mode: "bypassPermissions"}, nil),
		Limits: teammate.Limits{StopBlockCap: 8}, PostNotice: m.later,
	}
	if m.cut != nil {
		m.cut(&opts)
	}
	m.mate, err = teammate.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return m.mate.Run(ctx)
}

// helperModel returns the script for helpers with the prompt.
func (m *member) helperModel(h builtin.HelperModel) (agent.Model, error) {
	own, ok := m.script.Helper(h.Prompt)
	if !ok {
		return nil, fmt.Errorf("no script for %q", h.Prompt)
	}
	return &shown{m, "sub", own.Model(&script.Options{IDPrefix: h.ID + "_", Served: h.Served})}, nil
}

// shown is a model that records its requests.
type shown struct {
	m    *member
	name string
	agent.Model
}

func (s *shown) Generate(ctx context.Context, r agent.Request) (agent.Response, error) {
	from := r.New
	for from > 0 && r.Messages[from-1].Role == agent.Assistant {
		from--
	}
	var texts []string
	for _, message := range r.Messages[from:] {
		for _, b := range message.Content {
			texts = append(texts, string(message.Role)+": "+hooks.Unframed(blockText(b))) // recordings have no frame
		}
	}
	s.m.mu.Lock()
	s.m.seen[s.name] = append(s.m.seen[s.name], texts...)
	s.m.mu.Unlock()
	return s.Model.Generate(ctx, r)
}

// blockText returns a block in the form of the recordings.
func blockText(b agent.Block) string {
	switch b.Type {
	case agent.ToolUseBlock:
		return "[tool_use " + b.Name + "] " + string(b.Input)
	case agent.ToolResultBlock:
		return "[tool_result] " + b.Content
	}
	return b.Text
}

// conversations returns the conversations of all models. It omits results of background
// helpers, like the recordings.
func (m *member) conversations() map[string][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := maps.Clone(m.seen)
	for name, texts := range seen {
		seen[name] = slices.Clone(texts)
		if i := slices.IndexFunc(texts, func(s string) bool {
			return strings.Contains(s,
				"<task-notification>")
		}); i >= 0 {
			seen[name] = seen[name][:i-1] // the answer before it goes with it
		}
	}
	return seen
}

// Run records the hooks and their inputs.
func (m *member) Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error) {
	wire, err := in.Wire()
	if err != nil {
		return hooks.Outcome{}, err
	}
	return m.runner.Run(ctx, in, func(p hooks.Progress) {
		if p.Result == nil {
			m.mu.Lock()
			m.inputs = append(m.inputs, p.Command+"\x00"+string(wire))
			m.mu.Unlock()
		}
		observe(p)
	})
}

// fired returns the hooks that ran, in the form of wanted.
func (m *member) fired() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, entry := range m.inputs {
		command, wire, _ := strings.Cut(entry, "\x00")
		handler := strings.TrimPrefix(command, "REC ")
		handler = strings.Trim(handler[:strings.LastIndex(handler, " '{")], "'")
		var in map[string]any
		if json.Unmarshal([]byte(wire), &in) != nil {
			in = map[string]any{"broken": wire}
		}
		for _, field := range []string{"transcript_path", "prompt_id", "session_crons"} {
			delete(in, field)
		}
		all = append(all, m.line(handler, in))
	}
	return all
}

// line returns a hook run without what differs between two runs.
func (m *member) line(handler string, in map[string]any) string {
	for field, as := range map[string]string{"agent_transcript_path": "<FILE>", "tool_use_id": "<TOOLUSE-1>"} {
		if in[field] != nil {
			in[field] = as
		}
	}
	if in["session_id"] == "s1" {
		in["session_id"] = "<UUID-1>"
	}
	if in["cwd"] == m.dir {
		in["cwd"] = "<CWD>"
	}
	if prompt, ok := in["prompt"].(string); ok {
		in["prompt"] = notice(prompt)
	}
	text, err := json.Marshal(in)
	if err != nil {
		return err.Error()
	}
	return handler + " " + normal(string(text))
}

func (m *member) sink(e events.Event) {
	m.mu.Lock()
	m.events = append(m.events, e)
	watch := m.watch
	m.mu.Unlock()
	if _, ok := e.Data.(events.HelperEnded); ok {
		m.more <- struct{}{}
	}
	if watch != nil {
		watch(e)
	}
}

// Next returns the member's next work, and waits for background helpers.
func (m *member) Next(ctx context.Context) (teammate.Work, error) {
	for {
		m.mu.Lock()
		if len(m.work) > 0 {
			w := m.work[0]
			m.work = m.work[1:]
			m.mu.Unlock()
			return w, nil
		}
		m.mu.Unlock()
		if m.mate.Helpers() == 0 {
			return teammate.Work{}, io.EOF
		}
		select {
		case <-m.more:
		case <-ctx.Done():
			return teammate.Work{}, context.Cause(ctx)
		}
	}
}

func (m *member) Waiting(context.Context) ([]agent.Input, error) { return nil, nil }

func (m *member) Taken(context.Context, []string) error { return nil }

// later is the mailbox for the results of helpers.
func (m *member) later(_ context.Context, id, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.told[id] {
		m.told[id] = true
		m.work = append(m.work, teammate.Work{Cause: events.ByMessage, Inputs: []agent.Input{
			{Kind: agent.FromHelper, Text: text},
		}})
	}
	return nil
}

// all returns the events of one type, of the member and its helpers.
func all[T events.Data](m *member) []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []T
	for _, e := range m.events {
		if data, ok := e.Data.(T); ok {
			found = append(found, data)
		}
	}
	return found
}

// fooType returns a kind of helper that a workspace describes.
func fooType() builtin.HelperType {
	return builtin.HelperType{Name: "foo", Description: "does foo", Prompt: "be foo", Tools: []string{"Bash"}}
}
