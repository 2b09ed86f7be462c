package launch

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// nothingInstalled is a machine without agent programs.
func nothingInstalled(string) (string, error) { return "", exec.ErrNotFound }

// mandated is a team of a builtin lead and one teammate on agent, with rules
// that must hold for the teammate.
func mandated(agent configs.Agent, rules ...string) *configs.Team {
	return &configs.Team{
		Lead: configs.Member{Name: "lead", Agent: configs.Agent{Kind: configs.Builtin}},
		Teammates: []configs.Member{{
			Name: "api", Agent: agent, Permissions: configs.Permissions{Deny: rules, Mandatory: rules},
		}},
	}
}

// TestMandatoryRules goes through agents and rules.
func TestMandatoryRules(t *testing.T) {
	builtin := configs.Agent{Kind: configs.Builtin}
	gemini := configs.Agent{Name: "gemini", Kind: configs.ACP, Preset: configs.Gemini}
	codex := configs.Agent{Name: "codex", Kind: configs.ACP, Preset: configs.Codex}
	bare := configs.Agent{Name: "mine", Kind: configs.ACP, Command: []string{"mine"}}
	line := configs.Agent{Name: "lint", Kind: configs.Command, Command: []string{"lint"}}
	given := configs.Agent{Name: "go", Kind: configs.Given}
	for _, tc := range []struct {
		agent configs.Agent
		rule  string
		holds bool
	}{
		{builtin, "Bash(git push*)", true},
		{builtin, "Anything", true},
		{given, "Bash(git push*)", true},
		{gemini, "Bash(git push*)", true},
		{gemini, "Edit(policy/**)", true},
		{gemini, "mcp__github__push", true},
		{gemini, "mcp__github", true},
		{gemini, "Task", false},
		{codex, "Bash(git push*)", false},
		{bare, "Bash(git push*)", false},
		{bare, "mcp__github__push", false},
		{bare, "mcp__covey__team_send_message", true},
		{bare, "mcp__covey", true},
		{bare, "TaskCreate", true},
		{line, "Write", false},
		{line, "SendMessage", true},
		{line, "WebSearch", false},
	} {
		err := demandsOf(mandated(tc.agent, tc.rule))
		if (err == nil) != tc.holds || err != nil && !errors.Is(err, configs.ErrSpec) {
			t.Errorf("%s and %s: %v, want that it holds: %v", AgentTitle(tc.agent), tc.rule, err, tc.holds)
		}
	}
}

// TestMandatoryHooks: what a hook is about follows from its matcher and its if.
func TestMandatoryHooks(t *testing.T) {
	for _, tc := range []struct {
		event       hooks.Event
		matcher, If string
		mandatory   bool
		preset      configs.Preset
		holds       bool
	}{
		{hooks.PreToolUse, "Bash", "", true, configs.Gemini, true},
		{hooks.PreToolUse, "Bash|Edit|Write", "", true, configs.Gemini, true},
		{hooks.PreToolUse, "Bash|Read", "", true, configs.Gemini, false},
		{hooks.PreToolUse, "", "", true, configs.Gemini, false},
		{hooks.PreToolUse, "", "", false, configs.Gemini, true},
		{hooks.PreToolUse, "", "Bash(git push*)", true, configs.Gemini, true},
		{hooks.PreToolUse, "Edit", "Bash(git push*)", true, configs.Codex, true}, // it never runs
		{hooks.PreToolUse, "Bash", "", true, configs.Codex, false},
		{hooks.PermissionRequest, "mcp__.*", "", true, configs.Codex, true},
		{hooks.PreToolUse, "^(mcp__|Web)", "", true, configs.Codex, false},
		{hooks.PreToolUse, "mcp__.*|A.*", "", true, configs.Codex, false}, // tools that nobody knows yet
		{hooks.Stop, "", "", true, configs.Codex, true},
	} {
		team := mandated(configs.Agent{Name: string(tc.preset), Kind: configs.ACP, Preset: tc.preset})
		team.Hooks = hooks.Settings{tc.event: {{Matcher: tc.matcher, Hooks: []hooks.Handler{
			{Type: "command", Command: "./check.sh", If: tc.If, Mandatory: tc.mandatory},
		}}}}
		err := demandsOf(team)
		if (err == nil) != tc.holds {
			t.Errorf("%s %q if %q on %s: %v, want that it holds: %v", tc.event, tc.matcher, tc.If, tc.preset, err, tc.holds)
		}
	}
}

