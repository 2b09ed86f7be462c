//go:build browser

package web

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// shotsDir names a folder for pictures of the pages, for who wants to look at them.
const shotsDir = "COVEY_SHOTS"

// shot takes a picture of all of a page as a window of this size shows it.
func (p page) shot(name string, width, height int64, scheme string) {
	p.Helper()
	dir := os.Getenv(shotsDir)
	if dir == "" {
		return
	}
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	p.do(chromedp.EmulateViewport(width, height))
	var got struct {
		Data []byte `json:"data"`
	}
	p.call("Page.captureScreenshot", map[string]any{"format": "png"}, &got)
	if err := os.WriteFile(filepath.Join(dir, name+".png"), got.Data, 0o600); err != nil {
		p.Fatal(err)
	}
}

// tenTasks starts the team of ten tasks, of which three have a planted fault, and returns the address of
// its page when all are done and looked at.
func tenTasks(t *testing.T, b browser, bin string) page {
	m := newTeam(t, bin)
	from, err := filepath.Abs("../testdata/tentasks/start.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", from)
	cmd.Dir = m.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := b.open(t, 1280, 900, m.up("--web"))
	p.until("document.querySelectorAll('#review .piece.marked').length === 6 && document.querySelectorAll('#review .piece .facts').length === 10")
	return p
}

// A person decides about ten pieces of work with the keys alone: those without marks by one button, and
// each of the others with a reason. Rows keep their place, and what was chosen stays chosen.
func queue(t *testing.T, b browser, bin string) {
	p := tenTasks(t, b, bin)
	if got := value[int](p, "document.documentElement.scrollHeight"); got > 2*900 {
		t.Errorf("the page is %d pixels high", got)
	}
	for _, scheme := range []string{"light", "dark"} {
		p.shot("queue-"+scheme, 1280, 1800, scheme)
		p.shot("queue-narrow-"+scheme, 380, 1800, scheme)
	}
	p.do(chromedp.EmulateViewport(1280, 900))
	const places = "[...document.querySelectorAll('#review .piece')].map(e => e.id).join(' ')"
	before := value[string](p, places)
	if n := value[int](p, "document.querySelectorAll('.piece.marked button.yes, .piece.marked [name=one], .piece.marked .decide > button').length"); n != 0 {
		t.Errorf("%d rows with marks can be merged at once", n)
	}
	p.press("n", "x")
	first := value[string](p, "document.activeElement.id")
	if !strings.HasPrefix(before, first+" ") || value[bool](p, "document.querySelector('#review .piece.marked [type=checkbox]') !== null") {
		t.Errorf("n leads to %q of %q, or marked work can be chosen", first, before)
	}
	p.untilText("#link", "it has marks")
	p.do(chromedp.Focus("#review .piece:has([type=checkbox])"))
	p.press("x", "j", "x", "k", "k")
	p.untilText("#queue", "Merge the 2 chosen")
	p.press("m") // which has the focus does not matter
	p.untilText("#link", "queued to be merged: task")
	p.until("document.querySelectorAll('#review .piece .state.good').length === 2")
	p.tabTo("#queue button.yes")
	p.press("Enter")
	p.untilText("#link", "queued to be merged: task")
	p.until("document.querySelectorAll('#review .piece .state.good').length === 4")
	if after := value[string](p, places); after != before {
		t.Errorf("the rows were %s and are %s", before, after)
	}
	p.do(chromedp.Focus("#piece-6"))
	p.press("r")
	if text := value[string](p, "document.activeElement.value"); !strings.Contains(text, "check.sh") {
		t.Errorf("the reason is %q", text)
	}
	p.write("Leave the gate alone.")
	p.do(chromedp.Evaluate[chromedp.Void]("document.activeElement.form.requestSubmit()"))
	p.until("document.querySelector('#piece-6 .state').textContent === 'sent back'")
	p.audit()
	p.do(chromedp.EmulateViewport(1280, 900))

	// A piece with marks: its page, where m does not merge, a file is viewed, and comments go back together.
	p.do(chromedp.Focus("#piece-9"))
	p.press("m")
	p.until("location.pathname.endsWith('/task/9') && document.readyState === 'complete' && document.querySelector('#feed')._htmx")
	p.press("m")
	if got := value[string](p, "document.activeElement.textContent"); !strings.HasPrefix(got, "Merge into") {
		t.Errorf("m leads to %q", got)
	}
	p.do(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
	p.press("j", "x")
	p.untilText(".file.viewed button", "Viewed")
	p.until("!document.querySelector('.file.viewed details').open")
	p.to("/task/9")
	p.until("document.querySelector('.file.viewed details:not([open])') && document.querySelector('#feed')._htmx")
	p.untilText("#task-acts", "1 of ")
	p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.file:not(.viewed) .hunk td:nth-child(2)').click()"))
	p.write("Why here?")
	p.press("Tab", "Tab", "Enter")
	p.untilText("#task-acts .note", "Why here?")
	if got := value[bool](p, "document.querySelector('#task-acts').getBoundingClientRect().bottom <= innerHeight"); !got {
		t.Error("the bar is out of sight")
	}
	for _, scheme := range []string{"light", "dark"} {
		p.shot("piece-"+scheme, 1280, 900, scheme)
		p.shot("piece-narrow-"+scheme, 380, 900, scheme)
	}
	p.audit()
	p.do(chromedp.EmulateViewport(1280, 900))
	p.press("m") // asks, because the comment would be lost
	if got := value[string](p, "document.activeElement.textContent"); !strings.Contains(got, "1 comment would be lost") {
		t.Errorf("m leads to %q", got)
	}
	p.do(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
	p.press("r")
	p.do(chromedp.Evaluate[chromedp.Void]("document.activeElement.form.requestSubmit()"))
	p.untilText(".said", "task 9 is sent back")
	p.until("!location.pathname.endsWith('/task/9') && document.querySelector('#feed')._htmx")

	// A line is found with keys, and one more sends the work back with the comment on it. The next piece comes by itself.
	here := value[string](p, "location.pathname")
	p.untilText("#task-acts", "Merge into")
	p.press("j", "J", "J", "K", "c")
	number := value[string](p, "document.querySelector('.hunk .aimed').cells[1].textContent || document.querySelector('.hunk .aimed').cells[0].textContent")
	if title := value[string](p, "document.activeElement.closest('details').querySelector('summary').textContent"); !strings.HasSuffix(title, ":"+number) {
		t.Errorf("the comment on line %s is called %q", number, title)
	}
	p.write("Not this line.")
	p.do(chromedp.Evaluate[chromedp.Void]("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true, bubbles: true}))"))
	p.untilText(".said", "is sent back")
	p.until("location.pathname !== '" + here + "'")
}
