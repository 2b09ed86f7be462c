package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// task is a task as `covey tasks list --json` shows it, with text in it that a
// careless reader of JSON would take for a task.
func task(id, status, owner string, blockedBy ...string) fields {
	return fields{
		"id": id, "subject": `a "quoted" subject`, "description": `{"id":"99","status":"pending","owner":""}` + "\n\\",
		"status": status, "owner": owner, "epoch": 3, "blocks": []string{}, "blockedBy": blockedBy,
		"labels":   []string{"go", "[", "}"},
		"metadata": fields{"status": "pending", "owner": "", "deep": fields{"blockedBy": []string{"77"}}},
	}
}

// listOf is a covey that knows only `tasks list --json`.
func listOf(t *testing.T, listing string) string {
	t.Helper()
	dir := t.TempDir()
	covey := "#!/bin/sh\n[ \"$*\" = 'tasks list --json' ] || exit 9\ncat '" + filepath.Join(dir,
		"list") + "'\n"
	if err := os.WriteFile(filepath.Join(dir, "list"), []byte(listing), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "covey"), []byte(covey), 0o755); err != nil {
		t.Fatal(err)
	}
	return "COVEY_BIN=" + filepath.Join(dir, "covey")
}

func idleInput(t *testing.T, transcript string) string {
	t.Helper()
	compact, _ := asJSON(t, fields{"session_id": "s", "transcript_path": transcript, "hook_event_name": "TeammateIdle",
		"teammate_name": "mason", "team_name": "sample"})
	return compact
}

func TestNoOpenTasksPolicy(t *testing.T) {
	t.Parallel()
	const path = "idle-policy/policy/no-open-tasks.sh"
	chain := []fields{task("1", "completed", "")}
	for i := 2; i < 400; i++ {
		chain = append(chain, task(fmt.Sprint(i), "completed", "lead", fmt.Sprint(i-1)))
	}
	for _, tc := range []struct {
		what  string
		tasks []fields
		says  string // empty: it agrees
	}{
		{"none", []fields{}, ""},
		{"own in progress", []fields{task("1", "in_progress", "mason")}, "task 1 ("},
		{"another's in progress", []fields{task("1", "in_progress", "lead")}, ""},
		{"own, ready", []fields{task("1", "pending", "mason")}, "is yours and ready"},
		{"own, waits", []fields{task("1", "in_progress", "lead"), task("2", "pending", "mason", "1")}, ""},
		{"free, ready", []fields{task("1", "completed", "lead"), task("2", "pending", "", "1")},
			"task 2 (a \\\"quoted\\\" subject) is ready and nobody has it"},
		{"free, waits", []fields{task("1", "pending", "lead", "3"), task("2", "pending", "", "1")}, ""},
		{"free, waits for one of two", []fields{task("1", "completed", ""), task("2", "in_progress", "lead"),
			task("3", "pending", "", "1", "2")}, ""},
		{"free, waits for a task that is gone", []fields{task("2", "pending", "", "1")}, ""},
		{"two free", []fields{task("1", "pending", ""), task("2", "pending", "")}, "- task 2 ("},
		{"many", append(chain, task("400", "pending", "", "399")), "task 400 ("},
	} {
		t.Run(tc.what, func(t *testing.T) {
			code := 0
			if tc.says != "" {
				code = 2
			}
			compact, spaced := asJSON(t, tc.tasks)
			for _, listing := range []string{compact, spaced} {
				script{path: path, stdin: idleInput(t, ""), env: []string{listOf(t, listing)}}.run(t).want(t, code, tc.says)
			}
		})
	}
	// A list that cannot be read is an error of the hook, not a reason to go on working.
	script{path: path, stdin: idleInput(t, ""), env: []string{"COVEY_BIN=/nowhere/covey"}}.run(t).
		want(t, 1, "the task list cannot be read")
}

// line is one line of a transcript.
func line(t *testing.T, role string, blocks ...fields) string {
	t.Helper()
	out, err := json.Marshal(fields{"type": role, "message": fields{"role": role, "content": blocks}, "uuid": "u"})
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + "\n"
}

