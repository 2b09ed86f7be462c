package runner

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// anyVerdict draws a verdict as judging makes them.
func anyVerdict(known *hooks.EventInfo) *rapid.Generator[verdict] {
	return rapid.Custom(func(t *rapid.T) verdict {
		gate := rapid.Bool().Draw(t, "gate")
		code := rapid.SampledFrom([]int{0, 1, 2, 7}).Draw(t, "code")
		stdout := rapid.SampledFrom([]string{"", "text", "{}", `{"decision":"block","reason":"r"}`, `{"continue":false}`, `{"half`,
			`{"continue":"x"}`, `{"systemMessage":"m"}`, hso(known.Event, `"additionalContext":"c"`),
			hso(known.Event, `"permissionDecision":"deny"`), hso(known.Event, `"permissionDecision":"allow"`),
			hso(known.Event, `"updatedInput":{"a":1}`)}).Draw(t, "stdout")
		found := end(known.Event, code, stdout, "err")
		switch rapid.IntRange(0, 9).Draw(t, "trouble") {
		case 0:
			found.timedOut, found.fault, found.code = true, "timed out", -1
		case 1:
			found.fault, found.code = "cannot start", -1
		case 2:
			found.aborted, found.code = true, -1
		}
		var v verdict
		if gate {
			v = judgeGate(known, found)
		} else {
			v = judge(known, &hooks.Handler{OnFailure: rapid.SampledFrom([]string{"", "block"}).Draw(t, "onFailure")}, found)
		}
		v.Command = fmt.Sprintf("hook %d", rapid.IntRange(0, 99).Draw(t, "command"))
		return v
	})
}

// anyKnown draws an event of the catalog.
func anyKnown(t *rapid.T) *hooks.EventInfo {
	all := hooks.Events()
	return &all[rapid.IntRange(0, len(all)-1).Draw(t, "event")]
}

// TestMergeProperties: whatever the hooks decided, and in whatever order.
func TestMergeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known := anyKnown(t)
		verdicts := rapid.SliceOfN(anyVerdict(known), 0, 6).Draw(t, "verdicts")
		out := merge(known, string(known.Event), verdicts)
		halts := slices.ContainsFunc(verdicts, func(v verdict) bool { return v.halt })
		refused := slices.ContainsFunc(verdicts, func(v verdict) bool { return v.refused >= hooks.Refuses })
		want := hooks.Pass
		switch {
		case halts:
			want = hooks.Halt
		case refused:
			want = hooks.Block
		}
		if out.Decision != want {
			t.Fatalf("decision %s, want %s", out.Decision, want)
		}
		if (out.StopReason != "") != halts {
			t.Fatalf("halts %v, reason %q", halts, out.StopReason)
		}
		if len(out.Results) != len(verdicts) || out.Matched != len(verdicts) {
			t.Fatalf("%d results of %d hooks", len(out.Results), len(verdicts))
		}
		for _, text := range slices.Concat(out.Feedback, out.AdditionalContext) {
			if !slices.Contains(out.Messages, text) {
				t.Fatalf("%q is not among the messages %q", text, out.Messages)
			}
		}
		backwards := slices.Clone(verdicts)
		slices.Reverse(backwards)
		again := merge(known, string(known.Event), backwards)
		if again.Decision != out.Decision || again.Permission.Decision != out.Permission.Decision ||
			again.FailedOpen() != out.FailedOpen() {
			t.Fatalf("the order changes the decision: %+v, %+v", out, again)
		}
	})
}

// TestJudgeProperties: no verdict is lost and none is invented.
func TestJudgeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known := anyKnown(t)
		v := anyVerdict(known).Draw(t, "verdict")
		switch {
		case (v.refused >= hooks.Refuses) != (v.Outcome == hooks.Blocking):
			t.Fatalf("refuses %d, but its outcome is %s", v.refused, v.Outcome)
		case v.refused >= hooks.Refuses && v.Feedback == "":
			t.Fatalf("refuses without a word: %+v", v)
		case v.refused >= hooks.Refuses && v.FailedOpen:
			t.Fatalf("refuses and failed open: %+v", v)
		case v.FailedOpen && v.Warning == "":
			t.Fatalf("failed open in silence: %+v", v)
		case v.halt && !known.Halts:
			t.Fatalf("halts on %s", known.Event)
		case v.permission.Decision == "deny" && v.Outcome != hooks.Blocking && known.Event != hooks.PermissionRequest:
			t.Fatalf("denies without refusing: %+v", v)
		}
	})
}

// TestChooseProperties: of equal hooks the last runs, in its place; others keep
// their order, and hooks whose group does not fit never run.
func TestChooseProperties(t *testing.T) {
	commands := rapid.SampledFrom([]string{"a", "b", "c"})
	matchers := rapid.SampledFrom([]string{"", "Bash", "Write", "Ba.*", "Write|Bash"})
	rapid.Check(t, func(t *rapid.T) {
		var sources []settings.Source
		var fitting []string // labels in the order of configuration, with their layer
		for layer := range rapid.IntRange(0, 4).Draw(t, "layers") {
			source := settings.Source{Name: fmt.Sprint(layer), Settings: hooks.Settings{}}
			for range rapid.IntRange(0, 3).Draw(t, "groups") {
				matcher := matchers.Draw(t, "matcher")
				group := hooks.Group{Matcher: matcher}
				for _, command := range rapid.SliceOfN(commands, 0, 3).Draw(t, "commands") {
					group.Hooks = append(group.Hooks, hooks.Handler{Type: "command", Command: command, Timeout: float64(layer + 1)})
					if matcher != "Write" {
						fitting = append(fitting, fmt.Sprintf("%s of %d", command, layer+1))
					}
				}
				source.Settings[hooks.PreToolUse] = append(source.Settings[hooks.PreToolUse], group)
			}
			sources = append(sources, source)
		}
		r, err := New(sources, nil)
		if err != nil {
			t.Fatal(err)
		}
		in := hooks.Input{Payload: hooks.PreToolUseInput{ToolName: "Bash"}}
		chosen, warnings := r.choose(hooks.InfoOf(hooks.PreToolUse), r.listening(in), in)
		var got []string
		for _, h := range chosen {
			got = append(got, fmt.Sprintf("%s of %g", h.Command, h.Timeout))
		}
		var want []string
		for i, label := range fitting {
			same := func(other string) bool { return other[0] == label[0] }
			if !slices.ContainsFunc(fitting[i+1:], same) {
				want = append(want, label)
			}
		}
		if !slices.Equal(got, want) || warnings != nil {
			t.Fatalf("chose %q, want %q; warnings %q", got, want, warnings)
		}
	})
}
