package runner

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks"
)

// anyVerdict draws a verdict as judging makes them.
func anyVerdict(known *hooks.EventInfo) *rapid.Generator[Verdict] {
	return rapid.Custom(func(t *rapid.T) Verdict {
		gate := rapid.Bool().Draw(t, "gate")
		code := rapid.SampledFrom([]int{0, 1, 2, 7}).Draw(t, "code")
		stdout := rapid.SampledFrom([]string{"", "text", "{}", `{"decision":"block","reason":"r"}`, `{"continue":false}`, `{"half`,
			`{"continue":"x"}`, `{"systemMessage":"m"}`, hso(known.Event, `"additionalContext":"c"`),
			hso(known.Event, `"permissionDecision":"deny"`), hso(known.Event, `"permissionDecision":"allow"`),
			hso(known.Event, `"updatedInput":{"a":1}`)}).Draw(t, "stdout")
		found := end(known.Event, code, stdout, "err")
		switch rapid.IntRange(0, 9).Draw(t, "trouble") {
		case 0:
			found.TimedOut, found.Fault, found.Code = true, "timed out", -1
		case 1:
			found.Fault, found.Code = "cannot start", -1
		case 2:
			found.Aborted, found.Code = true, -1
		}
		var v Verdict
		if gate {
			v = Gate(known, found)
		} else {
			v = Judge(known, &hooks.Handler{OnFailure: rapid.SampledFrom([]string{"", "block"}).Draw(t, "onFailure")}, found)
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
		out := Merge(known, string(known.Event), verdicts)
		halts := slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Halt })
		refused := slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Refused >= hooks.Refuses })
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
			if !slices.ContainsFunc(out.Messages, func(m string) bool { return hooks.Unframed(m) == text }) {
				t.Fatalf("%q is not among the messages %q", text, out.Messages)
			}
		}
		backwards := slices.Clone(verdicts)
		slices.Reverse(backwards)
		again := Merge(known, string(known.Event), backwards)
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
		case (v.Refused >= hooks.Refuses) != (v.Outcome == hooks.Blocking):
			t.Fatalf("refuses %d, but its outcome is %s", v.Refused, v.Outcome)
		case v.Refused >= hooks.Refuses && v.Feedback == "":
			t.Fatalf("refuses without a word: %+v", v)
		case v.Refused >= hooks.Refuses && v.FailedOpen:
			t.Fatalf("refuses and failed open: %+v", v)
		case v.FailedOpen && v.Warning == "":
			t.Fatalf("failed open in silence: %+v", v)
		case v.Halt && !known.Halts:
			t.Fatalf("halts on %s", known.Event)
		case v.permission.Decision == "deny" && v.Outcome != hooks.Blocking && known.Event != hooks.PermissionRequest:
			t.Fatalf("denies without refusing: %+v", v)
		}
	})
}
