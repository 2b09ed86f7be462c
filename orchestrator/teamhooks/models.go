package teamhooks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/script"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Member is what the hooks of a member's events use of it. All fields must be set.
type Member struct {
	Spec *members.Member
	// Permissions returns the permissions for the calls of an agent hook's agent, which must
	// not allow more than the member's.
	Permissions func() permission.Policy
	// Fire runs the member's hooks.
	Fire func(context.Context, hooks.Payload) (hooks.Outcome, error)
	// Spent counts what a hook has used for the member.
	Spent func(events.ModelAsked)
}

// ModelDeps configure Models.
type ModelDeps struct {
	// Spec returns the team's current spec, and its scripts by path.
	Spec func() (*configs.Team, map[string]*script.Script)
	// Real makes a model that is no script, for the hooks of a member.
	Real func(member string, m configs.Model) (agent.Model, error)
	// Tap returns what asks a script in place of a member's hooks; nil: they ask it themselves.
	Tap func(member string, m agent.Model) agent.Model
	// Member returns the member of a session, or the lead if no member has it.
	Member func(session string) Member
	Lead   func() *members.Member
	// The commands of agent hooks' agents get Environ. Started is called with each of them.
	// Their output goes to files in Scratch.
	Environ []string
	Scratch string
	Started func(pid int, member string) (ended func())
}

// Models answers the prompt and agent hooks of a team with the team's models.
type Models struct {
	ModelDeps

	mu sync.Mutex
	// asked holds the model that answers the prompt hooks of a member with a script. Each hook
	// is one request, and together they step through the script.
	asked map[askedBy]*script.Model
}

type askedBy struct {
	member string
	script *script.Script
}

// NewModels makes the Models of a team.
func NewModels(o ModelDeps) *Models {
	if o.Tap == nil {
		o.Tap = func(_ string, m agent.Model) agent.Model { return m }
	}
	return &Models{ModelDeps: o, asked: map[askedBy]*script.Model{}}
}

// answerer is the model that answers one hook: a script, which answers with the helper for
// the hook's prompt, or a real model, which needs nothing of the kind.
type answerer struct {
	tap    func(member string, m agent.Model) agent.Model
	member Member
	script *script.Script
	real   agent.Model // instead of script
	name   string      // of the model, for people
	note   string      // likewise; may be empty
}

// mind returns the model for a conversation of its own, whose calls have ids with a prefix.
func (a answerer) mind(prefix string) agent.Model {
	if a.real != nil {
		return a.real
	}
	return a.tap(a.member.Spec.Name, a.script.Model(&script.Options{IDPrefix: prefix}))
}

// Ask implements runner.Model.
func (m *Models) Ask(ctx context.Context, q runner.Question) (runner.Reply, error) {
	who, err := m.choose(q)
	if err != nil {
		return runner.Reply{Note: who.note}, err
	}
	asked := events.ModelAsked{Event: string(q.Input.Payload.Event()), Model: who.name, Agent: q.Agent}
	var text string
	if q.Agent {
		text, err = m.verify(ctx, who, q, &asked)
	} else {
		text, err = m.judge(ctx, who, q, &asked)
	}
	// After an error, too: a request that failed may have cost something.
	who.member.Spent(asked)
	return runner.Reply{Text: text, Note: who.note}, err
}

// choose returns the model of a hook: the one in the spec that it names, or else the member's,
// the lead's, or the first in the spec. Hooks written for another host may name models that
// are not in the spec.
func (m *Models) choose(q runner.Question) (answerer, error) {
	team, scripts := m.Spec()
	who := answerer{tap: m.Tap, member: m.Member(q.Input.SessionID)}
	named, known := team.Models[q.Model]
	var err error
	// The first model that can answer is taken; further calls do nothing.
	take := func(of configs.Model, name string) {
		if who.script != nil || who.real != nil || err != nil {
			return
		}
		if of.BaseURL != "" {
			who.real, err = m.Real(who.member.Spec.Name, of)
		}
		who.script, who.name = scripts[of.Script], name
	}
	take(named, q.Model)
	for _, other := range []*members.Member{who.member.Spec, m.Lead()} {
		take(other.Agent.Model, "the model of "+other.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(team.Models)) {
		take(team.Models[name], name)
	}
	if err != nil {
		return who, fmt.Errorf("make the hook's model: %w", err)
	}
	if who.script == nil && who.real == nil {
		return who, errors.New("no model of the spec can answer the hook: add one under models, and name it as the " +
			"hook's model")
	}
	if q.Model != "" && !known {
		who.note = fmt.Sprintf("the spec has no model %s: %s answered", q.Model, who.name)
	}
	if who.real != nil {
		return who, nil
	}
	// A script answers hooks with its helpers. A script only for hooks, which they name, also
	// answers with its steps.
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

// judge makes the single model request of a prompt hook.
func (m *Models) judge(
	ctx context.Context, who answerer, q runner.Question, asked *events.ModelAsked,
) (string, error) {
	var talk []agent.Message
	if q.Transcript {
		var err error
		if talk, err = transcript.Read(q.Input.TranscriptPath); err != nil {
			return "", fmt.Errorf("the conversation cannot be shown to the model: %w", err)
		}
		talk = agent.WithoutImages(talk, "the model of a hook gets texts only")
	}
	request := agent.Request{System: q.System, New: len(talk), Messages: append(talk, agent.Message{
		Role: agent.User, Content: []agent.Block{{Type: agent.TextBlock, Text: q.Text}},
	})}
	response, err := m.answer(ctx, who, request)
	asked.Passes++
	asked.Usage = response.Usage
	if err != nil {
		return "", err
	}
	return agent.Message{Role: agent.Assistant, Content: response.Content}.Text(), nil
}

// answer makes one request to the model.
func (m *Models) answer(ctx context.Context, who answerer, r agent.Request) (agent.Response, error) {
	if who.real != nil {
		return who.real.Generate(ctx, r)
	}
	return m.play(ctx, askedBy{who.member.Spec.Name, who.script}, r)
}

// play returns a script's next answer to a prompt hook. At its end the script starts again,
// because a hook asks at every turn end, and a team may have any number of those.
func (m *Models) play(ctx context.Context, by askedBy, r agent.Request) (agent.Response, error) {
	m.mu.Lock()
	model := m.asked[by]
	if model == nil {
		model = by.script.Model(nil)
		m.asked[by] = model
	}
	m.mu.Unlock()
	response, err := m.Tap(by.member, model).Generate(ctx, r)
	if response.Step != nil || ctx.Err() != nil {
		return response, err
	}
	fresh := by.script.Model(nil)
	m.mu.Lock()
	if m.asked[by] == model { // otherwise another hook has restarted it meanwhile
		m.asked[by] = fresh
	}
	model = m.asked[by]
	m.mu.Unlock()
	return m.Tap(by.member, model).Generate(ctx, r)
}
