package main

import (
	"bufio"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestPageMergesForAStoppedTeam: a page merges the work of a team that has ended, as covey merge does: with its
// gates, and if the spec is trusted. It shows what was decided, though no team tells of it.
func TestPageMergesForAStoppedTeam(t *testing.T) {
	r := tenTasks(t)
	up := exec.Command("covey", "-C", r.dir, "up", "--trust")
	out, err := up.CombinedOutput()
	if up.ProcessState == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	page := exec.Command("covey", "-C", r.dir, "web")
	said, err := page.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := page.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = page.Process.Signal(os.Interrupt)
		_ = page.Wait()
	})
	lines := bufio.NewReader(said)
	line := ""
	for !strings.Contains(line, "http://") {
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	r.visit(line)
	var shown, token []string
	for begun := time.Now(); shown == nil || token == nil; time.Sleep(50 * time.Millisecond) { // until the page has read the team
		task := r.load("/task/1")
		if shown, token = pieceShown.FindStringSubmatch(task), formToken.FindStringSubmatch(task); time.Since(begun) > time.Minute {
			t.Fatalf("nothing can be merged on %s", task)
		}
	}
	r.form = token[1]
	form := url.Values{"token": {r.form}, "task": {"1"}, "one": {shown[1]}}
	answer, err := r.http.PostForm(r.base+"/merge", form)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode == 200 || strings.Contains(r.load("/task/1"), "It is merged into") {
		t.Fatal("it was merged although the spec is not trusted")
	}
	r.covey("trust")
	r.post("/merge", form)
	r.follow("/task/1/events", "It is merged into")
	if got := r.covey("review", "1"); !strings.Contains(got, "merged") {
		t.Error(got)
	}
	r.post("/return", url.Values{"task": {"3"}, "text": {"Keep the test."}})
	r.follow("/task/3/events", "a person sent it back: Keep the test.")
}
