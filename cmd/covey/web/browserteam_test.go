//go:build browser

package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/coveyteam/covey/orchestrator/state"
)

// desk is a team whose member asks before it uses Bash, answers comments, and revises what is sent
// back.
var desk = map[string]string{
	"team.yaml": `covey: 1
name: desk
goal: Write a note.
on_ask: wait
models: {lead: {provider: script, script: lead.yaml}, dev: {provider: script, script: dev.yaml}}
lead: {model: lead}
teammates: {dev: {model: dev, isolation: worktree, permission_mode: acceptEdits}}
tasks: [{id: note, subject: Write the note, owner: dev}]
gates: {task: [{approve: person}]}
`,
	"lead.yaml": "steps: [{say: Well., times: -1}]\n",
	"dev.yaml": `steps:
  - when: Write the note
    call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}, {tool: Write, input: {file_path: note.txt, content: "one\ntwo\n"}}]
  - {when: File created, call: [{tool: Bash, input: {command: "sh -c 'wc -l note.txt'"}}]}
  - when: 2 note.txt
    say: The person let me count.
    call: [{tool: TaskUpdate, input: {taskId: "1", status: completed, evidence: two lines}}]
  - {when: '"approve":true', call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {when: Why two lines, say: I explain the two lines.}
  - {when: Add a third line, call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]}
  - {when: '"approve":true', call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]}
  - when: Write it in capitals
    say: I write it in capitals.
    call: [{tool: TaskUpdate, input: {taskId: "3", status: in_progress}}, {tool: Read, input: {file_path: note.txt}}]
  - {when: two, call: [{tool: Write, input: {file_path: note.txt, content: "ONE\nTWO\n"}}]}
  - {when: note.txt, call: [{tool: TaskUpdate, input: {taskId: "3", status: completed}}]}
  - {when: '"approve":true', call: [{tool: TaskUpdate, input: {taskId: "3", status: completed}}]}
  - {say: I wait., times: -1}
`,
}

// write writes files of the team.
func (m *team) write(files map[string]string) {
	m.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
			m.Fatal(err)
		}
	}
}

// repository makes the team's folder a git repository with one commit.
func (m *team) repository() {
	m.Helper()
	script := `git init -q -b main && git config user.name dev && git config user.email dev@example.invalid && git add . && git commit -q -m first`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = m.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		m.Fatalf("%v\n%s", err, out)
	}
}

// at returns the address of a path on the server of a page.
func at(t *testing.T, page, path string) string {
	t.Helper()
	u, err := url.Parse(page)
	if err != nil || u.Host == "" {
		t.Fatalf("%q is no address", page)
	}
	return u.Scheme + "://" + u.Host + path
}

// A person has only the pages, and of them only the keys: a question is answered, work approved,
// commented on, sent back and merged. The team goes on each time, and the main page, which nobody
// loads anew, shows it.
func decides(t *testing.T, b browser, bin string) {
	m := newTeam(t, bin)
	m.write(desk)
	m.repository()
	address := m.up("--web")
	board := b.open(t, 1280, 2000, address)
	task := b.open(t, 1280, 2000, address)

	// A permission, on the main page: n goes to it, Tab to its buttons.
	approve(board, "wc -l note.txt")

	// The approval of the work, on the page of the task.
	board.untilText("#needs", "approval")
	task.show(at(t, address, "/task/1"))
	task.untilText("#task-acts", "Approve")
	task.tabTo("#task-acts button[value=yes]")
	task.press("Enter")
	board.untilText("#task-1 .state", "done, waiting")
	task.untilText("#task-acts", "Merge into main")

	// A comment on a hunk: a message to the author, then a task.
	comment := func(text, button string) {
		t.Helper()
		task.show(at(t, address, "/task/1"))
		task.tabTo(".comment > summary")
		task.press("Enter")
		task.tabTo(".comment textarea")
		task.write(text)
		task.tabTo(".comment button[value=" + button + "]")
		task.press("Enter")
	}
	comment("Why two lines?", "message")
	task.untilText("#link", "to dev")
	board.untilText("#mail", "About note.txt:1 in your work on task 1")
	comment("Add a third line.", "task")
	task.untilText("#link", "task 2 is created for dev")
	board.untilText("#tasks", "Add a third line.")
	approve(board, "finished task 2")
	log := m.run("logs")
	for _, want := range []string{"I explain the two lines.", "The person let me count."} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is not in\n%s", want, log)
		}
	}

	// Sent back with a reason: the author revises it with a task of its own.
	task.show(at(t, address, "/task/1"))
	task.tabTo("#task-acts textarea")
	task.write("Write it in capitals.")
	task.tabTo("#task-acts .back button")
	task.press("Enter")
	task.untilText("#link", "task 1 is sent back")
	board.untilText("#task-1 .state", "returned")
	board.untilText("#tasks", "Revise task 1")
	approve(board, "finished task 3")

	// Merged: the main page shows it, and the file is there.
	board.untilText("#task-3 .state", "done, waiting")
	task.show(at(t, address, "/task/3"))
	task.tabTo("#task-acts form[action='/merge'] button")
	task.press("Enter")
	board.untilText("#task-3 .state", "merged")
	task.untilText("#task-acts", "It is merged into main.")
	if got, err := os.ReadFile(filepath.Join(m.dir, "note.txt")); string(got) != "ONE\nTWO\n" {
		t.Errorf("the note is %q, %v", got, err)
	}
	board.untilText("#needs", "Nothing needs you")
}

