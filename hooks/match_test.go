package hooks

import (
	"strings"
	"testing"
	"time"
)

func TestMatcher(t *testing.T) {
	tests := []struct {
		event   Event
		matcher string
		yes, no []string
	}{
		{PreToolUse, "", []string{"Bash", "", "x"}, nil},
		{PreToolUse, "*", []string{"Bash"}, nil},
		{PreToolUse, "Bash", []string{"Bash"}, []string{"bash", "BashX", "Bas", ""}},
		{PreToolUse, "Write|Bash", []string{"Bash", "Write"}, []string{"Write|Bash", "Edit"}},
		{PreToolUse, "Write, Bash", []string{"Bash", "Write"}, []string{" Bash"}},
		{PreToolUse, " Bash ", []string{"Bash"}, nil},
		{PreToolUse, "Bash|", []string{"Bash"}, []string{"", "x"}},
		{PreToolUse, "mcp__srv", nil, []string{"mcp__srv__tool"}},
		{PreToolUse, "mcp__srv__.*", []string{"mcp__srv__tool"}, []string{"mcp__other__tool"}},
		{PreToolUse, "Ba.*", []string{"Bash", "xBar"}, []string{"Write"}},
		{PreToolUse, "^Bash$", []string{"Bash"}, []string{"BashX"}},
		{PreToolUse, "!Bash", nil, []string{"Bash", "Write"}},
		{PreToolUse, "^(?!Bash$).*", []string{"Write"}, []string{"Bash"}},
		{PreToolUse, `(\w)\1`, []string{"Agent", "mcp__x"}[1:], []string{"Bash"}},
		{PreToolUse, "Bash(git.*)", []string{"Bashgit"}, []string{"Bash"}},
		{PreToolUse, "Task", []string{"Task", "Agent"}, []string{"TaskCreate"}},
		{PreToolUse, "^Task$", []string{"Agent"}, []string{"TaskCreate"}},
		{PreToolUse, "my-tool", []string{"my-tool"}, []string{"my"}},
		{Stop, "anything[", []string{"", "x"}, nil},
		{StopFailure, "rate_limit", []string{"rate_limit"}, []string{"overloaded"}},
		{StopFailure, "a|b", []string{"a", "b"}, []string{"c"}},
		{StopFailure, "rate limit", nil, []string{"rate", "limit", "rate_limit"}},
		{FileChanged, ".env|.envrc", []string{".env", "x.env"}, []string{"env"}},
		{SessionStart, "startup", []string{"startup"}, []string{"resume"}},
	}
	for _, test := range tests {
		m, err := InfoOf(test.event).NewMatcher(test.matcher, nil)
		if err != nil {
			t.Errorf("%s %q: %v", test.event, test.matcher, err)
			continue
		}
		for want, subjects := range map[bool][]string{true: test.yes, false: test.no} {
			for _, subject := range subjects {
				if got, doubt := m.Matches(subject); got != want || doubt != "" {
					t.Errorf("%s %q on %q: %v %s", test.event, test.matcher, subject, got, doubt)
				}
			}
		}
	}
}

