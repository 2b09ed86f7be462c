package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin"
)

// workspace makes a folder with these files, and a place for covey's state that
// goes away with it.
func workspace(files map[string]string) (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "library")
	if err != nil {
		panic(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	before, had := os.LookupEnv("COVEY_STATE_HOME")
	_ = os.Setenv("COVEY_STATE_HOME", filepath.Join(dir, ".state"))
	return dir, func() {
		if had {
			_ = os.Setenv("COVEY_STATE_HOME", before)
		} else {
			_ = os.Unsetenv("COVEY_STATE_HOME")
		}
		_ = os.RemoveAll(dir)
	}
}

// A team runs from its spec to its end in a program of one's own.
func ExampleNew() {
	dir, remove := workspace(map[string]string{
		"team.yaml": `
covey: 1
name: greeters
goal: Greet the reader.
lead: {model: {provider: script, script: lead.yaml}}
`,
		"lead.yaml": `steps: [{say: "Hello, reader."}]`,
	})
	defer remove()
	team, err := configs.Load(filepath.Join(dir, "team.yaml"))
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := orchestrator.New(team, orchestrator.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ending, err := o.Run(context.Background())
	fmt.Println(ending.Code, ending.Reason, err)
	fmt.Println(ending.Answer)
	for _, m := range ending.Members {
		fmt.Println(m.Name, m.Turns, "turn")
	}
	// Output:
	// 0 all work is done <nil>
	// Hello, reader.
	// lead 1 turn
}

// worker is a whole agent: it takes its task, calls a tool of the team, and
// says what it has done. What it calls goes through hooks and permissions, and
// when it falls silent, gates decide whether its turn may end.
type worker struct{ name string }

func (w worker) Run(ctx context.Context, prompt []agent.Input, h agent.Host) (agent.Reply, error) {
	if _, err := h.Pass(ctx); err != nil { // the limits of the spec, and new mail
		return agent.Reply{}, err
	}
	reply := agent.Reply{Text: w.name + " has nothing to do."}
	for _, in := range prompt {
		if in.Kind != agent.FromTask || !strings.Contains(in.Text, "You own task #1") {
			continue
		}
		done := h.Call(ctx, agent.ToolCall{
			ID: "call-1", Name: "TaskUpdate", Input: []byte(`{"taskId":"1","status":"completed"}`),
		})
		reply = agent.Reply{Text: w.name + ": " + done.Content, ToolCalls: 1}
	}
	return reply, nil
}

// workersSpec is a team whose members are all agents of the program's own.
const workersSpec = `
covey: 1
name: workers
goal: Get it done.
defaults: {agent: worker}
lead: {}
teammates: {ana: {}}
tasks: [{subject: Write the changelog, owner: ana}]
`

// workers loads the team, and says what stands behind the name worker.
func workers(dir string) (*configs.Team, map[string]orchestrator.AgentMaker, error) {
	team, err := configs.ParseWith(filepath.Join(dir, "team.yaml"), []byte(workersSpec),
		configs.Options{Given: []string{"worker"}})
	return team, map[string]orchestrator.AgentMaker{
		"worker": func(b orchestrator.Brief) (agent.Agent, error) { return worker{b.Member}, nil },
	}, err
}

// An agent of one's own is one method. The spec names it, the program makes it,
// once for each member.
func ExampleAgentMaker() {
	dir, remove := workspace(nil)
	defer remove()
	team, agents, err := workers(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := orchestrator.New(team, orchestrator.Options{Agents: agents})
	if err != nil {
		fmt.Println(err)
		return
	}
	ending, err := o.Run(context.Background())
	fmt.Println(ending.Code, ending.Reason, err)
	for _, m := range ending.Members {
		fmt.Println(m.Name, m.Agent, m.Completed)
	}
	// Output:
	// 0 all work is done <nil>
	// lead given/worker []
	// ana given/worker [1]
}

// echo is a model: it answers a request with what was asked last.
type echo struct{}

func (echo) Generate(_ context.Context, req agent.Request) (agent.Response, error) {
	text := "You said: " + req.Messages[len(req.Messages)-1].Text()
	return agent.Response{Content: []agent.Block{{Type: agent.TextBlock, Text: text}}}, nil
}

// A model of one's own needs no agent of one's own: covey's takes it.
func ExampleAgentMaker_model() {
	dir, remove := workspace(nil)
	defer remove()
	team, err := configs.ParseWith(filepath.Join(dir, "team.yaml"),
		[]byte("covey: 1\nname: echoes\ngoal: Hello?\nlead: {agent: echo}\n"), configs.Options{Given: []string{"echo"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := orchestrator.New(team, orchestrator.Options{Agents: map[string]orchestrator.AgentMaker{
		"echo": func(b orchestrator.Brief) (agent.Agent, error) {
			return builtin.New(builtin.Options{
				Model: echo{}, System: func() string { return b.System }, Tools: b.Tools, History: b.History.Messages,
			})
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ending, err := o.Run(context.Background())
	fmt.Println(ending.Answer, err)
	// Output:
	// You said: Hello? <nil>
}

// A hook of the program's own refuses a completion, once. It is asked beside the
// spec's hooks and gates; its words go to the agent.
func ExampleOptions_hooks() {
	dir, remove := workspace(nil)
	defer remove()
	team, agents, err := workers(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	var registry hooks.Registry
	_, err = registry.Add(hooks.TaskCompleted, hooks.Callback{Name: "changelog", Gate: true,
		Do: func(_ context.Context, in hooks.Input) (hooks.Answer, error) {
			task, err := hooks.As[hooks.TaskCompletedInput](in)
			if err != nil {
				return hooks.Answer{}, err
			}
			fmt.Printf("%s wants to complete %q\n", task.TeammateName, task.TaskSubject)
			return hooks.Answer{}, nil
		}})
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := orchestrator.New(team, orchestrator.Options{Agents: agents, Hooks: &registry})
	if err != nil {
		fmt.Println(err)
		return
	}
	ending, err := o.Run(context.Background())
	fmt.Println(ending.Code, ending.FailedOpen, err)
	// Output:
	// ana wants to complete "Write the changelog"
	// 0 0 <nil>
}

// The journal of a run is a loop in the same process. It ends with the run.
func ExampleOrchestrator_Journal() {
	dir, remove := workspace(nil)
	defer remove()
	team, agents, err := workers(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := orchestrator.New(team, orchestrator.Options{Agents: agents})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	ended := make(chan error, 1)
	go func() {
		_, err := o.Run(ctx)
		ended <- err
	}()
	for line, err := range o.Journal(ctx) {
		if err != nil {
			fmt.Println(err)
			break
		}
		switch line.Type {
		case "task":
			var change tasks.Change
			if err := json.Unmarshal(line.Data, &change); err != nil {
				fmt.Println(err)
			}
			fmt.Println(change.Op, change.Task.Subject)
		case "team_ended":
			fmt.Println(line.Type)
		}
	}
	fmt.Println(<-ended)
	// Output:
	// created Write the changelog
	// completed Write the changelog
	// team_ended
	// <nil>
}

// The journal of a team, in whichever process it runs or ran. With Follow the
// loop goes on for as long as the team runs.
func ExampleJournal() {
	dir, remove := workspace(nil)
	defer remove()
	team, agents, err := workers(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := orchestrator.New(team, orchestrator.Options{Agents: agents})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := o.Run(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	place, err := state.PlaceOf("workers", dir) // or state.Find
	if err != nil {
		fmt.Println(err)
		return
	}
	opts := orchestrator.JournalOptions{Member: "ana", Follow: true}
	for line, err := range orchestrator.Journal(context.Background(), place, opts) {
		if err != nil {
			fmt.Println(err)
			break
		}
		if line.Type == "tool_call" || line.Type == "tool_result" {
			fmt.Println(line.Turn, line.Type)
		}
	}
	// Output:
	// 1 tool_call
	// 1 tool_result
}