// approve approves something on the main page with the keys, and waits until it is off the list.
func approve(board page, what string) {
	board.Helper()
	board.untilText("#needs", what)
	board.press("n")
	for range 5 {
		if !strings.Contains(value[string](board, "document.activeElement.textContent"), what) {
			board.press("n")
		}
	}
	board.tabTo(".need button.yes")
	board.press("Enter")
	board.untilText("#link", "is approved")
	board.until("!document.querySelector('#needs').textContent.includes('" + what + "')")
}

// talker is a team whose member says a line for each turn that it gets.
func talker() map[string]string {
	return map[string]string{
		"team.yaml": `covey: 1
name: talk
goal: Talk.
models: {lead: {provider: script, script: lead.yaml}, dev: {provider: script, script: dev.yaml}}
lead: {model: lead}
teammates: {dev: {model: dev}}
`,
		"lead.yaml": "steps: [{say: Well., times: -1}]\n",
		"dev.yaml":  "steps: [{say: A line., times: -1}]\n",
	}
}

// shownIDs are the ids of the lines that a page shows, in their order.
const shownIDs = "[...document.querySelectorAll('#log > article')].map(e => e.id).join(' ')"

// A page stays open while its team is killed, or stopped, and continued at the same address: it
// goes on by itself, and has each line once.
func reconnects(t *testing.T, b browser, bin string) {
	m := newTeam(t, bin)
	m.write(talker())
	address := m.up("--web=127.0.0.1:0")
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := b.open(t, 1280, 2000, address)
	p.until("document.querySelector('#member-dev')")
	p.show(at(t, address, "/member/dev"))
	said := 0
	say := func() {
		t.Helper()
		said++
		m.run("send", "dev", fmt.Sprintf("number %d", said))
		p.untilText("#log", fmt.Sprintf("number %d", said))
	}
	say()
	for name, end := range map[string]func(){"killed": m.kill, "stopped": func() { m.run("down") }} {
		say()
		end()
		p.until("document.getElementById('link').textContent !== ''")
		m.up("--web=" + u.Host)
		m.run("send", "dev", "before the page knows that it was "+name)
		p.untilText("#log", "before the page knows that it was "+name)
		p.until("document.getElementById('link').textContent === ''")
		say()
	}
	live := value[string](p, shownIDs)
	p.show(at(t, address, "/member/dev"))
	if fresh := value[string](p, shownIDs); fresh != live || !slices.IsSortedFunc(strings.Fields(live), byNumber) {
		t.Errorf("the page that stayed open has the lines\n%s\nand not\n%s", live, fresh)
	}
}

// byNumber compares ids of lines by their numbers, and reports equal ones as not sorted.
func byNumber(a, b string) int {
	var x, y int
	_, _ = fmt.Sscanf(a, "line-%d", &x) // 0 if it has none
	_, _ = fmt.Sscanf(b, "line-%d", &y)
	if x == y {
		return 1
	}
	return x - y
}

// kill kills the process of the team, as kill -9 does, and waits until it is gone.
func (m *team) kill() {
	m.Helper()
	found, _ := filepath.Glob(filepath.Join(m.home, "*", "run.json")) // the pattern is right
	if len(found) != 1 {
		m.Fatalf("files of runs: %q", found)
	}
	var run state.RunFile
	data, err := os.ReadFile(found[0])
	if err == nil {
		err = json.Unmarshal(data, &run)
	}
	if err == nil {
		err = syscall.Kill(run.PID, syscall.SIGKILL)
	}
	if err != nil {
		m.Fatal(err)
	}
}
