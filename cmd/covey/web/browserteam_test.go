//go:build browser

package web

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// deskFiles are a team whose member asks before it uses Bash, answers comments, and revises what is sent
// back.
var deskFiles = map[string]string{
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

// to loads the page with a path below the root of the pages, from any of them.
func (p page) to(path string) {
	p.Helper()
	p.until("document.querySelector('a.brand')") // a decision may have led to another page just now
	p.show(value[string](p, "document.querySelector('a.brand').href") + strings.TrimPrefix(path, "/"))
}

// A person has only the pages, and of them only the keys: a question is answered, work approved,
// commented on, sent back and merged. The team goes on each time, and the main page, which nobody
// loads anew, shows it.
func decides(t *testing.T, b browser, bin string) {
	m := newTeam(t, bin)
	m.write(deskFiles)
	m.repository()
	address := m.up("--web")
	board := b.open(t, 1280, 2000, address)
	task := b.open(t, 1280, 2000, address)

	// A permission, on the main page: n goes to it, Tab to its buttons.
	approve(board, "wc -l note.txt")

	// The approval of the work, on the page of the task.
	approveWork := func(id string) {
		t.Helper()
		board.untilText("#piece-"+id+" .state", "awaits approval")
		task.to("/task/" + id)
		task.untilText("#task-acts", "Approve")
		task.press("m")
		said(task, "approved: task "+id)
	}
	approveWork("1")
	board.untilText("#piece-1 .state", "to merge")
	task.untilText("#task-acts", "Merge into main")

	// A comment on a hunk: a message to the author, then a task.
	comment := func(text, button string) {
		t.Helper()
		task.to("/task/1")
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
	approveWork("2")
	log := m.run("logs")
	for _, want := range []string{"I explain the two lines.", "The person let me count."} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is not in\n%s", want, log)
		}
	}

	// Sent back with a reason: the author revises it with a task of its own.
	task.to("/task/1")
	task.untilText("#task-acts", "Send back")
	task.press("r")
	task.write("Write it in capitals.")
	task.tabTo("#task-acts .back .answer button")
	task.press("Enter")
	said(task, "task 1 is sent back")
	board.untilText("#task-1 .state", "sent back")
	board.untilText("#tasks", "Revise task 1")
	approveWork("3")

	// Merged: the main page shows it, and the file is there.
	board.untilText("#task-3 .state", "done, to merge")
	task.to("/task/3")
	task.tabTo("#task-acts form[action$='/merge'] button")
	task.press("Enter")
	said(task, "queued to be merged: task 3")
	board.untilText("#task-3 .state", "merged")
	task.to("/task/3")
	task.untilText("#task-acts", "It is merged into main.")
	if got, err := os.ReadFile(filepath.Join(m.dir, "note.txt")); string(got) != "ONE\nTWO\n" {
		t.Errorf("the note is %q, %v", got, err)
	}
	board.untilText("#needs", "Nothing needs you")

	// The report is this page in one file.
	m.run("report", "--out", "report.html")
	report := b.open(t, 380, 900, "file://"+filepath.Join(m.dir, "report.html"))
	report.untilText("#works", "note.txt")
	report.audit()
}

// said waits until a decision is told, on its page or on that of the next piece of work.
func said(p page, text string) {
	p.Helper()
	p.until("[...document.querySelectorAll('#link, .said')].some(e => e.textContent.includes('" + text + "'))")
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

// A page of covey web stays open while its team is killed, or stopped, and continued: it goes on by
// itself, and has each line once. So does the page of the team's own process, at the same address.
func reconnects(t *testing.T, b browser, bin string) {
	m := newTeam(t, bin)
	m.write(talker())
	own := m.up("--web=127.0.0.1:0")
	u, err := url.Parse(own)
	if err != nil {
		t.Fatal(err)
	}
	ended := b.open(t, 1280, 2000, own)
	ended.until("document.querySelector('#member-dev')")
	p := b.open(t, 1280, 2000, m.web())
	p.until("document.querySelector('#member-dev')")
	p.to("/member/dev")
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
		m.up("--web=" + u.Host)
		m.run("send", "dev", "before the page knows that it was "+name)
		p.untilText("#log", "before the page knows that it was "+name)
		say()
	}
	live := value[string](p, shownIDs)
	p.to("/member/dev")
	if fresh := value[string](p, shownIDs); fresh != live || !slices.IsSortedFunc(strings.Fields(live), byNumber) {
		t.Errorf("the page that stayed open has the lines\n%s\nand not\n%s", live, fresh)
	}
	ended.untilText("#mail", fmt.Sprintf("number %d", said)) // it is the page of the newest process by now
}

// web opens a page of the team in a process of its own, and returns its address.
func (m *team) web() string {
	m.Helper()
	cmd := exec.Command(m.bin, "web")
	cmd.Dir, cmd.Env = m.dir, append(os.Environ(), "COVEY_STATE_HOME="+m.home)
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	line, err := bufio.NewReader(said).ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), ": ")
	if err != nil || !found {
		m.Fatalf("covey web says %q, %v", line, err)
	}
	return address
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

// A member's server on another port of the page's host gets nothing from the operator's browser that
// opens the page, whoever forwards it: browsers send it the cookies of that host.
func otherPorts(t *testing.T, b browser) {
	f := staged(t, "Well.")
	got := make(chan string, 100)
	dev := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", f.page.guard.cookie+"=tossed; Path=/")
		got <- r.Header.Get("Cookie") + r.Header.Get("Referer")
	}))
	t.Cleanup(dev.Close)
	p := b.openFramed(f, 1280, "/")
	p.untilText("#needs", "Well.")
	p.show(dev.URL + "/")
	p.show(dev.URL + "/more")
	seen := ""
	for len(got) > 0 {
		seen += <-got
	}
	if strings.Contains(seen, f.page.guard.sign(ownCookie)) || strings.Contains(seen, f.page.guard.root) || !strings.Contains(seen, "tossed") {
		t.Errorf("the other port gets %q", seen)
	}
	p.show(f.server.URL) // whoever was let in is led on
	p.untilText("#needs", "Well.")
}

// Whoever is not found is shown why, and a code lets the browser in: it sees the page and acts.
func lettingIn(t *testing.T, b browser) {
	f := staged(t, "Well.")
	f.page.guard.outside = func(_, _ netip.AddrPort) error { return errors.New("nobody shows it") }
	made, err := f.page.desk.team.Web(t.Context(), api.WebPage{NewCode: true})
	if err != nil {
		t.Fatal(err)
	}
	p := b.openFramed(f, 1280, "/")
	p.untilText("main", "nobody shows it")
	p.do(chromedp.Focus("input[name=code]"))
	p.write(strings.ToLower(made.Code))
	p.press("Enter")
	p.untilText("#needs", "Well.")
	// Before its scripts are there the page answers too, but by a new page and not in #link.
	p.until("document.readyState === 'complete'")
	p.do(chromedp.Focus(".need button[value=yes]"))
	p.press("Enter")
	p.untilText("#link", "answered: plan of ana is approved")
}
