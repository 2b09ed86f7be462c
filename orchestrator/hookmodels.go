package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/script"
	"github.com/coveyteam/covey/teammate/transcript"
)

// HookModelAsked is sent when a model has answered a prompt or agent hook, also
// one that failed: what that has used counts for the member.
type HookModelAsked struct {
	Event  string      `json:"event"`
	Model  string      `json:"model"` // for people: the model's name, or whose it is
	Agent  bool        `json:"agent,omitempty"`
	Passes int         `json:"passes"`
	Usage  agent.Usage `json:"usage"`
}

// EventType is the journal's name for it.
func (HookModelAsked) EventType() string { return "hook_model" }

// hookModels answers the prompt and agent hooks of a team with its models.
type hookModels struct {
	o *Orchestrator
	c *crew

	mu sync.Mutex
	// asked has, for a member and a script, the model that answers its prompt
	// hooks: each of them is one request, and they go through the steps together.
	asked map[askedBy]*script.Model
}

type askedBy struct {
	member string
	script *script.Script
}

// hookAnswerer is who answers one hook.
type hookAnswerer struct {
	seat   *seat
	script *script.Script
	name   string // of the model, for people
	note   string // likewise; may be empty
}

// Ask implements runner.Model.
func (m *hookModels) Ask(ctx context.Context, q runner.Question) (runner.Reply, error) {
	who, err := m.choose(q)
	if err != nil {
		return runner.Reply{Note: who.note}, err
	}
	asked := HookModelAsked{Event: string(q.Input.Payload.Event()), Model: who.name, Agent: q.Agent}
	var text string
	if q.Agent {
		text, err = m.verify(ctx, who, q, &asked)
	} else {
		text, err = m.judge(ctx, who, q, &asked)
	}
	m.bill(who.seat, asked)
	return runner.Reply{Text: text, Note: who.note}, err
}

// choose finds the model of a hook: the one of the spec that it names, else
// the member's own, the lead's, or the first of the spec. A name that the spec
// does not have comes with hooks that were written for another host.
func (m *hookModels) choose(q runner.Question) (hookAnswerer, error) {
	s, ok := m.c.bySession(q.Input.SessionID)
	if !ok {
		s = m.c.seats()[0]
	}
	who := hookAnswerer{seat: s}
	named, known := m.o.team().Models[q.Model]
	if known {
		who.script, who.name = m.o.scripts()[named.Script], q.Model
	}
	for _, other := range []*seat{s, m.c.seats()[0]} {
		if who.script == nil {
			who.script, who.name = m.o.scripts()[other.member.Agent.Model.Script], "the model of "+other.member.Name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.o.team().Models)) {
		if who.script == nil {
			who.script, who.name = m.o.scripts()[m.o.team().Models[name].Script], name
		}
	}
	if who.script == nil {
		return who, errors.New("no model of the spec can answer the hook: add one under models, and name it as the " +
			"hook's model")
	}
	if q.Model != "" && !known {
		who.note = fmt.Sprintf("the spec has no model %s: %s answered", q.Model, who.name)
	}
	// A script serves hooks by its helpers; one that is there for hooks alone, and
	// is named by them, by its steps as well.
	helper, found := who.script.Helper(q.Text)
	switch {
	case found:
		who.script = helper
	case !known || who.script.Steps() == 0:
		return who, fmt.Errorf("the script of %s has no helper whose `when` is found in the hook's prompt: add one",
			who.name)
	}
	return who, nil
}

// judge makes the one request of a prompt hook.
func (m *hookModels) judge(
	ctx context.Context, who hookAnswerer, q runner.Question, asked *HookModelAsked,
) (string, error) {
	var talk []agent.Message
	if q.Transcript {
		var err error
		if talk, err = transcript.Read(q.Input.TranscriptPath); err != nil {
			return "", fmt.Errorf("the conversation cannot be shown to the model: %w", err)
		}
	}
	request := agent.Request{System: q.System, New: len(talk), Messages: append(talk, agent.Message{
		Role: agent.User, Content: []agent.Block{{Type: agent.TextBlock, Text: q.Text}},
	})}
	response, err := m.play(ctx, askedBy{who.seat.member.Name, who.script}, request)
	asked.Passes++
	asked.Usage = response.Usage
	if err != nil {
		return "", err
	}
	return agent.Message{Role: agent.Assistant, Content: response.Content}.Text(), nil
}

// play asks a script for the next of its answers to prompt hooks. When it is
// through it begins anew: a hook asks at every turn end, and a team may have
// any number of those.
func (m *hookModels) play(ctx context.Context, by askedBy, r agent.Request) (agent.Response, error) {
	m.mu.Lock()
	model := m.asked[by]
	if model == nil {
		model = by.script.Model(nil)
		m.asked[by] = model
	}
	m.mu.Unlock()
	response, err := model.Generate(ctx, r)
	if response.Step != nil || ctx.Err() != nil {
		return response, err
	}
	fresh := by.script.Model(nil)
	m.mu.Lock()
	if m.asked[by] == model { // else another hook has begun anew just now
		m.asked[by] = fresh
	}
	model = m.asked[by]
	m.mu.Unlock()
	return model.Generate(ctx, r)
}

// bill counts what a hook has used for its member.
func (m *hookModels) bill(s *seat, asked HookModelAsked) {
	if m.c.journal == nil { // fired by hand: nobody is billed
		return
	}
	m.c.tally.Spend(s.member.Name, asked.Usage)
	if err := s.mate.Spend(asked.Usage); err != nil {
		m.o.opts.Log.Warn("what a hook has used is not counted in the next run", "member", s.member.Name, "err", err)
	}
	m.c.journal.Append(agent.Event{Member: s.member.Name, Turn: s.turn(), Data: asked})
}

// hookScripts are the scripts of the models that hooks may name, beside those
// of the members.
func hookScripts(team *configs.Team) []string {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(team.Models)) {
		if path := team.Models[name].Script; strings.TrimSpace(path) != "" {
			paths = append(paths, path)
		}
	}
	return paths
}