func call(id, name string, input fields) fields {
	return fields{"type": "tool_use", "id": id, "name": name, "input": input}
}

func result(id, content string, isError bool) fields {
	return fields{"type": "tool_result", "tool_use_id": id, "content": content, "is_error": isError}
}

func TestReportSentPolicy(t *testing.T) {
	t.Parallel()
	const path = "idle-policy/policy/report-sent.sh"
	said := fields{"type": "text", "text": `calls "SendMessage" {"is_error":true}`}
	done := line(t, "assistant", said, call("a", "TaskUpdate", fields{"taskId": "1", "status": "completed"}))
	begun := line(t, "assistant", call("a", "TaskUpdate", fields{"taskId": "1", "status": "in_progress"}))
	sent := line(t, "assistant", call("b", "SendMessage", fields{"to": "lead", "message": `{"to":"ana"}`}))
	for _, tc := range []struct {
		what, transcript string
		args             []string
		due              bool
	}{
		{what: "nothing yet"},
		{what: "begun", transcript: begun},
		{what: "done", transcript: done, due: true},
		{what: "done and sent", transcript: done + sent},
		{what: "done and sent, and heard", transcript: done + sent + line(t, "user", result("b", "sent", false))},
		{what: "done and not sent", transcript: done + sent + line(t, "user", result("b", "nobody", true)), due: true},
		{what: "another error", transcript: done + line(t, "user", result("x", "no", true)) + sent},
		{what: "one more done", transcript: done + sent + done, due: true},
		{what: "sent before there was anything", transcript: sent + done, due: true},
		{what: "sent to another", transcript: done + line(t, "assistant", call("b", "SendMessage", fields{"to": "ana"})), due: true},
		{what: "sent to all", transcript: done + line(t, "assistant", call("b", "SendMessage", fields{"to": "*"}))},
		{what: "an older agent", transcript: done + line(t, "assistant", call("b", "SendMessage", fields{"recipient": "lead"}))},
		{what: "another lead", transcript: done + sent, args: []string{"boss"}, due: true},
		{what: "in one message", transcript: line(t, "assistant",
			call("a", "TaskUpdate", fields{"status": "completed"}), call("b", "SendMessage",
				fields{"to": "lead"}))},
		{what: "much talk", transcript: done + strings.Repeat(line(t, "user", result("x", strings.Repeat(`"{,`, 9000), false)), 20), due: true},
	} {
		t.Run(tc.what, func(t *testing.T) {
			transcript := filepath.Join(t.TempDir(), "a folder", "t.jsonl")
			if err := os.MkdirAll(filepath.Dir(transcript), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(transcript, []byte(tc.transcript), 0o600); err != nil {
				t.Fatal(err)
			}
			got := script{path: path, args: tc.args, stdin: idleInput(t, transcript)}.run(t)
			if tc.due {
				got.want(t, 2, "report-sent: you have completed a task; tell ")
			} else {
				got.want(t, 0, "")
			}
		})
	}
	script{path: path, stdin: idleInput(t, "/nowhere/t.jsonl")}.run(t).want(t, 1, "cannot be read")
}

func TestWorkCommittedPolicy(t *testing.T) {
	const path = "idle-policy/policy/work-committed.sh"
	dir := t.TempDir()
	env := []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)} // the temp folder may lie in a repository
	check := func(code int, text string) {
		t.Helper()
		script{path: path, stdin: idleInput(t, ""), env: env, dir: dir}.run(t).want(t, code, text)
		script{path: path, stdin: idleInput(t, ""), env: env, args: []string{dir}}.run(t).want(t, code, text)
	}
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	check(1, "work-committed: nothing was checked in ")
	git("init", "-q")
	check(0, "")
	for i := range 12 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check(2, "paths with changes: 12\n?? f0\n")
	git("add", ".")
	check(2, "A  f0\n")
	git("commit", "-q", "-m", "all")
	check(0, "")
}
