//go:build unix

package launch_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/teamtools"
)

// claudeFake is a `claude -p` of three prompts: it tells what all prompts of its session
// have cost so far, a dollar each, and keeps how it was started.
const claudeFake = `#!/bin/sh
cat >>"$FAKE/prompts"
n=$(($(cat "$FAKE/n" 2>/dev/null || echo 0) + 1))
echo $n >"$FAKE/n"
for arg; do printf '%s\n' "$arg"; done >"$FAKE/args.$n"
echo "$COVEY_MCP_TOKEN" >>"$FAKE/tokens"
echo '{"type":"system","subtype":"init","session_id":"s-1"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","total_cost_usd":'$n',
"usage":{"input_tokens":10,"output_tokens":1}}' | tr -d '\n'
echo
`

// TestClaudeOnceForEachPrompt: `claude -p` gets the team tools and its member's rules as
// arguments, a token for each of its runs, and each prompt is billed once.
func TestClaudeOnceForEachPrompt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "claude")
	if err := testkit.WriteProgram(program, []byte(claudeFake)); err != nil {
		t.Fatal(err)
	}
	r := teamtest.NewRig(t, map[string]string{"lead.yaml": "steps: [{say: I wait., times: -1}]", "team.yaml": `covey: 1
name: crew
models: {lead: {provider: script, script: lead.yaml}}
agents:
  tool: {use: claude, command: [` + program + `, -p, --settings, '{"model":"x"}'], env: {FAKE: ` + dir + `}}
lead: {model: lead}
teammates:
  dev:
    agent: tool
    permissions: {allow: ["Bash(go test *)"], ask: ["Bash(git push*)"], deny: ["Bash(touch *)"]}
tasks: [{id: a, subject: One, owner: dev}]
hooks:
  Stop: [{hooks: [{type: command, command: "test $COVEY_MEMBER = lead && exit 0; test $(cat ` + dir + `/n) -ge 3 && exit 0; echo again >&2; exit 2"}]}]
`})
	e := r.Run(orchestrator.Options{})
	var billed []float64
	for _, end := range teamtest.Of[events.TurnEnded](r, "turn_ended") {
		billed = append(billed, end.CostUSD)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(data))
	}
	prompts := read("n")
	if total := e.Members[1].CostUSD; prompts != fmt.Sprint(total) || !slices.Contains(billed, 3) {
		t.Errorf("%s prompts at a dollar each cost %v; the turns cost %v", prompts, total, billed)
	}
	tokens := strings.Fields(read("tokens"))
	if len(tokens) < 3 || tokens[0] == "" || tokens[0] == tokens[1] {
		t.Errorf("%d runs have the tokens %q", len(tokens), tokens)
	}
	args := strings.Split(read("args.2"), "\n")
	checkClaudeArguments(t, args)
	for _, token := range tokens {
		if strings.Contains(strings.Join(args, " "), token) {
			t.Errorf("a token is in the arguments, which everybody can read: %q", args)
		}
	}
	if said := read("prompts"); !strings.Contains(said, teamtools.ClaimTool) || strings.Contains(said, "tasks update") {
		t.Errorf("its prompts name tools that it has not:\n%s", said)
	}
}

// checkClaudeArguments holds the arguments of `claude -p` against what it needs.
func checkClaudeArguments(t *testing.T, args []string) {
	t.Helper()
	var settings struct {
		Model           string
		DisableAllHooks bool
		Permissions     struct{ Allow, Ask, Deny []string }
	}
	var servers struct {
		MCPServers map[string]struct {
			Type, URL string
			Headers   map[string]string
		}
	}
	behind := func(flag string) string {
		if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
			return args[i+1]
		}
		t.Errorf("the arguments lack %s: %q", flag, args)
		return "{}"
	}
	if err := json.Unmarshal([]byte(behind("--settings")), &settings); err != nil {
		t.Error(err)
	}
	may := settings.Permissions
	if settings.Model != "x" || !settings.DisableAllHooks || !slices.Equal(may.Allow, []string{"Bash(go test *)"}) ||
		!slices.Equal(may.Ask, []string{"Bash(git push*)"}) || !slices.Equal(may.Deny, []string{"Bash(touch *)"}) {
		t.Errorf("the settings are %+v", settings)
	}
	if err := json.Unmarshal([]byte(behind("--mcp-config")), &servers); err != nil {
		t.Error(err)
	}
	server := servers.MCPServers["covey"]
	if server.Type != "http" || !strings.HasPrefix(server.URL, "http://127.0.0.1:") ||
		server.Headers["Authorization"] != "Bearer ${COVEY_MCP_TOKEN}" {
		t.Errorf("the server is %+v", server)
	}
	if allowed := behind("--allowedTools"); !strings.Contains(allowed, "mcp__covey") {
		t.Errorf("allowed is %q", allowed)
	}
	if resumed := behind("--resume"); resumed != "s-1" {
		t.Errorf("session %q is resumed", resumed)
	}
}
