package acp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

func TestChoose(t *testing.T) {
	all := []option{{"a", "allow_always"}, {"b", "allow_once"}, {"c", "reject_always"}, {"d", "reject_once"}}
	for _, tt := range []struct {
		options []option
		allow   bool
		want    string
	}{
		{all, true, "b"}, {all, false, "d"}, {all[:1], true, "a"}, {all[:1], false, ""}, {all[2:3], false, "c"},
		{nil, true, ""}, {[]option{{"x", ""}, {"y", "maybe"}}, true, ""},
	} {
		if got := choose(tt.options, tt.allow); got != tt.want {
			t.Errorf("choose(%v, %t) = %q, want %q", tt.options, tt.allow, got, tt.want)
		}
	}
}

func TestPermission(t *testing.T) {
	t.Parallel()
	deny := func(_ context.Context, call agent.ToolCall) agent.Permission {
		return agent.Permission{Allow: !strings.Contains(string(call.Input), "rm"), Reason: "rm is not for you"}
	}
	r := newRig(t, life{Prompts: [][]string{
		{"ask c1 ls", "done c1 a.go", "ask c2 rm -r x",
			`update {"sessionUpdate":"tool_call_update","toolCallId":"c2","status":"failed"}`, "end cancelled"},
		{"say ok", "end end_turn"},
	}})
	r.host.permit = deny
	r.mustTurn(t)
	r.host.wants(`call c1: Bash {"command":"ls"}`, "result c1 (error false): a.go", "assistant: [selected yes]",
		`call c2: Bash {"command":"rm -r x"}`, "result c2 (error true): rm is not for you", "assistant: [selected no]")
	if len(r.host.asked) != 2 || len(r.host.seen) != 1 {
		t.Errorf("asked %v, reported %v", r.host.asked, r.host.seen)
	}
	r.mustTurn(t)
	if last := r.log(t); !strings.Contains(last[len(last)-1], "rm is not for you") {
		t.Errorf("the model is not told why: %s", last[len(last)-1])
	}
}

// A refused call whose program says no more of it has its result all the same.
func TestRefusedAndSilent(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{"ask c1 rm", "end end_turn"}}})
	r.host.permit = func(context.Context, agent.ToolCall) agent.Permission {
		return agent.Permission{Reason: "no"}
	}
	r.mustTurn(t)
	r.host.wants(`call c1: Bash {"command":"rm"}`, "result c1 (error true): no", "assistant: [selected no]")
}

// Thin questions are put together with what was said of the call before.
func TestThinQuestions(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{
		`update {"sessionUpdate":"tool_call","toolCallId":"c1","title":"edit","kind":"edit","status":"pending","rawInput":{"file_path":"/w/a","x":1}}`,
		`askraw {"toolCallId":"c1"}`,
		`askraw {"toolCallId":"c2","title":"npm test [current working directory /w] (tests)","kind":"execute"}`,
		`askraw {"toolCallId":"c3","title":"edits","kind":"edit","content":[{"type":"diff","path":"/w/b","oldText":"x","newText":"y"}],"locations":[{"path":"/w/c"}]}`,
		`askraw {"title":"nothing is known"}`,
		`askraw 7`,
		"end end_turn",
	}}})
	r.opts.Quirks.TitleCommand = true
	r.mustTurn(t)
	var got []string
	for _, c := range r.host.asked {
		got = append(got, c.ID+" "+c.Name+" "+string(c.Input))
	}
	want := []string{
		`c1 Edit {"file_path":"/w/a","x":1}`, `c2 Bash {"command":"npm test"}`,
		`c3 Edit {"file_path":"/w/b"}`, `c3 Edit {"file_path":"/w/c"}`, ` Tool {}`, ` Tool {}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("asked:\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// What a question shows is not the call's output.
func TestQuestionShowsNoOutput(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{
		`askraw {"toolCallId":"c1","kind":"edit","content":[{"type":"content","content":{"type":"text","text":"needs it"}},{"type":"diff","path":"/w/a","oldText":"x"}]}`,
		`update {"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","rawOutput":{"formatted_output":"out"}}`, "end end_turn",
	}}})
	r.mustTurn(t)
	r.host.wants(`call c1: Edit {"file_path":"/w/a"}`, "result c1 (error false): out", "assistant: [selected yes]")
}

// Nobody waits for an answer any more when the program has died or the turn is
// over.
func TestQuestionIsWithdrawn(t *testing.T) {
	t.Parallel()
	for name, words := range map[string][]string{
		"died":     {`raw {"id":1000,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c"}}}`, "die"},
		"answered": {`raw {"id":1000,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c"}}}`, "end end_turn"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, life{Prompts: [][]string{words}}, life{})
			r.host.permit = func(ctx context.Context, _ agent.ToolCall) agent.Permission {
				<-ctx.Done()
				return agent.Permission{}
			}
			r.mustTurn(t)
			if len(r.host.asked) != 1 || len(r.host.open) != 0 {
				t.Errorf("asked %v, open %v", r.host.asked, r.host.open)
			}
		})
	}
}