func TestMatcherErrors(t *testing.T) {
	for _, bad := range []string{"[", "(", "a{2,1}", "*x", `\`, "(?<n>a)(?<n", "(?i)bash", "Ba(?-i)sh"} {
		if _, err := InfoOf(PreToolUse).NewMatcher(bad, nil); err == nil || !strings.Contains(err.Error(),
			"not a JavaScript expression") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestMatcherTakesTooLong: an expression that explodes is cut off, and its hook
// runs, as one that guards something must not be lost.
func TestMatcherTakesTooLong(t *testing.T) {
	m, err := InfoOf(PreToolUse).NewMatcher("^(a+)+$", nil)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	yes, doubt := m.Matches(strings.Repeat("a", 60) + "!")
	if took := time.Since(start); !yes || doubt == "" || took > time.Minute {
		t.Errorf("%v %q after %v", yes, doubt, took)
	}
}

// TestSubjects: each event is matched by its own field, typed or raw.
func TestSubjects(t *testing.T) {
	for name, test := range map[string]struct {
		in   Input
		want string
	}{
		"session start": {Input{Payload: SessionStartInput{Source: "resume"}}, "resume"},
		"session end":   {Input{Payload: SessionEndInput{Reason: "clear"}}, "clear"},
		"failure":       {Input{Payload: StopFailureInput{Error: "overloaded"}}, "overloaded"},
		"notification":  {Input{Payload: NotificationInput{NotificationType: "idle_prompt"}}, "idle_prompt"},
		"tool":          {Input{Payload: PreToolUseInput{ToolName: "Bash"}}, "Bash"},
		"tool done":     {Input{Payload: PostToolUseInput{ToolName: "Edit"}}, "Edit"},
		"tool failed":   {Input{Payload: PostToolUseFailureInput{ToolName: "Read"}}, "Read"},
		"stop":          {Input{Payload: StopInput{}}, ""},
		"raw tool":      {raw(t, PermissionRequest, `{"tool_name":"Write"}`), "Write"},
		"raw helper":    {raw(t, SubagentStop, `{"agent_type":"Explore"}`), "Explore"},
		"raw file":      {raw(t, FileChanged, `{"file_path":"/a/b/.envrc"}`), ".envrc"},
		"raw file, w":   {raw(t, FileChanged, `{"file_path":"C:\\a\\b.txt"}`), "b.txt"},
		"raw compact":   {raw(t, PreCompact, `{"trigger":"auto"}`), "auto"},
		"raw, absent":   {raw(t, PreCompact, `{}`), ""},
		"raw, no text":  {raw(t, PreCompact, `{"trigger":7}`), ""},
		"unknown":       {raw(t, "FutureEvent", `{"tool_name":"x"}`), ""},
	} {
		if got := test.in.Subject(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// raw is an input that was read from outside.
func raw(t *testing.T, event Event, fields string) Input {
	t.Helper()
	in, err := ParseInput(event, []byte(fields), Common{})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]Event{
		"stop": Stop, "TaskComplete": TaskCompleted, "teammateidle": TeammateIdle, "PreTooluse": PreToolUse,
		"PostToolUseFail": PostToolUseFailure, "SubAgentStop": SubagentStop, "xyzzy": "", "": "",
	} {
		if got := Nearest(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestCatalog: the table holds every event once, and the ones that this version
// fires are those of the contract.
func TestCatalog(t *testing.T) {
	fires := 0
	seen := map[Event]bool{}
	for _, info := range Events() {
		if seen[info.Event] || !info.Event.Known() {
			t.Errorf("%s stands twice, or is not known", info.Event)
		}
		seen[info.Event] = true
		if info.Fires {
			fires++
		}
		if !strings.Contains("ABC", info.Types) || info.Types == "" {
			t.Errorf("%s: handler types %q", info.Event, info.Types)
		}
	}
	if len(seen) != 33 || fires != 33 {
		t.Errorf("%d events of which %d fire, want 33 and 33", len(seen), fires)
	}
	for _, rec := range recordedInputs(t) {
		if !seen[rec.Event] {
			t.Errorf("%s was recorded and is not in the table", rec.Event)
		}
	}
}

// FuzzMatcher: no matcher panics or hangs, and a plain name matches itself.
func FuzzMatcher(f *testing.F) {
	for _, seed := range []string{"", "*", "Bash", "a|b", "^(a+)+$", "[", "(?!x)", `\u{1F600}`,
		"(?<a>x)\\k<a>"} {
		f.Add(seed, "Bash")
	}
	f.Fuzz(func(t *testing.T, text, subject string) {
		for _, event := range []Event{PreToolUse, StopFailure, Stop} {
			m, err := InfoOf(event).NewMatcher(text, nil)
			if err != nil {
				continue
			}
			yes, _ := m.Matches(subject)
			if m.All() && !yes {
				t.Fatalf("%s %q does not match %q", event, text, subject)
			}
		}
		if m, err := InfoOf(PreToolUse).NewMatcher(text, nil); err == nil && len(m.List()) > 0 {
			if yes, _ := m.Matches(m.List()[0]); !yes {
				t.Fatalf("%q does not match its own %q", text, m.List()[0])
			}
		}
	})
}
