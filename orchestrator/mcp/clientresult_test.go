package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/teammate/agent"
)

// changingServerName, set in the environment, makes the test binary a server whose tools change.
const changingServerName = "ORCHESTRATOR_TEST_CHANGING_SERVER"

// TestAsChangingServer is no test: it is the program that tests start.
func TestAsChangingServer(t *testing.T) {
	if os.Getenv(changingServerName) == "" {
		t.Skip("started by other tests only")
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "changing", Version: "1"}, nil)
	anyTool(server, sdk.Tool{Name: "die"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	anyTool(server, sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		anyTool(server, sdk.Tool{Name: "grown"}, saying("grown"))
		return &sdk.CallToolResult{}, nil
	})
	_ = server.Run(context.Background(), &sdk.StdioTransport{})
	os.Exit(0)
}

// TestProgramsToolsChange: a list that changes is taken up over stdio too, and is read anew from the
// program that takes the place of one that has ended.
func TestProgramsToolsChange(t *testing.T) {
	t.Parallel()
	s := rigProgram(t, "rig")
	s.Command[1], s.Env = "-test.run=^TestAsChangingServer$", map[string]string{changingServerName: "1"}
	r := newClientRig(t, nil, s)
	first := []string{"mcp__rig__die", "mcp__rig__grow"}
	if got := keysOf(r.tools()); !slices.Equal(got, first) {
		t.Fatal(got)
	}
	if got := r.use("mcp__rig__grow", `{}`); got.IsError || got.Content != "" || string(got.Response) != `[{"type":"text","text":""}]` {
		t.Errorf("a result without content is %+v, %s", got, got.Response)
	}
	testkit.Eventually(t, "the new tool", func() bool { return len(r.tools()) == 3 })
	if got := r.use("mcp__rig__grown", `{}`); got.Content != "grown" {
		t.Error(got)
	}
	if got := r.use("mcp__rig__die", `{}`); !got.IsError {
		t.Error(got)
	}
	testkit.Eventually(t, "the list of the next program", func() bool { return slices.Equal(keysOf(r.tools()), first) })
}

// TestSilentServerKeepsNobody: a call of a server that never answers initialize ends with the member's
// turn, and the program ends with the team.
func TestSilentServerKeepsNobody(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, nil, badProgram(t, "slow", "silent"))
	started, ended := make(chan struct{}), make(chan struct{})
	r.Started = func(int) func() {
		close(started)
		return func() { close(ended) }
	}
	ctx, interrupt := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := r.CallTool(ctx, "slow", "any", nil)
		failed <- err
	}()
	<-started
	interrupt()
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "'slow' not connected") {
		t.Errorf("the call: %v", err)
	}
	r.Replace(nil)
	<-ended
}

// TestToolNames: whatever a server calls its tools, their names are ones that providers take, each is
// another's, none depends on the order of the list, and rules on the server catch all of them.
func TestToolNames(t *testing.T) {
	rule, err := rules.Parse("mcp__docs__*")
	testkit.Must(t, err)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[ab._/é-]{1,4}`), rapid.StringMatching(`[a.]{50,70}`), rapid.String())
		list := rapid.SliceOfNDistinct(name, 1, 20, rapid.ID[string]).Draw(t, "tools")
		names := toolNames("mcp__docs__", toolsNamed(list))
		seen := map[string]bool{}
		for i, got := range names {
			if len(got) > maxName || !strings.HasPrefix(got, "mcp__docs__") || strings.ContainsFunc(got, func(r rune) bool {
				return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r)
			}) {
				t.Errorf("%q becomes %q", list[i], got)
			}
			if seen[got] {
				t.Errorf("%q is there twice, of %q", got, list)
			}
			if seen[got] = true; !rule.Permits(rules.Call{Tool: got}) || !rule.Forbids(rules.Call{Tool: got}) {
				t.Errorf("%s does not catch %q", rule, got)
			}
		}
		slices.Reverse(list)
		back := toolNames("mcp__docs__", toolsNamed(list))
		if slices.Reverse(back); !slices.Equal(back, names) {
			t.Errorf("the names are %q, and in another order %q", names, back)
		}
	})
}

// toolsNamed returns tools with names.
func toolsNamed(names []string) (tools []*sdk.Tool) {
	for _, name := range names {
		tools = append(tools, &sdk.Tool{Name: name})
	}
	return tools
}

// TestResults: what is no text is named, and a result that is an error has no response for hooks.
func TestResults(t *testing.T) {
	image := &sdk.ImageContent{MIMEType: "image/png", Data: []byte("1234")}
	for name, tc := range map[string]struct {
		result         sdk.CallToolResult
		text, response string
	}{
		"image": {sdk.CallToolResult{Content: []sdk.Content{image}}, "[an image, image/png, which cannot be shown: it is no PNG, JPEG, GIF or WebP image]",
			`[{"type":"text","text":"[an image, image/png, which cannot be shown: it is no PNG, JPEG, GIF or WebP image]"}]`},
		"error":    {sdk.CallToolResult{Content: []sdk.Content{image}, IsError: true}, "[an image, image/png, 4 bytes, which cannot be shown here]", ``},
		"resource": {sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{}}}, "[an empty resource]", `[{"type":"text","text":"[an empty resource]"}]`},
		"link": {sdk.CallToolResult{Content: []sdk.Content{&sdk.ResourceLink{URI: "x:a", Name: "a", Description: "the first"}}},
			"[the resource x:a: a the first]", `[{"type":"text","text":"[the resource x:a: a the first]"}]`},
		"structure": {sdk.CallToolResult{StructuredContent: map[string]any{"n": 1}}, `{"n":1}`, `[{"type":"text","text":"{\"n\":1}"}]`},
	} {
		got := resultOf(&tc.result)
		if got.Content != tc.text || string(got.Response) != tc.response || got.IsError != tc.result.IsError {
			t.Errorf("%s: %+v, %s", name, got, got.Response)
		}
	}
	var tool agent.Renderer = memberTool{}
	for response, want := range map[string]string{
		`"changed"`: "changed", `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`: "a\nb", `[]`: "",
	} {
		if got, err := tool.Render(json.RawMessage(response)); err != nil || got.Content != want || got.Images != nil {
			t.Errorf("%s is shown as %+v, %v", response, got, err)
		}
	}
	if _, err := tool.Render(json.RawMessage(`{"text":"a"}`)); err == nil {
		t.Error("an object is shown")
	}
	if r, err := tool.Render(json.RawMessage(`[{"type":"image","source":{"type":"base64","data":"YQ=="}}]`)); err == nil {
		t.Errorf("what is no image is shown: %+v", r)
	}
}

// TestImages: a model gets the images of a result, whatever type the server says they are of, and hooks
// can replace them.
func TestImages(t *testing.T) {
	data, err := base64.StdEncoding.DecodeString("R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==")
	testkit.Must(t, err)
	image := &sdk.ImageContent{MIMEType: "image/png", Data: data}
	got := resultOf(&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "here"}, image}})
	block := `{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"` + base64.StdEncoding.EncodeToString(data) + `"}}`
	response := `[{"type":"text","text":"here\n[image/gif, 1x1 pixels, 1 kB]"},` + block + `]`
	if got.Content != "here\n[image/gif, 1x1 pixels, 1 kB]" || string(got.Response) != response || len(got.Images) != 1 {
		t.Errorf("%+v, %s", got, got.Response)
	}
	again, err := memberTool{}.Render(got.Response)
	if err != nil || again.Content != got.Content || len(again.Images) != 1 || !bytes.Equal(again.Images[0].Source.Data, data) {
		t.Errorf("%+v, %v", again, err)
	}
}
