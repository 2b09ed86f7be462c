package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/teammate/acp"
	"github.com/coveyteam/covey/teammate/agent"
)

// probeTimeout bounds how long a program may take to open a session; slow ones take
// five seconds on a slow machine.
const probeTimeout = 30 * time.Second

// AgentProbe is the result of starting an agent program.
type AgentProbe struct {
	Agent   string        `json:"agent"`
	Ready   bool          `json:"ready"`             // it opened a session
	Problem string        `json:"problem,omitempty"` // why not
	Login   bool          `json:"login,omitempty"`   // it requires a login first
	Took    time.Duration `json:"took_ns"`
	Name    string        `json:"name,omitempty"` // the name that it reports
	Version string        `json:"version,omitempty"`
	HTTP    bool          `json:"mcp_http"`
	Load    bool          `json:"load"`
	Resume  bool          `json:"resume"`
	Steer   bool          `json:"steer"`
	Auth    []string      `json:"auth,omitempty"`  // its login methods
	Modes   []string      `json:"modes,omitempty"` // its session modes; a session starts in the first
}

// Probe starts the program of an agent that Agents or InstalledPresets listed, as for a
// member, opens an empty session in an empty folder, and ends it. It sends nothing to a
// model. Programs that do not speak ACP are not started.
func (a AgentInfo) Probe(ctx context.Context) AgentProbe {
	p := AgentProbe{Agent: a.Name}
	began := time.Now()
	about, err := a.probe(ctx)
	p.Took = time.Since(began)
	p.Name, p.Version = about.Name, about.Version
	p.HTTP, p.Load, p.Resume, p.Steer, p.Auth = about.HTTP, about.Load, about.Resume, about.Steer, about.Auth
	if about.Mode != "" {
		p.Modes = append([]string{about.Mode},
			slices.DeleteFunc(slices.Clone(about.Modes), func(m string) bool { return m == about.Mode })...)
	}
	if err != nil {
		var login *agent.LoginError
		p.Login = errors.As(err, &login)
		p.Problem = strings.TrimPrefix(err.Error(), "acp: ")
		return p
	}
	p.Ready = true
	return p
}

// probe starts the program.
func (a AgentInfo) probe(ctx context.Context) (acp.About, error) {
	switch {
	case a.Kind == configs.Builtin:
		return acp.About{}, errors.New("the builtin agent has no program")
	case a.Path == "" && a.Install == "":
		return acp.About{}, errors.New("its program is not installed")
	case a.Path == "":
		return acp.About{}, fmt.Errorf("it is not installed; %s installs it", a.HowToInstall())
	case a.Kind != configs.ACP:
		return acp.About{}, fmt.Errorf("%s does not speak ACP, so it cannot be probed", a.Path)
	}
	dir, err := os.MkdirTemp("", "covey-probe-")
	if err != nil {
		return acp.About{}, err
	}
	defer os.RemoveAll(dir)
	l := a.launch
	if l.key, err = l.readKey(a.agent); err != nil {
		return acp.About{}, err
	}
	start, err := l.probeOffer(dir, a.agent)
	if err != nil {
		return acp.About{}, err
	}
	return acp.Probe(ctx, acp.Options{
		Command: append(l.argv[:1:1], start.args...), Env: pairs(start.env), Dir: start.workspace, Meta: start.meta,
		Timeouts: acp.Timeouts{Start: probeTimeout},
	})
}

// probeOffer returns how to start a program without a member: its own settings are in
// dir, and it works in a folder below.
func (l Found) probeOffer(dir string, a configs.Agent) (*offer, error) {
	workspace, err := os.MkdirTemp(dir, "workspace")
	if err != nil {
		return nil, err
	}
	start := &offer{args: slices.Clone(l.argv[1:]), dir: dir, workspace: workspace}
	for _, kv := range l.preset.environment(Environment(os.Environ()), os.Environ()) {
		name, value, _ := strings.Cut(kv, "=")
		start.set(name, value)
	}
	start.env = append(start.env, l.program.env...)
	if l.key.Name != "" {
		start.env = append(start.env, l.key)
	}
	start.env = append(start.env, a.Env...)
	for _, step := range []func(*offer) error{l.program.writeSettings, l.program.nativeHooksOff} {
		if step == nil {
			continue
		}
		if err := step(start); err != nil {
			return nil, err
		}
	}
	return start, nil
}