// TestMandatoryReads: a rule for files concerns the shell, which reads files, too; a bare one does not.
func TestMandatoryReads(t *testing.T) {
	for rule, want := range map[string]string{"Read(.env)": "Read Bash", "Read": "Read", "Edit(.env)": "Edit Write"} {
		list := ruleDemands(configs.Member{Permissions: configs.Permissions{Mandatory: []string{rule}}})
		if len(list) != 1 || strings.Join(list[0].kinds, " ") != want {
			t.Errorf("%s: %+v", rule, list)
		}
	}
}

// TestMandatoryTexts: everything is told at once, and every line names the
// member, the rule, the agent, and who could hold it.
func TestMandatoryTexts(t *testing.T) {
	codex := configs.Agent{Name: "codex", Kind: configs.ACP, Preset: configs.Codex}
	team := mandated(codex, "Bash(git push*)", "Write")
	team.Teammates = append(team.Teammates, configs.Member{
		Name: "docs", Agent: configs.Agent{Name: "lint", Kind: configs.Command},
		Permissions: configs.Permissions{Mandatory: []string{"Read(.env)"}},
	})
	err := demandsOf(team)
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines:\n%v", len(lines), err)
	}
	for i, parts := range [][]string{
		{"member api:", `rule "Bash(git push*)"`, "agent codex", "agents that ask first: builtin", "gemini", "of this team whose agents do: lead"},
		{"member api:", `rule "Write"`},
		{"member docs:", `rule "Read(.env)"`, "agent lint", "builtin"},
	} {
		for _, part := range parts {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %d lacks %q: %s", i+1, part, lines[i])
			}
		}
	}
}

// demandsOf is CheckDemands for the hooks of a team, with nothing installed.
func demandsOf(team *configs.Team) error {
	sources, _ := team.Sources()
	return CheckDemands(team, sources, nothingInstalled)
}

// TestMandatoryLayers: a mandatory hook in the head of an agent file binds that
// member, and one of helpers nobody.
func TestMandatoryLayers(t *testing.T) {
	team := mandated(configs.Agent{Kind: configs.Command, Command: []string{"x"}})
	layer := func(member, helper string) []settings.Source {
		h := hooks.Handler{Type: "command", Command: "guard", Mandatory: true}
		return []settings.Source{{Name: "s", Member: member, Helper: helper,
			Settings: hooks.Settings{hooks.PreToolUse: {{Hooks: []hooks.Handler{h}}}}}}
	}
	for _, m := range team.Members() {
		bound := func(l []settings.Source, member string) int {
			return len(hookDemands(l, member, func(h hooks.Handler) bool { return h.Mandatory }))
		}
		held := bound(layer(m.Name, ""), "") == 0 && bound(layer(m.Name, ""), m.Name) == 1
		if !held || bound(layer("", "reviewer"), m.Name) != 0 {
			t.Errorf("layers of %s bind others, or not it", m.Name)
		}
	}
	if err := CheckDemands(team, layer("", ""), nothingInstalled); err == nil {
		t.Error("a mandatory hook for all passes an agent that asks nobody")
	}
	if err := CheckDemands(team, layer("", "reviewer"), nothingInstalled); err != nil {
		t.Errorf("a hook for helpers: %v", err)
	}
}

func TestWithheldTools(t *testing.T) {
	for _, c := range []struct {
		kind  configs.AgentKind
		tools []string
		want  string
	}{
		{configs.Builtin, []string{"Read"}, ""},
		{configs.ACP, nil, ""},
		{configs.ACP, []string{"Bash", "Glob"}, "Edit MultiEdit NotebookEdit Write Read Grep WebFetch WebSearch"},
		{configs.Command, []string{"Write", "Bash"}, "Read Grep Glob LS WebFetch WebSearch"},
	} {
		m := configs.Member{Tools: c.tools, Agent: configs.Agent{Kind: c.kind}}
		if got := strings.Join(Withheld(m), " "); got != c.want {
			t.Errorf("%s with %q: withheld are %q, want %q", c.kind, c.tools, got, c.want)
		}
	}
}
