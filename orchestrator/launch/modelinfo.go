package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/modelapi"
)

// ModelState describes whether a model can be used on this machine.
type ModelState string

// The states of models. They are ordered by how much is known: a host that lists its models
// may still refuse a prompt, for want of credit, and one that answered a prompt a minute ago
// may be overloaded now.
const (
	ModelScript   ModelState = "script"    // it plays a script, which needs no host and no key
	ModelReached  ModelState = "reachable" // its host answers, and takes the key
	ModelAnswered ModelState = "answers"   // it answered a prompt
	ModelFailed   ModelState = "fails"     // Problem says why
	ModelNoKey    ModelState = "no key"    // Problem says where it is looked for
	ModelNotAsked ModelState = "not asked" // Note says why, if nobody wanted it
)

// Limits of what models are asked. A host that answers no list within listWithin may still
// answer prompts, but nobody waits longer for a table.
const (
	listWithin  = 5 * time.Second  // for a list of models
	probeWithin = 60 * time.Second // for an answer: a local server may have to load the model
	probeOutput = 16               // tokens; the fewest that all APIs accept
)

// ModelInfo is what is known of a model on this machine. It holds no key, so it may be shown
// to anybody, and written to a file.
type ModelInfo struct {
	Name   string      `json:"name,omitempty"` // under `models`; empty for one that is written elsewhere
	Model  string      `json:"model"`          // provider/model, or the path of a script
	API    string      `json:"api,omitempty"`
	Host   string      `json:"host,omitempty"` // the URL of its API
	Key    string      `json:"key,omitempty"`  // where it comes from, never the key itself
	UsedBy []string    `json:"used_by,omitempty"`
	Price  *ModelPrice `json:"price,omitempty"` // nil: not known
	// Context is how many tokens the model can read in one request; 0: not known.
	Context int64      `json:"context,omitempty"`
	State   ModelState `json:"state"`
	// Problem is why the model cannot be used, and the way out, in one line.
	Problem string `json:"problem,omitempty"`
	Note    string `json:"note,omitempty"`
	// TookMS is how long the answer to the prompt took.
	TookMS int64 `json:"took_ms,omitempty"`

	model configs.Model
}

// ModelPrice is the price of a million tokens in US dollars, without those of a cache. It is
// as good as the file that it is from, whose date `covey doctor` shows.
type ModelPrice struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// Usable reports whether nothing is known to be wrong with the model. A model that was not
// asked counts as usable, because nobody is to be stopped by what was not tried.
func (m ModelInfo) Usable() bool { return m.State != ModelFailed && m.State != ModelNoKey }

// Spec returns the model as a spec names it.
func (m ModelInfo) Spec() configs.Model { return m.model }

// ModelInquiry describes how much is asked of hosts. A host gets requests, and a key, only as it
// would from the team: after people have trusted it, and with the headers of the spec.
type ModelInquiry struct {
	Offline bool // ask nobody; the states then say only whether there are keys
	Probe   bool // ask each model for a few tokens, not just its host for its list of models
	// Trusted means that people trust the spec. Without it, hosts that need trust are not asked.
	Trusted bool
}

