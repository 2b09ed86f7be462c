package view

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

// TestReason: people read in one line why a gate refuses, without the heading for the model, without rulers and
// without what passed; of much output what failed first, and the end.
func TestReason(t *testing.T) {
	ruler, deep := strings.Repeat("=", 70)+"\n", strings.Repeat("  File \"ferry/config.py\", line 14, in load\n", 9)
	for text, want := range map[string]string{
		"TaskCompleted hook feedback:\n[go test ./...]: --- FAIL: TestSub\n    sub_test.go:7: want 2":         "--- FAIL: TestSub sub_test.go:7: want 2",
		"TaskCompleted hook feedback:\n[go test ./...]: ok  \ta\t0.1s\n?   \tb\t[no test files]\n\nc.go:1: x": "c.go:1: x",
		"TaskCompleted hook feedback:\n[go vet\n./...]: two lines\nmore":                                      "two lines more",
		"TaskCompleted hook feedback:\n[x]: ok 1\nPASS":                                                       "ok 1 PASS",
		"a gate stopped the merge: no":                                                                        "a gate stopped the merge: no",
		"":                                                                                                    "",
		strings.Repeat("x", 300):                                                                              strings.Repeat("x", maxReason-1) + "…",
		"failed sign-in of ida\n" + ruler + "ERROR: test_load\n" + strings.Repeat("-", 70) + "\n" + deep + "KeyError: 'port'\n\n" + ruler + "Ran 16 tests in 0.010s\n\nFAILED (errors=1)\n": "ERROR: test_load … File \"ferry/config.py\", line 14, in load File \"ferry/config.py\", line 14, in load File \"ferry/config.py\", line 14, in load KeyError: 'port' Ran 16 tests in 0.010s FAILED (errors=1)",
		"noise\n" + strings.Repeat("y", 300):                                          "… " + strings.Repeat("y", maxReason-3) + "…",
		"noise\nerror: " + strings.Repeat("y", 300) + "\n" + strings.Repeat("z", 200): "error: " + strings.Repeat("y", 92) + "… … " + strings.Repeat("z", 96) + "…",
	} {
		if got := Reason("TaskCompleted", text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		if got := Reason("TaskCompleted", text); len([]rune(got)) > maxReason {
			t.Errorf("%q has %d characters", got, len([]rune(got)))
		}
	}
}
