package hookinfo

import (
	"strings"
	"testing"
)

// TestFeedback: what a hook said, without the heading for the model.
func TestFeedback(t *testing.T) {
	for text, want := range map[string]string{
		"Stop hook feedback:\n[./a.sh]: say more": "say more",
		"Stop hook feedback:\nsay more":           "say more",
		"[./a.sh]: say more":                      "say more",
		"<task-notification>\n<summary>It is red</summary>\n</task-notification>\n<system-reminder>\nsay <more>\n</system-reminder>": "It is red\nsay <more>",
		"[x] say more":       "[x] say more",
		"say more\nand more": "say more\nand more",
		"":                   "",
	} {
		for _, event := range []string{"Stop", "SubagentStop"} {
			if got := Feedback(event, text); got != want {
				t.Errorf("%s: %q is %q, want %q", event, text, got, want)
			}
		}
	}
}

// TestReason: people read in one line why a gate refuses, without the heading for the model and
// without what passed.
func TestReason(t *testing.T) {
	for text, want := range map[string]string{
		"TaskCompleted hook feedback:\n[go test ./...]: --- FAIL: TestSub\n    sub_test.go:7: want 2":         "--- FAIL: TestSub",
		"TaskCompleted hook feedback:\n[go test ./...]: ok  \ta\t0.1s\n?   \tb\t[no test files]\n\nc.go:1: x": "c.go:1: x",
		"TaskCompleted hook feedback:\n[go vet\n./...]: two lines\nmore":                                      "two lines",
		"TaskCompleted hook feedback:\n[x]: ok 1\nPASS":                                                       "ok 1",
		"a gate stopped the merge: no":                                                                        "a gate stopped the merge: no",
		"":                                                                                                    "",
		strings.Repeat("x", 300):                                                                              strings.Repeat("x", maxReason-1) + "…",
	} {
		if got := Reason("TaskCompleted", text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