// Models lists the models of a team and asks their hosts, each within a few seconds: those
// under `models` by name, then those that its agents name directly. What is wrong with a model
// is in its Problem; the error is only about the file of budget.prices. Users are the members,
// with the agents to which they may fall back, hooks in the spec, and the workspace's agents.
// Hooks in settings files and plugins are not searched, since reading them takes longer.
//
// It may be called whether the team runs or not, and changes nothing.
func Models(ctx context.Context, team *configs.Team, how ModelInquiry) ([]ModelInfo, error) {
	prices, err := accounts.LoadPrices(team.Budget)
	if err != nil {
		return nil, fmt.Errorf("list the team's models: %w", err)
	}
	var list []ModelInfo
	for _, name := range slices.Sorted(maps.Keys(team.Models)) {
		list = append(list, ModelInfo{Name: name, model: team.Models[name]})
	}
	add := func(m configs.Model, user string) {
		i := slices.IndexFunc(list, func(known ModelInfo) bool { return known.Name == m.Name && sameModel(known.model, m) })
		if i < 0 && m.Provider != "" { // the zero value: it names no model
			list, i = append(list, ModelInfo{Name: m.Name, model: m}), len(list)
		}
		if i >= 0 && user != "" && !slices.Contains(list[i].UsedBy, user) {
			list[i].UsedBy = append(list[i].UsedBy, user)
		}
	}
	for m := range team.EachAndTemplates() {
		for _, a := range team.AgentsOf(*m) {
			add(a.Model, m.Name)
			for _, fallback := range team.Fallbacks(a.Model) {
				add(fallback, m.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(team.Agents)) {
		add(team.Agents[name].Model, "")
	}
	for _, layer := range []hooks.Settings{team.Hooks, team.Gates} {
		for _, h := range layer.Handlers() {
			add(team.Models[h.Model], "hooks")
		}
	}
	for _, h := range team.Helpers() {
		add(team.Models[h.Model], "agent "+h.Name)
	}
	for i := range list {
		list[i].describe(prices)
	}
	askModels(ctx, list, how)
	return list, nil
}

// usualModels are models to begin with, by provider. Which models a server on this machine
// has, it says itself.
var usualModels = map[configs.Provider]string{configs.Anthropic: "claude-sonnet-4-5", configs.OpenAI: "gpt-5"}

// MachineModels lists models that this machine can use without a spec: those of providers
// whose key is in the environment, and those of an Ollama at its usual address, unless
// how.Offline. No other host is asked: an address that is guessed could be anybody's.
func MachineModels(ctx context.Context, how ModelInquiry) []ModelInfo {
	prices, _ := accounts.LoadPrices(configs.Budget{})
	var list []ModelInfo
	add := func(p configs.Provider, name string) {
		m := configs.Model{Provider: p, Model: name, BaseURL: p.Home(), API: p.API(p.Home())}
		list = append(list, ModelInfo{model: m})
		list[len(list)-1].describe(prices)
	}
	for _, p := range []configs.Provider{configs.Anthropic, configs.OpenAI} {
		if strings.TrimSpace(os.Getenv(p.KeyVariable())) != "" {
			add(p, usualModels[p])
		}
	}
	if !how.Offline {
		local := configs.Model{Provider: configs.Ollama, BaseURL: configs.Ollama.Home(), API: string(modelapi.Chat)}
		names, _ := modelNames(ctx, local) // an error: none runs here
		for _, name := range names {
			if !strings.Contains(name, "embed") { // such a model answers no prompts
				add(configs.Ollama, name)
			}
		}
	}
	askModels(ctx, list, how)
	return list
}

// describe fills in what is known without asking anybody. A key is read, to find a file that
// does not hold one, and dropped: only where it comes from may be shown.
func (m *ModelInfo) describe(prices accounts.PriceList) {
	if file := cmp.Or(m.model.Script, m.model.Recording); file != "" {
		m.Model, m.State, m.Key = file, ModelScript, "none needed"
		return
	}
	m.Model, m.API, m.Host, m.State = m.model.FullName(), m.model.API, m.model.BaseURL, ModelNotAsked
	m.Context = prices.Window(m.Model)
	if in, out, known := prices.Of(m.Model); known {
		m.Price = &ModelPrice{in, out}
	}
	key, err := ModelKey(m.model)
	switch {
	case err != nil:
		text := oneLine(err)
		m.Key, m.State, m.Problem = "missing: "+text, ModelNoKey, text
	case key == "":
		m.Key = "none needed"
	default:
		m.Key = "from " + cmp.Or(m.model.KeyFile, m.model.Provider.KeyVariable())
	}
}

// askModels asks the hosts of models, all at once, for their lists. For answers, a host is
// asked for one model after the other, because a server on this machine may have room for
// one only.
func askModels(ctx context.Context, list []ModelInfo, how ModelInquiry) {
	hosts := map[string][]*ModelInfo{}
	for i := range list {
		m := &list[i]
		switch {
		case how.Offline || m.State != ModelNotAsked:
		case m.model.NeedsTrust() && !how.Trusted:
			m.Note = "its host is asked once the spec is trusted; covey trust trusts it"
		default:
			host := m.Host + " " + m.model.KeyFile
			hosts[host] = append(hosts[host], m)
		}
	}
	var asked sync.WaitGroup
	for _, models := range hosts {
		asked.Go(func() {
			if how.Probe {
				for _, m := range models {
					m.probe(ctx)
				}
				return
			}
			names, err := modelNames(ctx, models[0].model)
			for _, m := range models {
				m.reached(names, err)
			}
		})
	}
	asked.Wait()
}

// reached takes what the model's host said when it was asked for its list of models. A model
// that the list lacks is only a remark, since lists may have several pages and names may be
// aliases; Ollama has neither.
func (m *ModelInfo) reached(names []string, err error) {
	if err != nil && !errors.Is(err, modelapi.ErrNoList) {
		m.State, m.Problem = ModelFailed, oneLine(err)
		return
	}
	m.State = ModelReached
	// Lists have full names, such as one with a date or a folder, of which specs may have a part.
	listed := slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, m.model.Model) })
	switch {
	case err != nil:
		m.Note = "its host has no list of models, so the name may be wrong"
	case !listed && m.model.Provider == configs.Ollama && m.model.AtHome():
		m.State, m.Problem = ModelFailed, fmt.Sprintf("Ollama does not have it: run `ollama pull %s`", m.model.Model)
	case !listed:
		m.Note = "its host does not list it, so the name may be wrong"
	}
}

// modelNames asks a model's host for the names of its models, for at most listWithin. The
// error is modelapi.ErrNoList for a host that answers but has no list.
func modelNames(ctx context.Context, m configs.Model) ([]string, error) {
	c := modelConfig(m)
	c.Times = modelapi.Times{Silence: listWithin}
	server, err := modelapi.New(c)
	if err != nil {
		return nil, fmt.Errorf("ask %s for its models: %w", m.BaseURL, err)
	}
	return server.Listed(ctx)
}

// probe asks the model for a few tokens. Thinking is left out, because it costs more than
// the answer. The request is made once: people who look want to know that a server is
// overloaded, and a retry would hide it.
func (m *ModelInfo) probe(ctx context.Context) {
	c := modelConfig(m.model)
	c.MaxOutput, c.Thinking, c.Tries, c.Times = probeOutput, "", 1, modelapi.Times{Silence: probeWithin}
	asked, err := modelapi.New(c)
	begun := time.Now()
	if err == nil {
		_, err = asked.Generate(ctx, agent.Request{Messages: []agent.Message{agent.TextMessage(agent.User, "Reply with: ok")}})
	}
	m.TookMS = time.Since(begun).Milliseconds()
	if err != nil {
		m.State, m.Problem = ModelFailed, oneLine(err)
		return
	}
	m.State = ModelAnswered
}

// oneLine returns what an error says to people, without line breaks. The type of an error of
// an API is for hooks, so it is left out.
func oneLine(err error) string {
	text := err.Error()
	if api, ok := errors.AsType[*agent.APIError](err); ok {
		text = api.Message
	}
	return strings.Join(strings.Fields(text), " ")
}
