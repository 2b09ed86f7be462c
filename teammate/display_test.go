package teammate

import (
	"context"
	"slices"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// Each message with text is told once, whole, under an id of its own and the one of
// its turn; a call without words is told to nobody.
func TestMessageDisplay(t *testing.T) {
	r := newRig(t,
		say{text: "calling", calls: []agent.ToolCall{callTool("c1", "Look", `{}`)}},
		say{calls: []agent.ToolCall{callTool("c2", "Look", `{}`)}}, say{text: "final"}, say{text: "again"})
	r.opts.Tools = []agent.Tool{fakeTool{spec: agent.Spec{Name: "Look"}, run: func(context.Context,
		agent.ToolCall) agent.ToolResult {
		return agent.ToolResult{Content: "seen"}
	}}}
	r.inbox.work = append(r.inbox.work, Work{Cause: events.ByPerson, Inputs: []agent.Input{person("two", "p2")}})
	r.mustRun(t)
	ids, turns := map[string]bool{}, map[string][]string{}
	for _, in := range r.runner.displayed {
		p := in.Payload.(hooks.MessageDisplayInput)
		equal(t, "index", p.Index, 0)
		equal(t, "final", p.Final, true)
		ids[p.MessageID] = true
		turns[p.TurnID] = append(turns[p.TurnID], p.Delta)
	}
	equal(t, "messages", len(ids), 3)
	var said [][]string
	for _, texts := range turns {
		slices.Sort(texts) // they are told beside the turn
		said = append(said, texts)
	}
	slices.SortFunc(said, slices.Compare)
	equal(t, "by turn", said, [][]string{{"again"}, {"calling", "final"}})
}
