package configs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/testkit"
	"pgregory.net/rapid"
)

// TestRoundTrip draws teams, writes each as YAML and as JSON, and reads it
// back: both must give the team that was drawn.
func TestRoundTrip(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"demo.yaml": "", "two.yaml": ""})
	rapid.Check(t, func(t *rapid.T) {
		d := drawer{t: t, dir: dir}
		want, spec := d.team()
		asJSON, err := json.MarshalIndent(spec, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		asYAML := d.block(spec, "")
		for _, text := range [][]byte{asJSON, []byte(asYAML)} {
			got, err := Parse(want.File, text)
			if err != nil {
				t.Fatalf("%v\nin\n%s", err, text)
			}
			got.Warnings, got.places = nil, nil
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("got  %+v\nwant %+v\nof\n%s", got, want, text)
			}
		}
	})
}

// spec is a mapping on its way into a file; its order stays.
type spec []item

type item struct {
	Key   string
	Value any
}

// MarshalJSON writes an object in the mapping's order.
func (s spec) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for n, i := range s {
		if n > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(i.Value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", i.Key, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// drawer draws a team together with the spec that means it.
type drawer struct {
	t   *rapid.T
	dir string
}

func (d drawer) oneIn(n int, what string) bool { return rapid.IntRange(1, n).Draw(d.t, what) == 1 }

// words draws text that YAML and JSON must both bring through unharmed.
func (d drawer) words(what string) string {
	return rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z][a-z ,.:#'"&*!|>%@{}\[\]-]{0,30}[a-z]`),
		rapid.SampledFrom([]string{"true", "null", "3", "1.5", "~", "- a", "a: b", "# a", "é 😀", "two\nlines\n", "\ta",
			" a ", "'", "\"", "\\n", "a\\b", "yes", "0x1", "[a]", "{a: b}", "*a", "&a", "!a", "|", ">", "%", "@", "`", "$$", "${A}", "on", "off"}),
	).Draw(d.t, what)
}

func (d drawer) team() (*Team, spec) {
	demo := Model{Name: "demo", Provider: Script, Script: filepath.Join(d.dir, "demo.yaml")}
	coder := Agent{Name: "coder", Kind: Builtin, Model: demo}
	rev, revSpec := d.program("rev", demo)
	team := &Team{
		File: filepath.Join(d.dir, "team.yaml"), Name: "crew", Goal: d.words("goal"), Workspace: d.dir,
		Models: map[string]Model{"demo": demo}, Agents: map[string]Agent{"coder": coder, "rev": rev},
		Keep:  rapid.Bool().Draw(d.t, "keep"),
		Merge: Merge{Via: ViaBranch, Per: PerTask}, Budget: Budget{OnLimit: WaitForLimit}, OnAsk: DenyAsk,
		AskLimit: 10 * time.Minute,
	}
	out := spec{
		{Key: "covey", Value: 1}, {Key: "name", Value: "crew"}, {Key: "goal", Value: team.Goal},
		{Key: "models", Value: spec{{Key: "demo", Value: spec{{Key: "provider", Value: "script"}, {Key: "script", Value: "demo.yaml"}}}}},
		{Key: "agents", Value: spec{{Key: "coder", Value: spec{{Key: "model", Value: "demo"}}}, {Key: "rev", Value: revSpec}}},
		{Key: "keep", Value: team.Keep},
	}
	var value any
	team.Lead, value = d.member("lead", []Agent{coder, rev}, false)
	out = append(out, item{Key: "lead", Value: value})
	mates := spec{}
	for i := range rapid.IntRange(0, 3).Draw(d.t, "teammates") {
		m, value := d.member(fmt.Sprintf("m%d", i), []Agent{coder, rev}, true)
		team.Teammates = append(team.Teammates, m)
		mates = append(mates, item{Key: m.Name, Value: value})
	}
	out = append(out, item{Key: "teammates", Value: mates})
	var tasks []spec
	team.Tasks, tasks = d.tasks(team.Members())
	return team, append(out, item{Key: "tasks", Value: tasks})
}

// member draws a member in one of its three forms. Its agent is one of agents, a
// preset, or builtin on an inline model.
func (d drawer) member(name string, agents []Agent, claims bool) (Member, any) {
	preset := rapid.SampledFrom(Presets()).Draw(d.t, "preset")
	agents = append(agents, Agent{Name: preset, Kind: ACP, Preset: Preset(preset), Auth: Login})
	agent := rapid.SampledFrom(agents).Draw(d.t, "agent")
	m := Member{Name: name, Agent: agent, PermissionMode: Default, SelfClaim: claims,
		Limits: Limits{StopBlockCap: 8, MaxInProgress: 1, Background: 30 * time.Minute}, Restart: Restart{Max: 3, Within: time.Hour},
		Rotate: RotateNever, Role: cmp.Or(agent.Name, name)}
	if d.oneIn(3, "short form") {
		return m, agent.Name
	}
	out := spec{{Key: "agent", Value: agent.Name}}
	if d.oneIn(3, "inline model") {
		m.Agent = Agent{Kind: Builtin, Model: Model{Provider: Script, Script: filepath.Join(d.dir, "two.yaml")}}
		m.Role = name
		out = spec{{Key: "model", Value: spec{{Key: "script", Value: "./two.yaml"}, {Key: "provider", Value: "script"}}}}
	}
	add := func(key string, value any) { out = append(out, item{key, value}) }
	if d.oneIn(2, "description") {
		m.Description = d.words("description")
		add("description", m.Description)
	}
	if d.oneIn(2, "instructions") {
		m.Instructions = d.words("instructions")
		add("instructions", m.Instructions)
	}
	if d.oneIn(2, "tools") {
		m.Tools = rapid.SliceOfNDistinct(rapid.SampledFrom(settings.OwnTools()), 0, 4, rapid.ID).Draw(d.t, "tools")
		add("tools", m.Tools)
	}
	if d.oneIn(2, "permissions") {
		var rules spec
		m.Permissions, rules = d.permissions()
		add("permissions", rules)
	}
	if d.oneIn(2, "mode") {
		m.PermissionMode = rapid.SampledFrom([]PermissionMode{Default, Plan, AcceptEdits, DontAsk,
			BypassPermissions}).Draw(d.t, "mode")
		add("permission_mode", string(m.PermissionMode))
	}
	if d.oneIn(2, "self_claim") {
		m.SelfClaim = rapid.Bool().Draw(d.t, "self_claim")
		add("self_claim", m.SelfClaim)
	}
	if d.oneIn(2, "rotate") {
		m.Rotate = rapid.SampledFrom([]Rotation{RotateNever, RotateAfterTask}).Draw(d.t, "rotate")
		add("rotate", string(m.Rotate))
	}
	if d.oneIn(2, "memory") {
		m.Memory = MemoryInState
		add("memory", "on")
	}
	if d.oneIn(2, "limits") {
		var limits spec
		m.Limits, limits = d.limits()
		add("limits", limits)
	}
	return m, out
}

// program draws an agent that is a program.
func (d drawer) program(name string, demo Model) (Agent, spec) {
	use := rapid.SampledFrom(kindWords()[1:]).Draw(d.t, "use")
	a, out := Agent{Name: name, Kind: ACP, Auth: Login}, spec{{Key: "use", Value: use}}
	add := func(key string, value any) { out = append(out, item{key, value}) }
	if isPreset(use) {
		a.Preset = Preset(use)
	} else {
		a.Kind = AgentKind(use)
	}
	if a.Preset == "" || d.oneIn(3, "command") {
		a.Command = []string{"program", d.words("argument"), ""}
		add("command", a.Command)
	}
	if a.Kind == Command && d.oneIn(2, "resume") {
		a.Resume = []string{d.words("argument"), "{session}"}
		add("resume", a.Resume)
	}
	if d.oneIn(2, "env") {
		env := spec{}
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Z_a-z][A-Z0-9_]{0,5}`), 1, 3, rapid.ID).Draw(d.t, "names") {
			value := d.words("value")
			v := EnvVar{Name: name, Value: value, Text: strings.ReplaceAll(value, "$", "$$")}
			env, a.Env = append(env, item{name, v.Text}), append(a.Env, v)
		}
		add("env", env)
	}
	if d.oneIn(3, "key") {
		a.Auth, a.KeyVar, a.KeyFile = Key, "API_KEY", filepath.Join(d.dir, "two.yaml")
		add("auth", spec{{Key: "key", Value: "API_KEY"}, {Key: "file", Value: "two.yaml"}})
	}
	if d.oneIn(3, "model") {
		a.Model = demo
		add("model", "demo")
	}
	if d.oneIn(3, "parallel") {
		a.Parallel = rapid.IntRange(1, 1<<30).Draw(d.t, "parallel")
		add("parallel", a.Parallel)
	}
	if d.oneIn(3, "native") {
		a.NativeHooks = rapid.Bool().Draw(d.t, "native_hooks")
		add("native_hooks", map[bool]any{true: "on", false: false}[a.NativeHooks])
	}
	return a, out
}

// permissions draws rules, some of them mandatory.
func (d drawer) permissions() (Permissions, spec) {
	p := Permissions{Allow: []string{"Read"}}
	var lists [2][]spec
	for i, to := range []*[]string{&p.Ask, &p.Deny} {
		*to, lists[i] = []string{}, []spec{}
		known := rapid.SampledFrom([]string{"Bash", "Edit(a/**)", "Bash(git push*)", "Write", "mcp__x__y"})
		for _, rule := range rapid.SliceOfNDistinct(known, 0, 3, rapid.ID).Draw(d.t, "rules") {
			*to = append(*to, rule)
			entry := spec{{Key: "rule", Value: rule}}
			if d.oneIn(2, "mandatory") {
				entry = append(entry, item{"mandatory", true})
				if !slices.Contains(p.Mandatory, rule) {
					p.Mandatory = append(p.Mandatory, rule)
				}
			}
			lists[i] = append(lists[i], entry)
		}
	}
	return p, spec{{Key: "allow", Value: p.Allow}, {Key: "ask", Value: lists[0]}, {Key: "deny", Value: lists[1]}}
}

func (d drawer) limits() (Limits, spec) {
	l := Limits{
		MaxTurns:      rapid.IntRange(0, 1<<30).Draw(d.t, "max_turns"),
		MaxInProgress: rapid.IntRange(0, 3).Draw(d.t, "max_in_progress"),
		MaxTokens:     rapid.Int64Range(0, 1<<53).Draw(d.t, "max_tokens"),
		TurnTimeout:   time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(d.t, "turn_timeout")),
		StopBlockCap:  rapid.IntRange(0, 100).Draw(d.t, "stop_block_cap"),
		MaxBudgetUSD:  float64(rapid.IntRange(0, 1_000_000).Draw(d.t, "cents")) / 100,
		Background:    time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(d.t, "background")),
	}
	return l, spec{
		{Key: "max_turns", Value: l.MaxTurns}, {Key: "max_tokens", Value: l.MaxTokens},
		{Key: "turn_timeout", Value: l.TurnTimeout.String()}, {Key: "stop_block_cap", Value: l.StopBlockCap},
		{Key: "max_budget_usd", Value: l.MaxBudgetUSD}, {Key: "max_in_progress", Value: l.MaxInProgress},
		{Key: "background", Value: l.Background.String()},
	}
}

// tasks draws tasks that wait for earlier ones only, so that there is no cycle.
func (d drawer) tasks(members []Member) ([]Task, []spec) {
	tasks, out := []Task{}, []spec{}
	for i := range rapid.IntRange(0, 4).Draw(d.t, "tasks") {
		task := Task{ID: fmt.Sprintf("t%d", i), Subject: d.words("subject")}
		entry := spec{{Key: "id", Value: task.ID}, {Key: "subject", Value: task.Subject}}
		if d.oneIn(2, "owner") {
			task.Owner = rapid.SampledFrom(members).Draw(d.t, "owner").Name
			entry = append(entry, item{Key: "owner", Value: task.Owner})
		}
		if i > 0 && d.oneIn(2, "blocked") {
			task.BlockedBy = []string{tasks[rapid.IntRange(0, i-1).Draw(d.t, "blocker")].ID}
			entry = append(entry, item{Key: "blocked_by", Value: task.BlockedBy})
		}
		if d.oneIn(3, "labels") {
			task.Labels = []string{strings.ToLower(d.words("label"))}
			entry = append(entry, item{Key: "labels", Value: task.Labels})
		}
		tasks, out = append(tasks, task), append(out, entry)
	}
	return tasks, out
}

// block writes a mapping as YAML that people write: block style, each text in
// a style drawn for it.
func (d drawer) block(s spec, indent string) string {
	var b strings.Builder
	for _, i := range s {
		b.WriteString(indent + i.Key + ":")
		switch v := i.Value.(type) {
		case spec:
			if len(v) == 0 {
				b.WriteString(" {}\n")
				continue
			}
			b.WriteString("\n" + d.block(v, indent+"  "))
		case []spec:
			if len(v) == 0 {
				b.WriteString(" []\n")
				continue
			}
			b.WriteByte('\n')
			for _, entry := range v {
				b.WriteString(indent + "- " + strings.TrimPrefix(d.block(entry, indent+"  "), indent+"  "))
			}
		case []string:
			quoted := make([]string, len(v))
			for i, text := range v {
				quoted[i] = double(text)
			}
			b.WriteString(" [" + strings.Join(quoted, ", ") + "]\n")
		case string:
			b.WriteString(" " + d.scalar(v, indent+"  ") + "\n")
		default:
			fmt.Fprintf(&b, " %v\n", v)
		}
	}
	return b.String()
}

// scalar writes text in one of the styles that can hold it.
func (d drawer) scalar(text, indent string) string {
	styles := []string{double(text)}
	if !strings.ContainsAny(text, "\n\t") {
		styles = append(styles, "'"+strings.ReplaceAll(text, "'", "''")+"'")
	}
	if strings.HasSuffix(text, "\n") {
		lines := strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+indent)
		styles = append(styles, "|\n"+indent+lines)
	}
	if plainWord(text) {
		styles = append(styles, text)
	}
	return rapid.SampledFrom(styles).Draw(d.t, "style")
}

// plainWord reports whether text needs no quotes anywhere in YAML.
func plainWord(text string) bool {
	for _, r := range text {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == ' ' || r == '.') {
			return false
		}
	}
	return text != "true" && text != "null" && strings.TrimSpace(text) == text
}

// double writes text in double quotes, as JSON does.
func double(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}