func TestHostIsNoSupervisor(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{"ask c1 ls", "end end_turn"}}})
	r.start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	reply, err := r.Run(ctx, goPrompt(), bare{r.host})
	if err != nil || reply.Text != "[selected no]" {
		t.Errorf("reply %+v, error %v", reply, err)
	}
}

// bare is a Host and nothing more.
type bare struct{ h *host }

func (b bare) Pass(ctx context.Context) ([]agent.Input, error) { return b.h.Pass(ctx) }
func (b bare) Record(m agent.Record) error                     { return b.h.Record(m) }
func (b bare) Call(ctx context.Context, c agent.ToolCall) agent.ToolResult {
	return b.h.Call(ctx, c)
}

func TestHalt(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{"ask c1 ls", "cancelled", "say stopped", "end cancelled"}}})
	r.host.permit = func(context.Context, agent.ToolCall) agent.Permission {
		return agent.Permission{Reason: "stop", Remarks: agent.Remarks{Halted: "enough"}}
	}
	if reply := r.mustTurn(t); reply.Halted != "enough" {
		t.Errorf("reply %+v", reply)
	}
	if len(r.host.open) > 0 {
		t.Errorf("open %v", r.host.open)
	}
}

const steerInit = `{"protocolVersion":1,"agentCapabilities":{},"_meta":{"steering":{"supported":true}}}`

func TestSteering(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Init: steerInit, Prompts: [][]string{{"tool c1 x", "done c1 y", "steered",
		"ask c2 z", "end end_turn"}}})
	r.host.mail = [][]agent.Input{{{Kind: agent.FromMail, Text: "mail", MessageID: "m1"}}}
	r.mustTurn(t)
	r.host.wants(`call c1: Bash {"command":"x"}`, "result c1 (error false): y", "user: mail",
		`call c2: Bash {"command":"z"}`, "result c2 (error true): no result came", "assistant: [selected yes]")
	r.one(t, "_session/steering", `"idleBehavior":"promptRequired"`, `"text":"mail"`)
}

// Mail that the program did not take is the next prompt, before the gates.
func TestSteeringRefused(t *testing.T) {
	t.Parallel()
	for name, words := range map[string][]string{
		"by outcome": {`answer {"outcome":"promptRequired"}`},
		"by error":   {`error {"code":-32603,"message":"no"}`},
		"no method":  {`error {"code":-32601,"message":"no"}`},
		"by silence": {},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, life{Init: steerInit, On: mapped{"_session/steering": words}, Prompts: [][]string{
				{"tool c1 x", "done c1 y", "end end_turn"}, {"say read", "end end_turn"}}})
			r.host.mail = [][]agent.Input{{{Kind: agent.FromMail, Text: "mail", MessageID: "m1"}}}
			if reply := r.mustTurn(t); reply.Text != "read" {
				t.Errorf("reply %+v", reply)
			}
			if !slices.Contains(r.host.said, "user: mail") || r.host.passes != 2 {
				t.Errorf("transcript %q, %d passes", r.host.said, r.host.passes)
			}
		})
	}
}

// What hooks say of a call that is done goes to the model before the gates.
func TestFeedbackOfReport(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{"tool c1 x", "done c1 y", "end end_turn"}, {"say mended",
		"end end_turn"}}})
	r.host.report = func(agent.ToolCall, agent.ToolResult) agent.Remarks {
		return agent.Remarks{Feedback: []agent.Input{{Kind: agent.FromHook, Text: "format it"}}}
	}
	if reply := r.mustTurn(t); reply.Text != "mended" || reply.ToolCalls != 1 {
		t.Errorf("reply %+v", reply)
	}
	r.one(t, "session/prompt", "format it")
}

// A hook that finds fault with every call keeps no turn up for ever.
func TestFeedbackWithoutEnd(t *testing.T) {
	t.Parallel()
	var prompts [][]string
	for range 12 {
		prompts = append(prompts, []string{"tool c1 x", "done c1 y", "end end_turn"})
	}
	r := newRig(t, life{Prompts: prompts})
	r.host.report = func(agent.ToolCall, agent.ToolResult) agent.Remarks {
		return agent.Remarks{Feedback: []agent.Input{{Kind: agent.FromHook, Text: "format it"}}}
	}
	if r.mustTurn(t); r.host.passes != 9 {
		t.Errorf("%d passes, want 9", r.host.passes)
	}
}

func TestRecordFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	r := newRig(t, life{Prompts: [][]string{{"ask c1 x", "done c1 y", "cancelled", "end cancelled"}}})
	r.host.permit = func(context.Context, agent.ToolCall) agent.Permission {
		r.host.fail = broken
		return agent.Permission{Allow: true}
	}
	if _, err := r.turn(t); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{
		`update {"sessionUpdate":"plan","entries":[{"content":"look","priority":"high","status":"pending"}]}`, "end end_turn",
	}}})
	r.mustTurn(t)
	if s := r.host.starts; len(s) != 2 || s[0].Ready || !s[1].Ready {
		t.Errorf("told of the start %+v", s)
	}
	got, err := json.Marshal(r.host.events)
	if err != nil || string(got) != `[{"entries":[{"text":"look","status":"pending","priority":"high"}]}]` {
		t.Errorf("events %s, %v", got, err)
	}
}
