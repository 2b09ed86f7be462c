package launch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestLivingAgent: a member goes on with an agent program, then with one that is run
// for each prompt, and then with covey's own agent again, and hears what is written
// to it each time.
func TestLivingAgent(t *testing.T) {
	t.Parallel()
	base := strings.Replace(teamtest.LivingSpec, "lead: {model: lead}", "agents:\n"+
		"  fake: {use: acp, command: ['%PROGRAM%'], env: {"+fakeVariable+": '%DIR%'}}\n"+
		"  tool: {use: command, command: ['%PROGRAM%'], env: {"+commandFakeVariable+": '%DIR%'}}\nlead: {model: lead}", 1)
	r, _ := fakeRigOf(t, base, map[string]string{
		"lead.yaml": "steps: [{say: Fine., times: -1}]", "dev.yaml": "steps: [{say: Fine., times: -1}]",
	})
	l := &teamtest.Living{Underway: teamtest.Start(r, &teamtest.HandClock{})}
	l.Until("turn_ended", 1)
	l.Client = l.Underway.Client()
	text, err := os.ReadFile(filepath.Join(r.Dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Base(fakeBinary(t))
	for _, test := range []struct{ as, kind string }{
		{"{agent: fake}", "acp/" + program}, {"{agent: tool}", "command/" + program}, {"{model: dev}", "builtin/script"},
	} {
		seq := l.Lines.All()[len(l.Lines.All())-1].Seq
		change, err := l.Rewrite(strings.Replace(string(text), "dev: {model: dev}", "dev: "+test.as, 1))
		if err != nil || len(change.Members) != 1 || change.Members[0].Agent != test.kind {
			t.Fatalf("%s: change %+v, %v", test.as, change, err)
		}
		l.Lines.Wait(t, "dev on "+test.kind, func(line events.Line) bool {
			return line.Seq > seq && line.Type == "member_started" && line.Member == "dev" && strings.Contains(string(line.Data), test.kind)
		})
		if _, err := l.Client.Send(t.Context(), api.Send{To: "dev", Text: "Hello."}); err != nil {
			t.Fatal(err)
		}
		l.Lines.Wait(t, "dev's turn on "+test.kind, func(line events.Line) bool {
			return line.Seq > seq && line.Type == "turn_ended" && line.Member == "dev"
		})
	}
	l.Down()
}

// TestLivingPluginServer: the server of a plugin that a running team is given serves its
// hooks at once.
func TestLivingPluginServer(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "rig", Version: "1"}, nil)
	type in struct {
		X string `json:"x"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in in,
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.X}}}, nil, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	l := teamtest.NewLiving(t, map[string]string{
		"p/.mcp.json": fmt.Sprintf(`{"mcpServers": {"rig": {"type": "http", "url": %q}}}`, web.URL),
		"p/hooks/hooks.json": `{"hooks": {"Stop": [{"hooks": [{"type": "mcp_tool", "server": "plugin:p:rig", "tool": "echo",
			"input": {"x": "hello"}}]}]}}`,
	})
	spec := teamtest.LivingSpec + "plugins: [./p]\n"
	if _, err := l.Rewrite(spec); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Client.Send(t.Context(), api.Send{To: "dev", Text: "Hello?"}); err != nil {
		t.Fatal(err)
	}
	l.Lines.Wait(t, "the hook's word", func(line events.Line) bool {
		return line.Type == "hook_finished" && line.Member == "dev" && strings.Contains(string(line.Data),
			`"stdout":"hello`)
	})
	if _, err := l.Rewrite(teamtest.LivingSpec); err != nil {
		t.Fatal(err)
	}
	l.Down()
}
