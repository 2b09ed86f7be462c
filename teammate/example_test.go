package teammate_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/transcript"
	"github.com/coveyteam/covey/teammate/workspace"
)

// shouter is a whole agent: it asks a tool, and says what the tool said.
type shouter struct{}

func (shouter) Run(ctx context.Context, prompt []agent.Input, h agent.Host) (agent.Reply, error) {
	if _, err := h.Pass(ctx); err != nil {
		return agent.Reply{}, err
	}
	result := h.Call(ctx, agent.ToolCall{Name: "Shout", Input: []byte(`{"text":"` + prompt[0].Text + `"}`)})
	return agent.Reply{Text: "The tool said " + result.Content, ToolCalls: 1}, nil
}

// shout is a tool.
type shout struct{}

func (shout) Spec() agent.Spec {
	return agent.Spec{Name: "Shout", ReadOnly: true, Schema: []byte(`{"type":"object","required":["text"]}`)}
}

func (shout) Run(_ context.Context, call agent.ToolCall) agent.ToolResult {
	return agent.ToolResult{Content: strings.ToUpper(string(call.Input))}
}

// inbox hands out one piece of work.
type inbox struct{ work []teammate.Work }

func (b *inbox) Next(context.Context) (teammate.Work, error) {
	if len(b.work) == 0 {
		return teammate.Work{}, io.EOF
	}
	w := b.work[0]
	b.work = b.work[1:]
	return w, nil
}

func (*inbox) Waiting(context.Context) ([]agent.Input, error) { return nil, nil }
func (*inbox) Taken(context.Context, []string) error          { return nil }

// An agent needs one method. The host brings hooks, permissions, gates, limits
// and the transcript.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file, history, err := transcript.Open(filepath.Join(dir, "t.jsonl"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	hookRunner, err := runner.New([]settings.Source{{Settings: hooks.Settings{
		hooks.Stop: {{Hooks: []hooks.Handler{{Type: "command", Command: "true"}}}},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	member, err := teammate.New(teammate.Options{
		Name: "solo", Lead: true, Agent: shouter{}, Tools: []agent.Tool{shout{}}, Hooks: hookRunner,
		Inbox: &inbox{work: []teammate.Work{{
			Cause:  events.ByGoal,
			Inputs: []agent.Input{{Kind: agent.FromPerson, Text: "hi"}},
		}}},
		SessionID: "1", Transcript: file, History: &history, Workdir: workspace.NewWorkdir(dir),
		Rights: permission.NewRights(permission.Policy{}, nil),
		Sink: func(e events.Event) {
			switch d := e.Data.(type) {
			case events.HookFinished:
				fmt.Println("hook:", d.Command, d.Outcome)
			case events.Idle:
				fmt.Println("idle:", d.LastText)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(member.Run(context.Background()))
	// Output:
	// hook: true success
	// idle: The tool said {"TEXT":"HI"}
	// <nil>
}
