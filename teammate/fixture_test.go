package teammate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/transcript"
	"github.com/coveyteam/covey/teammate/workspace"
)

// fakeRunner is a HookRunner that answers by a function and remembers what it
// was asked.
type fakeRunner struct {
	answer func(ctx context.Context, in hooks.Input) (hooks.Outcome, error) // nil: all pass

	mu        sync.Mutex
	fired     []hooks.Input
	displayed []hooks.Input // of MessageDisplay
	ids       []string
}

func (r *fakeRunner) Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error) {
	r.mu.Lock()
	if in.Payload.Event() == hooks.MessageDisplay { // its place among the others is chance
		r.displayed = append(r.displayed, in)
		r.mu.Unlock()
		return hooks.Outcome{}, ctx.Err()
	}
	r.fired = append(r.fired, in)
	id := fmt.Sprintf("run-%d", len(r.fired))
	r.ids = append(r.ids, id)
	r.mu.Unlock()
	out := hooks.Outcome{}
	var err error
	if r.answer != nil {
		out, err = r.answer(ctx, in)
	}
	out.Event, out.ToolUseID, out.Matched = in.Payload.Event(), id, len(out.Results)
	if out.Decision == "" {
		out.Decision = hooks.Pass
	}
	if out.Messages == nil {
		out.Messages = slices.Concat(out.AdditionalContext, out.Feedback)
	}
	for i := range out.Results {
		observe(hooks.Progress{Event: out.Event, ToolUseID: id, Command: out.Results[i].Command})
	}
	for i := range out.Results {
		observe(hooks.Progress{Event: out.Event, ToolUseID: id, Command: out.Results[i].Command,
			Result: &out.Results[i]})
	}
	if err == nil {
		err = ctx.Err()
	}
	return out, err
}

// events are the names of what was fired, in order. Tasks show their ids.
func (r *fakeRunner) events() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, in := range r.fired {
		name := string(in.Payload.Event())
		if p, ok := in.Payload.(hooks.TaskCompletedInput); ok {
			name += " " + p.TaskID
		}
		all = append(all, name)
	}
	return all
}

// of are the inputs of one event.
func (r *fakeRunner) of(event hooks.Event) []hooks.Input {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []hooks.Input
	for _, in := range r.fired {
		if in.Payload.Event() == event {
			all = append(all, in)
		}
	}
	return all
}

// on makes an answer that lists, per event, what its runs come to one after
// another; the last one stays. Events that are not listed pass.
func on(table map[hooks.Event][]hooks.Outcome) func(context.Context, hooks.Input) (hooks.Outcome, error) {
	var mu sync.Mutex
	return func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		list := table[in.Payload.Event()]
		if len(list) == 0 {
			return hooks.Outcome{}, nil
		}
		if len(list) > 1 {
			table[in.Payload.Event()] = list[1:]
		}
		return list[0], nil
	}
}

func refuse(text string) hooks.Outcome {
	return hooks.Outcome{
		Decision: hooks.Block, Feedback: []string{text},
		Results: []hooks.Result{{Command: "./gate.sh", Outcome: hooks.Blocking, ExitCode: 2, Feedback: text}},
	}
}

func haltFor(reason string) hooks.Outcome {
	return hooks.Outcome{
		Decision: hooks.Halt, StopReason: reason,
		Results: []hooks.Result{{Command: "./halt.sh", Outcome: hooks.Success}},
	}
}

var pass = hooks.Outcome{}

// fakeInbox hands out its work, then says io.EOF.
type fakeInbox struct {
	mu      sync.Mutex
	work    []Work
	waiting []agent.Input
	taken   []string
	hold    bool  // wait for ctx instead of io.EOF
	rests   bool  // say ErrResting instead of io.EOF
	anew    bool  // return ErrContinued instead of io.EOF
	broken  error // what Waiting and Taken fail with
	idle    func()
	onTaken func()
}

