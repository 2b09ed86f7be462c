package launch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/gateway"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/recordings"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/modelapi"
)

// ErrNoKey: this machine has no API key for a model.
var ErrNoKey = errors.New("there is no API key")

// maxKey is the size in bytes of the largest key file.
const maxKey = 16 << 10

// Gate is what the requests to a model pass before they leave, or are answered from a lane; nil: nothing.
type Gate func(lane *recordings.Lane, next http.RoundTripper) http.RoundTripper

// GateOf returns what the requests of a member's own agent to a model pass: the gateway, if the spec wants it.
func (p *Programs) GateOf(m *members.Member, model configs.Model) Gate {
	spec := m.Current().Gateway
	if !spec.On {
		return nil
	}
	own := gateway.Own{Models: spec.Models, Provider: string(model.Provider), Model: model.Model}
	return func(lane *recordings.Lane, next http.RoundTripper) http.RoundTripper {
		return p.deps.Gateway.Transport(own, lane, next)
	}
}

// NewModel returns a real model of a spec, which is recorded on a lane or answers from it; nil: neither.
// It reads the key with each request, so that a
// key can be replaced while the team runs, and so that it is in no value that lives long. How
// much the model can read is in the list of prices.
func NewModel(m configs.Model, prices accounts.PriceList, lane *recordings.Lane, gate Gate) (agent.Model, error) {
	config := modelConfig(m)
	if m.Recording != "" {
		api, name, http := lane.Asks()
		if !http {
			return lane.Model(recorded(name)), nil
		}
		config.Model, config.BaseURL, config.API = name, "http://recording.invalid", modelapi.API(api)
	}
	config.Through = func(next http.RoundTripper) http.RoundTripper {
		if gate != nil {
			return gate(lane, next)
		}
		return lane.Transport(next)
	}
	if lane.Replays() {
		config.Key = func() (string, error) { return "", nil }
	}
	config.Window = prices.Window(m.FullName())
	return modelapi.New(config)
}

// recorded is the name of a model without HTTP that answers from a recording.
type recorded string

// Describe implements agent.Described.
func (r recorded) Describe() (name string, window int64) { return string(r), 0 }

// Generate is never called: the recording answers.
func (r recorded) Generate(context.Context, agent.Request) (agent.Response, error) {
	return agent.Response{}, fmt.Errorf("%w: it has no model", recordings.ErrRecording)
}

// modelConfig converts a real model of a spec.
func modelConfig(m configs.Model) modelapi.Config {
	return modelapi.Config{
		Provider: string(m.Provider), Model: m.Model, API: modelapi.API(m.API), BaseURL: m.BaseURL,
		Key: func() (string, error) { return ModelKey(m) }, MaxOutput: m.MaxOutput, Thinking: m.Thinking,
		Temperature: m.Temperature, Headers: m.Headers, Times: modelapi.Times{Idle: m.StreamIdle},
	}
}

// ModelKey returns the API key of a real model; empty: its host gets none. The error wraps
// ErrNoKey, and says how to provide one.
//
// A key of covey's environment goes to the provider's own host only: another host that a
// spec names must not get it.
func ModelKey(m configs.Model) (string, error) {
	if m.KeyFile != "" {
		key, err := ReadKey(m.KeyFile)
		if err != nil {
			return "", texts.Errorf(ErrNoKey, "the key file of model %s: %v", m.FullName(), err)
		}
		return key, nil
	}
	variable := m.Provider.KeyVariable()
	if variable == "" || !m.AtHome() {
		return "", nil
	}
	key := strings.TrimSpace(os.Getenv(variable))
	if key == "" {
		return "", texts.Errorf(ErrNoKey, "model %s has no API key: set %s before covey starts, or name a file under key_file",
			m.FullName(), variable)
	}
	return key, nil
}

// ReadKey returns the key in a file. A file with anything else in it is refused: it
// would be sent to the host as a key.
func ReadKey(path string) (string, error) {
	data, err := texts.ReadFile(path, maxKey)
	key := strings.TrimSpace(string(data))
	if err == nil && (key == "" || strings.ContainsAny(key, " \t\r\n")) {
		err = fmt.Errorf("%s must hold the key and nothing else", path)
	}
	return key, err
}

// RealModels returns the real models that members use and fall back to, each once.
func RealModels(team *configs.Team) []configs.Model {
	var list []configs.Model
	for _, a := range AgentsInUse(team) {
		for _, m := range append([]configs.Model{a.Model}, team.Fallbacks(a.Model)...) {
			same := func(known configs.Model) bool { return sameModel(known, m) }
			if m.BaseURL != "" && !slices.ContainsFunc(list, same) {
				list = append(list, m)
			}
		}
	}
	return list
}

// sameModel reports whether two models are one for its provider: the same name at the same
// host with the same key. How they are asked, such as how much they think, does not matter
// for what is checked here.
func sameModel(a, b configs.Model) bool {
	return a.FullName() == b.FullName() && a.BaseURL == b.BaseURL && a.KeyFile == b.KeyFile && a.Script == b.Script
}

// CheckKeys reports the models of members without a key. It runs before a team starts, so
// that nobody finds out from the first turn of the last member. Models that only hooks or
// helpers name are not checked: they may never be asked.
func CheckKeys(team *configs.Team) error {
	var errs []error
	for _, m := range RealModels(team) {
		_, err := ModelKey(m)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// OwnScript reports whether a script is played only to members of the builtin agent, so
// that all tools that it can call are known.
func OwnScript(team *configs.Team, path string) bool {
	played := false
	for _, a := range AgentsInUse(team) {
		// A script may be the model of several agents, or a fallback of another model. One
		// agent program among them is enough: its tools are its own, and covey does not
		// know them.
		plays := func(m configs.Model) bool { return m.Script == path }
		if !plays(a.Model) && !slices.ContainsFunc(team.Fallbacks(a.Model), plays) {
			continue
		}
		if a.Kind != configs.Builtin {
			return false
		}
		played = true
	}
	return played
}

// ModelAtHost returns the full name of a model and its host. One name at two hosts is two models
// here, because the host reads the conversation.
func ModelAtHost(m configs.Model) string {
	if m.BaseURL == "" {
		return m.FullName()
	}
	return m.FullName() + " at " + m.BaseURL
}

// WithoutHost returns the full name of a model, and its host if that is known.
func WithoutHost(stored string) (name, host string) {
	// A name may have these letters, too; a host has no spaces.
	if i := strings.LastIndex(stored, " at http"); i >= 0 {
		return stored[:i], stored[i+len(" at "):]
	}
	return stored, ""
}

// StoredModel finds a model of a spec by its ModelAtHost.
//
// The section models is searched first, in the order of the names there, and then the agents,
// whose models may be written in place.
func StoredModel(team *configs.Team, stored string) (configs.Model, bool) {
	var list []configs.Model
	for _, name := range slices.Sorted(maps.Keys(team.Models)) {
		list = append(list, team.Models[name])
	}
	for _, a := range AgentsInUse(team) {
		if a.Kind == configs.Builtin {
			list = append(list, a.Model)
		}
	}
	i := slices.IndexFunc(list, func(m configs.Model) bool { return ModelAtHost(m) == stored })
	if i < 0 {
		return configs.Model{}, false
	}
	return list[i], true
}
