package main

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// reviewer is a person who has only the web page of a team.
type reviewer struct {
	*testing.T
	http *http.Client
	base string // the address of the page, to which paths are added
	dir  string // the workspace
	form string // the token of forms
}

// review starts the team of ten tasks, of which three have a planted fault, and opens its page.
func review(t *testing.T) *reviewer {
	t.Helper()
	r := tenTasks(t)
	r.open()
	return r
}

// tenTasks makes the workspace of that team.
func tenTasks(t *testing.T) *reviewer {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("COVEY_STATE_HOME", filepath.Join(t.TempDir(), "state"))
	from, err := filepath.Abs("testdata/tentasks/start.sh")
	if err != nil {
		t.Fatal(err)
	}
	r := &reviewer{T: t, dir: dir}
	start := exec.Command("sh", from)
	start.Dir = dir
	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return r
}

// open starts the team, and opens its page.
func (r *reviewer) open() {
	t := r.T
	t.Helper()
	out := r.covey("up", "--trust", "--keep", "--detach", "--web")
	t.Cleanup(func() { r.covey("down") })
	r.visit(out)
}

// visit opens the page whose address is in what covey printed.
func (r *reviewer) visit(out string) {
	t := r.T
	t.Helper()
	address, err := url.Parse(regexp.MustCompile(`http://\S+`).FindString(out))
	if err != nil || address.Host == "" {
		t.Fatalf("no address in %s", out)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r.http = &http.Client{Jar: jar, Timeout: time.Minute}
	answer, err := r.http.Get(address.String())
	page := r.body(answer, err)
	r.base = strings.TrimSuffix(answer.Request.URL.String(), "/")
	r.form = formToken.FindStringSubmatch(page + `name="token" value=""`)[1]
}

var formToken = regexp.MustCompile(`name="token" value="([^"]*)"`)

// covey runs a command that has to succeed, and returns its output.
func (r *reviewer) covey(args ...string) string {
	r.Helper()
	out, err := exec.Command("covey", append([]string{"-C", r.dir}, args...)...).CombinedOutput()
	if err != nil {
		r.Fatalf("covey %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// load returns a page.
func (r *reviewer) load(path string) string {
	r.Helper()
	answer, err := r.http.Get(r.base + path)
	return r.body(answer, err)
}

// post sends a form, and returns the page that it leads to.
func (r *reviewer) post(path string, form url.Values) string {
	r.Helper()
	form.Set("token", r.form)
	answer, err := r.http.PostForm(r.base+path, form)
	return r.body(answer, err)
}

func (r *reviewer) body(answer *http.Response, err error) string {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		r.Fatalf("%s: %s, %v\n%s", answer.Request.URL.Path, answer.Status, err, body)
	}
	return string(body)
}

// follow reads a stream of a page until it has shown all of the texts.
func (r *reviewer) follow(path string, texts ...string) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path, nil)
	if err != nil {
		r.Fatal(err)
	}
	answer, err := r.http.Do(ask)
	if err != nil {
		r.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	for len(texts) > 0 {
		line, err := lines.ReadString('\n')
		if err != nil {
			r.Fatalf("%s has not shown %q: %v", path, texts, err)
		}
		var left []string
		for _, text := range texts {
			if !strings.Contains(line, text) {
				left = append(left, text)
			}
		}
		texts = left
	}
}

// part returns a section of a page; empty if it is not there.
func part(page, id string) string {
	_, rest, found := strings.Cut(page, `<section id="`+id+`"`)
	if !found {
		return ""
	}
	text, _, _ := strings.Cut(rest, "</section>")
	return text
}

// faults are the files of the planted faults by their tasks.
var faults = map[string]string{"3": "tests/test_sum.sh", "6": "check.sh", "9": "rates.txt"}

// brought are the tasks that are built on those with a fault, so that their merges bring it.
var brought = map[string]string{"4": "3", "7": "6", "10": "9"}

// Of ten finished tasks three have a planted fault. The page marks these three, those whose merge
// brings them, and no other, shows why, and sends each back with one form. Of a good one it shows all that is needed to decide.
func TestPageOfATask(t *testing.T) {
	r := review(t)
	r.follow("/events", "Tasks: 10 of 10 done", `/task/3#task-look">⚠ tests removed`,
		`/task/6#task-look">⚠ gate changed`, `/task/9#task-look">⚠ also changes`,
		`/task/4#task-look">⚠ brings other work`, `/task/7#task-look">⚠ brings other work`, `/task/10#task-look">⚠ brings other work`)
	for _, m := range regexp.MustCompile(`class="mark" href="[^"]*/task/(\d+)`).FindAllStringSubmatch(r.load("/"), -1) {
		if faults[m[1]] == "" && brought[m[1]] == "" {
			t.Errorf("task %s is marked", m[1])
		}
	}
	for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"} {
		r.looksAt(id, cmp.Or(faults[id], faults[brought[id]]))
	}
	r.decidesOnTask1()
	if got := part(r.load("/task/3"), "task-acts"); !strings.Contains(got, "Tests are removed") {
		t.Errorf("without a comment the hints are the reason: %s", got)
	}
	r.commentsOnTask3()
	if got := part(r.load("/task/3"), "task-acts"); strings.Contains(got, "Tests are removed") {
		t.Errorf("the reason is that of the comments: %s", got)
	}
	r.mergesWithoutMarks()
	for id, fault := range faults {
		said := r.post("/return", url.Values{"task": {id}, "text": {"Leave " + fault + " as it was."}})
		if !strings.Contains(said, "task "+id+" is sent back: it is not merged; ") {
			t.Errorf("task %s: %s", id, said)
		}
		if id == "3" {
			fix := regexp.MustCompile(`goes on with task (\d+)`).FindStringSubmatch(said)[1]
			if got := part(r.load("/task/3"), "task-diff"); !strings.Contains(got, `sent back</span> <span class="text">Why?`) {
				t.Errorf("the comment is not shown any more: %s", got)
			}
			if text := r.covey("tasks", "show", fix); !strings.Contains(text, "tests/test_sum.sh:1: Why?") || strings.Contains(text, "Not meant.") {
				t.Errorf("the comments have not gone with the work: %s", text)
			}
		}
		if got := r.covey("review", id); !strings.Contains(got, "a person sent it back: Leave "+fault) {
			t.Error(got)
		}
	}
	if got := r.covey("tasks"); strings.Count(got, "Revise task ") != 4 {
		t.Error(got)
	}
	if got := r.load("/task/4"); !strings.Contains(part(got, "task-look"), "builds on returned work") {
		t.Error("task 4 was made on top of task 3")
	}
}

// pieceShown finds the button that decides about a piece as it is shown.
var pieceShown = regexp.MustCompile(`name="one" value="([^"]*)"`)

// commentsOnTask3 adds comments to what goes back with the work, and marks a file as viewed. Both are
// there when the page is loaded again.
func (r *reviewer) commentsOnTask3() {
	r.Helper()
	comment := url.Values{"task": {"3"}, "file": {"tests/test_sum.sh"}, "line": {"1"}, "as": {"note"}}
	for _, text := range []string{"Why?", "Not meant."} {
		comment.Set("text", text)
		r.post("/comment", comment)
	}
	page := r.post("/comment", url.Values{"task": {"3"}, "as": {"removed"}, "note": {"2"}})
	sum := regexp.MustCompile(`name="sum" value="([^"]*)"`).FindStringSubmatch(page)
	r.post("/viewed", url.Values{"task": {"3"}, "sum": {sum[1]}, "viewed": {"yes"}})
	page = r.load("/task/3")
	for _, want := range []string{"<b>tests/test_sum.sh:1</b>", "1 comment<", "1 of ", `aria-pressed="true"`} {
		if !strings.Contains(page, want) || strings.Contains(page, "Not meant.") {
			r.Errorf("there is no %q in\n%s", want, page)
		}
	}
}

// mergesWithoutMarks merges what has no marks with one form. What has changed since it was shown, or
// has marks, is left as it is.
func (r *reviewer) mergesWithoutMarks() {
	r.Helper()
	queue := part(r.load("/"), "review")
	var clean []string
	for _, m := range regexp.MustCompile(`name="clean" value="([^"]*)"`).FindAllStringSubmatch(queue, -1) {
		clean = append(clean, m[1])
		if id, _, _ := strings.Cut(m[1], "@"); faults[id] != "" || brought[id] != "" {
			r.Errorf("%s counts as one without marks", m[1])
		}
	}
	if len(clean) != 3 {
		r.Fatalf("without marks are %q in\n%s", clean, queue)
	}
	if strings.Contains(queue, `name="piece" value="3@`) {
		r.Error("work with marks can be chosen")
	}
	marked := pieceShown.FindStringSubmatch(part(r.load("/task/3"), "task-acts"))[1]
	id, _, _ := strings.Cut(clean[0], "@")
	for version, want := range map[string]string{id + "@0000": "has changed since the page was shown", marked: "has marks by now"} {
		answer, err := r.http.PostForm(r.base+"/merge", url.Values{"token": {r.form}, "which": {"clean"}, "clean": {version}})
		if err != nil {
			r.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusConflict || !strings.Contains(string(text), want) {
			r.Errorf("%s: %s, %v", version, text, err)
		}
	}
	r.post("/merge", url.Values{"which": {"clean"}, "clean": clean})
	for _, version := range clean {
		id, _, _ := strings.Cut(version, "@")
		r.follow("/task/"+id+"/events", "It is merged into main.")
	}
	if page := r.load("/"); !strings.Contains(page, "<dt>merged</dt><dd>4 of 10</dd>") || !strings.Contains(page, "<dt>done</dt><dd>10 of 12</dd>") {
		r.Error(part(page, "team"))
	}
}

// looksAt loads the page of a finished task, whose fault is a file or empty.
func (r *reviewer) looksAt(id, fault string) {
	r.Helper()
	page := r.load("/task/" + id)
	r.form = formToken.FindStringSubmatch(page)[1]
	look := part(page, "task-look")
	if fault == "" {
		if look != " hidden>" && !strings.Contains(look, "The merge brings task ") {
			r.Errorf("task %s: %s", id, look)
		}
		return
	}
	if brought[id] != "" { // the files of other work come last, and what they are marked for is named
		if !strings.Contains(look, " and marked: ") || !strings.Contains(look, "<code>"+fault+"</code>") {
			r.Errorf("task %s: %s", id, look)
		}
		_, files, _ := strings.Cut(part(page, "task-diff"), `<ul class="files">`)
		if at := strings.Index(files, `<b class="kind">other work</b>`); at < 0 || at < strings.Index(files, "<li><a ") || strings.Contains(files[:at], fault) {
			r.Errorf("task %s: %s", id, files)
		}
		return
	}
	own, _, _ := strings.Cut(look, "The merge brings task ")
	if !strings.Contains(own, "<code>"+fault+"</code>") || strings.Count(own, "<code>") != 1 {
		r.Errorf("task %s: %s", id, look)
	}
	// The diff shows the file first, and the form has the reason already.
	_, diff, _ := strings.Cut(part(page, "task-diff"), ` class="file"`)
	if first, _, _ := strings.Cut(diff, ` class="file"`); !strings.Contains(first, "<code>"+fault+"</code>") {
		r.Errorf("task %s: %s", id, diff)
	}
	if acts := part(page, "task-acts"); !strings.Contains(acts, "- "+fault+"\n</textarea>") {
		r.Errorf("task %s: %s", id, acts)
	}
}

// decidesOnTask1 comments on the work of a task, merges it, and sends it back afterwards.
func (r *reviewer) decidesOnTask1() {
	r.Helper()
	page := r.load("/task/1")
	for _, want := range []string{
		"Add lib/abs.sh", "It prints the absolute value of its argument.", "lib/abs.sh -3 prints 3, and all tests pass", // evidence
		"ok tests/test_abs.sh", "exit code 0", // the gate's output
		`<td>echo ${1#-}</td>`, "takes task 1 (Add lib/abs.sh)", "Merge into main",
	} {
		if !strings.Contains(page, want) {
			r.Errorf("there is no %q in\n%s", want, page)
		}
	}
	// A change of the store reaches the journal a moment after it, so the member's next words may
	// stand before it and be taken for this task's; those of the last task may not.
	if strings.Contains(part(page, "task-talk"), "lib/square.sh") {
		r.Error("the conversation is that of other tasks, too")
	}
	comment := url.Values{"task": {"1"}, "to": {"ana"}, "file": {"lib/abs.sh"}, "line": {"2"}, "text": {"What about -0?"}, "as": {"message"}}
	if got := r.post("/comment", comment); !strings.Contains(got, " to ana</p>") {
		r.Error(got)
	}
	comment.Set("as", "task")
	if got := r.post("/comment", comment); !strings.Contains(got, "task 11 is created for ana") {
		r.Error(got)
	}
	for _, got := range []string{r.covey("tasks", "show", "11"), r.covey("logs")} {
		if !strings.Contains(got, "About lib/abs.sh:2 in your work on task 1") {
			r.Error(got)
		}
	}
	whole := r.load("/task/1/file?name=" + url.QueryEscape("lib/abs.sh"))
	if !strings.Contains(whole, "echo ${1#-}") || strings.Contains(whole, "test_abs") {
		r.Error(whole)
	}
	r.post("/merge", url.Values{"task": {"1"}, "one": {pieceShown.FindStringSubmatch(part(page, "task-acts"))[1]}})
	r.follow("/task/1/events", "It is merged into main.")
	if _, err := os.Stat(filepath.Join(r.dir, "lib", "abs.sh")); err != nil {
		r.Error(err)
	}
	if got := r.post("/return", url.Values{"task": {"1"}, "text": {"Name it better."}}); !strings.Contains(got,
		"it stays merged; ana revises it with task 12") {
		r.Error(got)
	}
}

// What a tool's server asks is a form on the page, and what is sent is what the server gets.
func TestFormOnThePage(t *testing.T) {
	r := &reviewer{T: t, dir: t.TempDir()}
	t.Setenv("COVEY_STATE_HOME", filepath.Join(t.TempDir(), "state"))
	script, err := txtar.ParseFile("testdata/script/mcp_elicit.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if err := txtar.Write(script, r.dir); err != nil {
		t.Fatal(err)
	}
	r.open()
	r.follow("/events", `name="f0"`)
	r.form = formToken.FindStringSubmatch(r.load("/"))[1]
	wrong, err := r.http.PostForm(r.base+"/fill", url.Values{"token": {r.form}, "request": {"r1"}, "approve": {"yes"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(wrong.Body)
	_ = wrong.Body.Close()
	if err != nil || wrong.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(text), "it is missing") {
		t.Errorf("%s, %v\n%s", wrong.Status, err, text)
	}
	if got := r.post("/fill", url.Values{"request": {"r1"}, "approve": {"yes"}, "f0": {"the magic one"}}); !strings.Contains(got, "answered: form of ana is approved") {
		t.Error(got)
	}
	r.follow("/member/ana/events?after=", "accept the magic one", "asks, for a call of ana")
}