func (b *fakeInbox) Next(ctx context.Context) (Work, error) {
	b.mu.Lock()
	if b.idle != nil {
		b.mu.Unlock()
		b.idle()
		b.mu.Lock()
	}
	if len(b.work) > 0 {
		w := b.work[0]
		b.work = b.work[1:]
		b.mu.Unlock()
		return w, nil
	}
	hold, rests, anew := b.hold, b.rests, b.anew
	b.mu.Unlock()
	if rests {
		return Work{}, ErrResting
	}
	if anew {
		return Work{}, ErrContinued
	}
	if !hold {
		return Work{}, io.EOF
	}
	<-ctx.Done()
	return Work{}, ctx.Err()
}

func (b *fakeInbox) Waiting(context.Context) ([]agent.Input, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.waiting), b.broken
}

func (b *fakeInbox) Taken(_ context.Context, ids []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		return b.broken
	}
	if b.onTaken != nil {
		b.onTaken()
	}
	b.taken = append(b.taken, ids...)
	b.waiting = slices.DeleteFunc(b.waiting, func(in agent.Input) bool { return slices.Contains(ids, in.MessageID) })
	return nil
}

// fakeTasks is a TaskLister.
type fakeTasks struct {
	mu   sync.Mutex
	list []tasks.Task
	err  error
}

func (f *fakeTasks) InProgress(context.Context, string) ([]tasks.Task, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list), f.err
}

// journal is a Sink that remembers.
type journal struct {
	mu     sync.Mutex
	events []events.Event
	watch  func(events.Event)
}

func (j *journal) sink(e events.Event) {
	j.mu.Lock()
	j.events = append(j.events, e)
	watch := j.watch
	j.mu.Unlock()
	if watch != nil {
		watch(e)
	}
}

// types are the types of all events, in order.
func (j *journal) types() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []string
	for _, e := range j.events {
		all = append(all, e.Data.Type())
	}
	return all
}

// all are the events of one type.
func all[T events.Data](j *journal) []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []T
	for _, e := range j.events {
		if d, ok := e.Data.(T); ok {
			found = append(found, d)
		}
	}
	return found
}

// one is the only event of its type.
func one[T events.Data](t *testing.T, j *journal) T {
	t.Helper()
	found := all[T](j)
	if len(found) != 1 {
		t.Fatalf("%d events of type %T: %+v", len(found), *new(T), found)
	}
	return found[0]
}

// say is one answer of the fake model.
type say struct {
	text  string
	calls []agent.ToolCall
	err   error
	do    func(ctx context.Context) // before the answer is given
	loop  bool                      // it is the answer to all that follows
}

