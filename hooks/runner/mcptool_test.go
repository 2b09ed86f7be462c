package runner

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/hooks"
	settingspkg "github.com/coveyteam/covey/hooks/settings"
)

// toolbox is a Tools that answers as a test wants, and remembers its calls.
type toolbox struct {
	answer func(ctx context.Context, call ToolCall) (ToolReply, error)
	mu     sync.Mutex
	calls  []ToolCall
}

func (b *toolbox) CallTool(ctx context.Context, call ToolCall) (ToolReply, error) {
	b.mu.Lock()
	b.calls = append(b.calls, call)
	b.mu.Unlock()
	return b.answer(ctx, call)
}

// giving is a toolbox that always gives reply.
func giving(reply ToolReply) *toolbox {
	return &toolbox{answer: func(context.Context, ToolCall) (ToolReply, error) { return reply, nil }}
}

// called fires an event with handlers that call tools.
func called(t *testing.T, tools Tools, in hooks.Input, handlers ...hooks.Handler) hooks.Outcome {
	t.Helper()
	settings := hooks.Settings{in.Payload.Event(): {{Hooks: handlers}}}
	r, err := New([]settingspkg.Source{{Name: "test", Settings: settings}}, &Options{Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Run(t.Context(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestConformanceTools(t *testing.T) {
	cases := modelCases(t)
	absent := cases["mcp_tool_hook"]
	out := called(t, nil, recordedStop("first answer", false), absent.Hooks[hooks.Stop][0].Hooks[0])
	for _, s := range absent.Stream {
		if s.Event != "Stop" {
			continue
		}
		if got := out.Results[0]; got.ExitCode != s.ExitCode || got.Stderr != s.Stderr || got.Outcome != hooks.NonBlockingError {
			t.Errorf("got %+v, want %+v", got, s)
		}
	}
	there := cases["mcp_tool_hook_connected"]
	box := giving(ToolReply{Text: there.Stream[len(there.Stream)-1].Stdout})
	out = called(t, box, recordedStop("first", false), there.Hooks[hooks.Stop][0].Hooks[0])
	want := there.Requests[2].New[1:]
	if len(out.Messages) != 2 || "user: "+out.Messages[0] != want[0] || "user: "+hooks.Unframed(out.Messages[1]) != want[1] {
		t.Errorf("the model sees %q, want %q", out.Messages, want)
	}
	if got := box.calls[0]; got.Server != "rig" || got.Tool != "check" || string(got.Arguments) != `{"x":"first"}` {
		t.Errorf("call %+v, %s", got, got.Arguments)
	}
}

func TestToolResults(t *testing.T) {
	h := hooks.Handler{Type: "mcp_tool", Server: "s", Tool: "t"}
	closed := h
	closed.OnFailure = "block"
	pre := hooks.Input{Payload: hooks.PreToolUseInput{ToolName: "Bash"}}
	for _, tc := range []struct {
		name         string
		h            hooks.Handler
		reply        ToolReply
		in           hooks.Input
		decision     hooks.Decision
		failedOpen   int
		context, say string
	}{
		{"a deny", h, ToolReply{Text: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}`},
			pre, hooks.Block, 0, "", "Blocked by hook"},
		{"text is context", h, ToolReply{Text: "it rains"}, hooks.Input{Payload: hooks.UserPromptSubmitInput{}}, hooks.Pass, 0, "it rains", ""},
		{"text elsewhere", h, ToolReply{Text: "fine"}, pre, hooks.Pass, 0, "", ""},
		{"nothing", h, ToolReply{}, pre, hooks.Pass, 0, "", ""},
		{"an error", h, ToolReply{Text: "broken", IsError: true}, pre, hooks.Pass, 1, "", ""},
		{"a closed error", closed, ToolReply{Text: "broken", IsError: true}, pre, hooks.Block, 0, "", "[s/t]: failed; blocking because onFailure is \"block\"\nbroken"},
		{"closed text", closed, ToolReply{Text: "fine"}, pre, hooks.Block, 0, "", "is not a hook's answer"},
		{"a closed picture", closed, ToolReply{Other: true}, pre, hooks.Block, 0, "", "no text"},
		{"closed JSON", closed, ToolReply{Text: `{"weather":1}`}, pre, hooks.Block, 0, "", "is not a hook's answer"},
		{"a closed answer", closed, ToolReply{Text: `{"systemMessage":"hm"}`}, pre, hooks.Pass, 0, "", ""},
		{"closed nothing", closed, ToolReply{}, pre, hooks.Pass, 0, "", ""},
		{"closed, compaction", closed, ToolReply{Text: "x"}, hooks.Input{Payload: hooks.RawPayload{Name: hooks.PreCompact}}, hooks.Pass, 0, "", ""},
		{"any word closes", hooks.Handler{Type: "mcp_tool", Server: "s", Tool: "t", OnFailure: "stop"},
			ToolReply{IsError: true}, pre, hooks.Block, 0, "", "does not say why"},
	} {
		out := called(t, giving(tc.reply), tc.in, tc.h)
		if out.Decision != tc.decision || out.FailedOpen() != tc.failedOpen ||
			!strings.Contains(strings.Join(out.AdditionalContext, ""), tc.context) ||
			!strings.Contains(strings.Join(out.Feedback, ""), tc.say) {
			t.Errorf("%s: %+v", tc.name, out)
		}
	}
}

func TestToolTrouble(t *testing.T) {
	h := hooks.Handler{Type: "mcp_tool", Server: "s", Tool: "t"}
	in := hooks.Input{Payload: hooks.StopInput{}}
	broken := &toolbox{answer: func(context.Context, ToolCall) (ToolReply, error) { panic("oh") }}
	if out := called(t, broken, in, h); out.FailedOpen() != 1 || !strings.Contains(out.Results[0].Stderr, "panicked: oh") {
		t.Errorf("%+v", out.Results)
	}
	h.Timeout = 0.05
	slow := &toolbox{answer: func(ctx context.Context, _ ToolCall) (ToolReply, error) {
		<-ctx.Done()
		return ToolReply{}, ctx.Err()
	}}
	if out := called(t, slow, in, h); out.Results[0].Outcome != hooks.Cancelled || out.Decision != hooks.Pass {
		t.Errorf("%+v", out.Results)
	}
	h.Gate, h.Timeout = true, 0
	if out := called(t, nil, in, h); out.Decision != hooks.Block || !strings.Contains(out.Feedback[0], "not connected") {
		t.Errorf("a gate without its server: %+v", out)
	}
	h.Input = map[string]json.RawMessage{"a": json.RawMessage(`{`)}
	if out := called(t, slow, in, h); !strings.Contains(out.Feedback[0], "input.a is not valid JSON") || len(slow.calls) != 1 {
		t.Errorf("%+v", out)
	}
	if !errors.Is(NotConnected("x"), ErrNotConnected) {
		t.Error("NotConnected is no ErrNotConnected")
	}
}

// TestToolsInTools: a tool that fires the event of its own hook comes to an end.
func TestToolsInTools(t *testing.T) {
	var r *Runner
	deepest := ""
	box := &toolbox{}
	box.answer = func(ctx context.Context, _ ToolCall) (ToolReply, error) {
		out, err := r.Run(ctx, hooks.Input{Payload: hooks.TaskCreatedInput{}}, nil)
		if err == nil && len(box.calls) == maxDepth && deepest == "" {
			deepest = out.Results[0].Stderr
		}
		return ToolReply{}, err
	}
	r, err := New([]settingspkg.Source{{Settings: hooks.Settings{hooks.TaskCreated: {{Hooks: []hooks.Handler{
		{Type: "mcp_tool", Server: "covey", Tool: "TaskCreate"}}}}}}}, &Options{Tools: box, Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(t.Context(), hooks.Input{Payload: hooks.TaskCreatedInput{}}, nil); err != nil {
		t.Fatal(err)
	}
	if len(box.calls) != maxDepth || !strings.Contains(deepest, "4 deep") {
		t.Errorf("%d calls; the deepest says %q", len(box.calls), deepest)
	}
}

// TestToolsWithOtherInputs: two hooks on one tool are one hook only if they ask
// it the same.
func TestToolsWithOtherInputs(t *testing.T) {
	h := func(x string) hooks.Handler {
		return hooks.Handler{Type: "mcp_tool", Server: "s", Tool: "t", Input: map[string]json.RawMessage{"x": json.RawMessage(x)}}
	}
	if out := called(t, giving(ToolReply{}), hooks.Input{Payload: hooks.TeammateIdleInput{}}, h("1"), h("2"), h("1")); out.Matched != 2 {
		t.Errorf("%d hooks", out.Matched)
	}
}

const toolEvent = `{"tool_name":"Bash","n":1.50,"tool_input":{"command":"a <b> ${n}","list":[{"x":true},null]}}`

func TestFillText(t *testing.T) {
	var event any
	if err := decodeExact([]byte(toolEvent), &event); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"${tool_name}":                                           "Bash",
		"n=${n}, ${ tool_name }":                                 "n=1.50, Bash",
		"${tool_input.command}":                                  "a <b> ${n}",
		"${tool_input.list}":                                     `[{"x":true},null]`,
		"${tool_input.list.0.x}":                                 "true",
		"[${tool_input.list.1}]":                                 "[null]",
		"[${tool_input.list.7}${nobody}]":                        "[]",
		"[${tool_name.x}${}${tool_input.}${tool_input.list.-1}]": "[]",
		"$tool_name ${tool_name":                                 "$tool_name ${tool_name",
		"":                                                       "",
	} {
		if got := fillText(text, event); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestFillInput(t *testing.T) {
	var input map[string]json.RawMessage
	err := json.Unmarshal([]byte(`{"deep":{"a":["${tool_name}",1.0,false]},"${tool_name}":"${n}"}`), &input)
	if err != nil {
		t.Fatal(err)
	}
	got, err := fillInput(input, []byte(toolEvent))
	if want := `{"${tool_name}":"1.50","deep":{"a":["Bash",1.0,false]}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := fillInput(nil, []byte(toolEvent)); err != nil || string(got) != "{}" {
		t.Errorf("no input: %s, %v", got, err)
	}
}

// FuzzFillInput: whatever is put in, the arguments stay one JSON object with the
// same fields.
func FuzzFillInput(f *testing.F) {
	f.Add("a ${tool_input.command} b", toolEvent)
	f.Add("${", `{"a":"}"}`)
	f.Fuzz(func(t *testing.T, text, event string) {
		if !json.Valid([]byte(event)) {
			return
		}
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fillInput(map[string]json.RawMessage{"x": raw}, []byte(event))
		var back map[string]string
		if err != nil || json.Unmarshal(got, &back) != nil || len(back) != 1 {
			t.Errorf("%q with %s: %s, %v", text, event, got, err)
		}
		var written string // what JSON makes of a text that is no UTF-8
		if err := json.Unmarshal(raw, &written); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "${") && back["x"] != written {
			t.Errorf("%q became %q", text, back["x"])
		}
	})
}
