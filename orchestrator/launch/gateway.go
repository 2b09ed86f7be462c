package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/gateway"
)

// vendor is a vendor of models whose hosts a gateway asks for a program.
type vendor struct {
	provider string   // as in lists of prices
	apis     []string // as in script.API
	host     string   // unless a variable names another
	base     string   // the variable that does
	keys     []string // variables with its keys
	bearer   string   // the variable with a token that its host takes in place of a key; empty: none
}

// vendors returns the vendors. A program without a preset names its vendor by the variable of its key.
func vendors() []vendor {
	return []vendor{
		{"anthropic", []string{"anthropic"}, "https://api.anthropic.com", "ANTHROPIC_BASE_URL", []string{"ANTHROPIC_API_KEY"}, "ANTHROPIC_AUTH_TOKEN"},
		{"openai", []string{"responses", "chat"}, "https://api.openai.com/v1", "OPENAI_BASE_URL", []string{"OPENAI_API_KEY", "CODEX_API_KEY"}, ""},
		{"google", []string{"gemini"}, "https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, ""},
		{"copilot", []string{"responses", "chat"}, "", "COPILOT_PROVIDER_BASE_URL", nil, "COPILOT_PROVIDER_API_KEY"},
	}
}

// hosts returns the hosts of a program that uses a key of covey's, or a token of the operator's own gateway. env
// is covey's environment.
func (l Found) hosts(a configs.Agent, g configs.Gateway, env func(string) string) (map[string]gateway.Host, error) {
	all := map[string]gateway.Host{}
	for _, v := range vendors() {
		if l.preset.name != "" && !slices.Contains(l.preset.vendors, v.provider) {
			continue
		}
		h := gateway.Host{Provider: v.provider, URL: strings.TrimRight(cmp.Or(env(v.base), v.host), "/")}
		if h.URL == "" {
			continue
		}
		if u, err := url.Parse(h.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, texts.Errorf(configs.ErrSpec, "%s: %s is no URL of a host", a.Name, v.base)
		}
		switch token := env(v.bearer); {
		case a.Auth == configs.Key && slices.Contains(v.keys, l.key.Name):
			h.Key = func() (string, error) {
				key, err := l.readKey(a)
				return key.Value, err
			}
		case v.bearer != "" && token != "":
			h.Key, h.Bearer = func() (string, error) { return token, nil }, true
		case g.PassesLogin && l.preset.passes:
		default:
			continue
		}
		for _, api := range v.apis {
			all[api] = h
		}
	}
	if len(all) == 0 {
		return nil, texts.Errorf(configs.ErrSpec, "%s: %s", a.Name, l.noHost(a, g))
	}
	return all, nil
}

// replayed returns hosts that only name the models of a recording, as hosts did when it was made, so that the lines of
// the journal are the same.
func (l Found) replayed(a configs.Agent, passesLogin bool) map[string]gateway.Host {
	if a.Model.Script != "" {
		return scriptHosts(gateway.Host{Provider: "script", Free: true})
	}
	all := map[string]gateway.Host{}
	key := cmp.Or(a.KeyVar, l.key.Name)
	for _, v := range vendors() {
		if l.preset.name == "" && !slices.Contains(v.keys, key) || l.preset.name != "" && !slices.Contains(l.preset.vendors, v.provider) {
			continue
		}
		for _, api := range v.apis {
			all[api] = gateway.Host{Provider: v.provider, Free: passesLogin && l.preset.passes && a.Auth != configs.Key}
		}
	}
	return all
}

// scriptHosts returns the hosts of a program that plays a script.
func scriptHosts(host gateway.Host) map[string]gateway.Host {
	return map[string]gateway.Host{"anthropic": host, "responses": host, "chat": host, "gemini": host}
}

// noHost says why a program cannot pass a gateway, and the way out.
func (l Found) noHost(a configs.Agent, g configs.Gateway) string {
	way := "write auth: key"
	if len(l.preset.keyVars) == 0 {
		way = "write auth: {key: ANTHROPIC_API_KEY}, or the key of another vendor"
	}
	for _, v := range vendors() { // whose hosts are not known
		if v.host == "" && slices.Contains(l.preset.vendors, v.provider) {
			way = "set " + v.base + " and " + v.bearer
		}
	}
	other, off := "write gateway: off for its members", ", or gateway: off for its members"
	for _, list := range g.Models {
		if list.Policy != "" {
			other, off = "use another program, because the policy demands the gateway ("+list.Policy+")", ""
		}
	}
	switch {
	case l.program.gateway == nil:
		return "its program cannot be sent through the gateway; " + other
	case a.Auth == configs.Key && strings.HasPrefix(way, "set "):
		return "the gateway cannot use its key; " + way + off
	case a.Auth == configs.Key:
		return "the gateway does not know which host takes the key " + cmp.Or(l.key.Name, a.KeyVar) + "; " + other
	case g.PassesLogin:
		return "its program cannot pass the gateway with its own login; " + way + off
	case l.preset.passes:
		return "its program logs in by itself, which the gateway does not carry unless the spec says so; " + way + ", or gateway: {login: pass}"
	}
	return "its program logs in by itself, which the gateway does not carry; " + way + off
}

// CheckGateway reports the members whose programs cannot pass the gateway that the spec, or a recording, wants.
func CheckGateway(team *configs.Team, found map[string]Found, recorded bool) error {
	var errs []error
	told := map[string]bool{}
	for m := range team.EachAndTemplates() {
		if !m.Gateway.On && !recorded {
			continue
		}
		for _, a := range team.AgentsOf(*m) {
			l, ok := found[a.Name]
			if p, known := presetOf(a.Preset); ok && l.argv == nil && known { // it is not installed, which changes nothing
				l.preset, l.program = p, p.programs[0]
			}
			if !ok || l.program.gateway == nil && l.argv == nil || a.Model.Script != "" || l.key.Name == "" && a.Auth == configs.Key {
				continue // Find has reported it, or there is nothing to ask
			}
			if _, err := l.hosts(a, m.Gateway, os.Getenv); err != nil && !told[err.Error()] {
				told[err.Error()] = true
				errs = append(errs, team.Placed(a.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// route sends the program's requests to its member's script, through the gateway, or both. url is that of
// what it asks without the user's settings; empty: it has these.
func (f *instance) route(ctx context.Context, start *offer) (url string, err error) {
	member := f.Member.Current()
	a := f.Member.CurrentAgent()
	played := f.programs.deps.Scripts()[a.Model.Script]
	lane, err := f.programs.deps.Lane(f.Member)
	if err != nil {
		return "", err
	}
	if !member.Gateway.On && lane == nil {
		return f.scripted(ctx, start, played)
	}
	access := gateway.Access{
		Member: f.Member.Name, Models: member.Gateway.Models, MaxRequests: member.Limits.MaxTurns, Lane: lane,
	}
	switch {
	case lane.Replays():
		access.Models = nil // what was recorded was allowed
		access.Hosts = f.launch.replayed(a, member.Gateway.PassesLogin)
	case played != nil:
		access.Models = slices.DeleteFunc(slices.Clone(access.Models), func(l configs.ModelList) bool { return l.Policy != "" })
		url, key, err := f.programs.models.admit(ctx, played, f.programs.deps.Log)
		if err != nil {
			return "", fmt.Errorf("serve its script: %w", err)
		}
		host := gateway.Host{URL: url, Provider: "script", Free: true, Key: func() (string, error) { return key, nil }}
		access.Hosts = scriptHosts(host)
	default:
		if access.Hosts, err = f.launch.hosts(a, member.Gateway, os.Getenv); err != nil {
			return "", err
		}
		if a.Auth != configs.Key && !slices.ContainsFunc(vendors(), func(v vendor) bool {
			return slices.Contains(f.launch.preset.vendors, v.provider) && v.bearer != "" && os.Getenv(v.bearer) != ""
		}) {
			access.PassesLogin = accounts.LoginOf(&a)
		}
	}
	if f.door, err = f.programs.deps.Gateway.Open(access); err != nil {
		return "", err
	}
	if played != nil {
		return f.door.URL(), f.offline(start, f.door.URL(), f.door.Token())
	}
	f.hideKeys(start)
	token := f.door.Token()
	if access.PassesLogin != "" {
		token = ""
	}
	return "", f.launch.program.gateway(start, f.door.URL(), token)
}

// hideKeys takes out of a program's environment what is the gateway's alone: keys, and what leads past it.
func (f *instance) hideKeys(start *offer) {
	start.env = slices.DeleteFunc(start.env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == f.launch.key.Name || slices.ContainsFunc(vendors(), func(v vendor) bool {
			return name == v.base || name == v.bearer || slices.Contains(v.keys, name)
		}) || strings.HasPrefix(name, "CLAUDE_CODE_USE_")
	})
}

// closeDoor closes the program's way to its models.
func (f *instance) closeDoor() {
	if f.door != nil {
		f.door.Close()
	}
}