func callTool(id, name, input string) agent.ToolCall {
	return agent.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

// scribe is an agent that does all an agent should: it records what it hears
// and says, and answers by a script. seen is what its model saw, in order, one
// entry a block.
type scribe struct {
	script []say
	seen   []string
	open   []agent.ToolCall
	given  []agent.Input
}

func (s *scribe) Run(ctx context.Context, prompt []agent.Input, h agent.Host) (agent.Reply, error) {
	if err := s.hear(prompt, h); err != nil {
		return agent.Reply{}, err
	}
	return s.work(ctx, h)
}

func (s *scribe) hear(inputs []agent.Input, h agent.Host) error {
	if len(inputs) == 0 {
		return nil
	}
	for _, in := range inputs {
		s.given = append(s.given, in)
		s.seen = append(s.seen, "user: "+hooks.Unframed(in.Text)) // recorded hosts had no frame yet
	}
	return h.Record(agent.Record{Message: agent.TextMessage(agent.User, agent.Texts(inputs)...), Inputs: inputs})
}

func (s *scribe) work(ctx context.Context, h agent.Host) (reply agent.Reply, err error) {
	for {
		mail, err := h.Pass(ctx)
		if err != nil {
			return reply, err
		}
		if err := s.hear(mail, h); err != nil {
			return reply, err
		}
		var answer say
		if len(s.script) > 0 {
			if answer = s.script[0]; !answer.loop {
				s.script = s.script[1:]
			}
		} else {
			answer.text = fmt.Sprintf("end %d", len(s.seen))
		}
		if answer.do != nil {
			answer.do(ctx)
		}
		if ctx.Err() != nil {
			return reply, ctx.Err()
		}
		if answer.err != nil {
			return reply, answer.err
		}
		if err := s.answer(ctx, answer, h, &reply); err != nil {
			return reply, err
		}
		if len(answer.calls) == 0 || reply.Halted != "" {
			return reply, nil
		}
	}
}

func (s *scribe) answer(ctx context.Context, a say, h agent.Host, reply *agent.Reply) error {
	m := agent.Message{Role: agent.Assistant}
	if a.text != "" {
		m = agent.TextMessage(agent.Assistant, a.text)
		s.seen = append(s.seen, "assistant: "+a.text)
	}
	for _, c := range a.calls {
		m.Content = append(m.Content, agent.Block{Type: agent.ToolUseBlock, ID: c.ID, Name: c.Name, Input: c.Input})
	}
	usage := agent.Usage{InputTokens: 10, OutputTokens: 1}
	if err := h.Record(agent.Record{Message: m, Usage: usage}); err != nil {
		return err
	}
	reply.Text, reply.Usage = m.Text(), reply.Usage.Plus(usage)
	results := agent.Message{Role: agent.User}
	var extra []agent.Input
	for _, c := range a.calls {
		r := h.Call(ctx, c)
		reply.ToolCalls++
		if reply.Halted == "" {
			reply.Halted = r.Halted
		}
		kind := "result: "
		if r.IsError {
			kind = "error: "
		}
		s.seen = append(s.seen, kind+r.Content)
		results.Content = append(results.Content,
			agent.Block{Type: agent.ToolResultBlock, ToolUseID: c.ID, Content: r.Content, IsError: r.IsError})
		for _, text := range r.Extra {
			s.seen = append(s.seen, "user: "+text)
			extra = append(extra, agent.Input{Kind: agent.FromContext, Text: text})
		}
	}
	for _, in := range extra {
		results.Content = append(results.Content, agent.Block{Type: agent.TextBlock, Text: in.Text})
	}
	if len(a.calls) == 0 {
		return nil
	}
	return h.Record(agent.Record{Message: results, Inputs: extra})
}

// Resume goes on as a real agent would: open calls get a result first.
func (s *scribe) Resume(ctx context.Context, h agent.Host) (agent.Reply, error) {
	if len(s.open) > 0 {
		m := agent.Message{Role: agent.User}
		for _, c := range s.open {
			m.Content = append(m.Content, agent.Block{Type: agent.ToolResultBlock, ToolUseID: c.ID,
				Content: "interrupted", IsError: true})
		}
		s.open = nil
		if err := h.Record(agent.Record{Message: m}); err != nil {
			return agent.Reply{}, err
		}
	}
	return s.work(ctx, h)
}

// fakeTool is a Tool made of a function.
type fakeTool struct {
	spec agent.Spec
	run  func(ctx context.Context, call agent.ToolCall) agent.ToolResult
}

func (f fakeTool) Spec() agent.Spec { return f.spec }

func (f fakeTool) Run(ctx context.Context, call agent.ToolCall) agent.ToolResult {
	if f.run == nil {
		return agent.ToolResult{Content: "ran", Response: json.RawMessage(`{"stdout":"ran"}`)}
	}
	return f.run(ctx, call)
}

// rig is a member with fakes all around.
type rig struct {
	opts    Options
	runner  *fakeRunner
	inbox   *fakeInbox
	tasks   *fakeTasks
	journal *journal
	agent   *scribe
	path    string
	// unsynced counts the bytes of the transcript that a power cut could take: at
	// first those that an earlier life left.
	unsynced atomic.Int64
	full     atomic.Bool // half of what is written to the transcript finds room
}

// countingDisk counts what has not been synced, and may be full.
type countingDisk struct {
	*os.File
	unsynced *atomic.Int64
	full     *atomic.Bool
}

func (d countingDisk) Write(p []byte) (int, error) {
	if d.full.Load() {
		n, err := d.File.Write(p[:len(p)/2])
		return n, errors.Join(syscall.ENOSPC, err)
	}
	d.unsynced.Add(int64(len(p)))
	return d.File.Write(p)
}

func (d countingDisk) Sync() error {
	d.unsynced.Store(0)
	return d.File.Sync()
}

// open opens the transcript, and counts all of it as unsynced.
func (r *rig) open(tb testing.TB) (*transcript.File, transcript.History) {
	tb.Helper()
	file, past, err := transcript.OpenOn(r.path, func(file *os.File) transcript.Disk {
		if info, err := file.Stat(); err == nil {
			r.unsynced.Store(info.Size())
		}
		return countingDisk{file, &r.unsynced, &r.full}
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { file.Close() })
	return file, past
}

// newRig makes a teammate that is given one prompt of a person and answers it.
func newRig(tb testing.TB, script ...say) *rig {
	tb.Helper()
	r := &rig{
		runner: &fakeRunner{}, inbox: &fakeInbox{}, tasks: &fakeTasks{}, journal: &journal{},
		agent: &scribe{script: script},
		path:  filepath.Join(tb.TempDir(), "transcripts", "api", "s.jsonl"),
	}
	file, past := r.open(tb)
	r.inbox.work = []Work{{Cause: events.ByMessage, Inputs: []agent.Input{{Kind: agent.FromMail,
		Text: "hello", MessageID: "m1"}}}}
	r.opts = Options{
		Name: "api", Team: "crew", Kind: "test", Agent: r.agent, Hooks: r.runner, Tasks: r.tasks, Inbox: r.inbox,
		Sink: r.journal.sink, SessionID: "s", Transcript: file, History: &past,
		Workdir: workspace.NewWorkdir(tb.TempDir()),
		Rights:  permission.NewRights(permission.Policy{Mode: permission.ModeBypass}, nil),
		Limits:  Limits{StopBlockCap: 8},
		Tools: []agent.Tool{fakeTool{spec: agent.Spec{Name: "Bash",
			Schema: json.RawMessage(`{"type":"object"}`)}}},
	}
	return r
}

// member makes the Teammate.
func (r *rig) member(tb testing.TB) *Teammate {
	tb.Helper()
	m, err := New(r.opts)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// run runs the member until its inbox is empty.
func (r *rig) run(tb testing.TB) error {
	tb.Helper()
	return r.member(tb).Run(context.Background())
}

// mustRun is run for members that end well.
func (r *rig) mustRun(tb testing.TB) {
	tb.Helper()
	if err := r.run(tb); err != nil {
		tb.Fatal(err)
	}
}

// inProgress gives the member tasks.
func (r *rig) inProgress(ids ...string) {
	for _, id := range ids {
		r.tasks.list = append(r.tasks.list, tasks.Task{
			ID: id, Subject: "subject " + id, Description: "description " + id,
			Status: tasks.InProgress, Owner: "api",
		})
	}
}

// gates are the fired events of the turn end and of tool calls, in order.
func (r *rig) gates() []string {
	return slices.DeleteFunc(r.runner.events(), func(name string) bool {
		return strings.HasPrefix(name, "Session") || name == "UserPromptSubmit" || name == "PostToolBatch"
	})
}

// reopen gives the rig a new life on the same transcript.
func (r *rig) reopen(tb testing.TB, script ...say) {
	tb.Helper()
	r.opts.Transcript.Close()
	file, past := r.open(tb)
	r.runner, r.journal = &fakeRunner{}, &journal{}
	r.agent = &scribe{script: script}
	if past.Cut != nil {
		r.agent.open = past.Cut.Open
	}
	r.opts.Transcript, r.opts.History, r.opts.Resumed = file, &past, true
	r.opts.Agent, r.opts.Hooks, r.opts.Sink = r.agent, r.runner, r.journal.sink
}

// history reads what a transcript holds.
func history(tb testing.TB, path string) transcript.History {
	tb.Helper()
	h, err := transcript.ReadHistory(path)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// spoken is the transcript line of a message without tool calls.
func spoken(role agent.Role, texts ...string) transcript.Line {
	return transcript.LineOf(agent.Record{Message: agent.TextMessage(role, texts...)})
}

// cutOff appends a turn without an end to the transcript, and closes it.
func (r *rig) cutOff(tb testing.TB, turn int, messages ...transcript.Line) {
	tb.Helper()
	begin := r.member(tb).hookContext(turn, "p").line(transcript.TurnStarted)
	begin.Cause, begin.PromptID = events.ByGoal, "p"
	for _, ln := range append([]transcript.Line{begin}, messages...) {
		if err := r.opts.Transcript.Append(ln); err != nil {
			tb.Fatal(err)
		}
	}
	r.opts.Transcript.Close()
}

// put writes a file, and makes the folders that it is in.
func put(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want)
	if g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}
