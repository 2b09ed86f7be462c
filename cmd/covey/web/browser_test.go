//go:build browser

package web_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browserLimit is how long a browser test may take before it counts as hanging.
const browserLimit = 3 * time.Minute

// browser starts a headless browser, and returns the context of its first page.
func browser(t *testing.T, width, height int) context.Context {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("there is no browser: install chromium")
	}
	ctx, cancel := context.WithTimeout(t.Context(), browserLimit)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(width, height))...)
	t.Cleanup(stop)
	ctx, closePage := chromedp.NewContext(ctx)
	t.Cleanup(closePage)
	return ctx
}

// team is a folder with a team, whose covey a test runs.
type team struct {
	*testing.T
	bin, dir string
	env      []string
}

// newTeam builds covey and copies an example.
func newTeam(t *testing.T, example string) *team {
	dir := t.TempDir()
	one := &team{T: t, bin: filepath.Join(dir, "covey"), dir: filepath.Join(dir, "team")}
	one.env = append(os.Environ(), "COVEY_STATE_HOME="+filepath.Join(dir, "state"))
	build := exec.Command("go", "build", "-buildvcs=false", "-o", one.bin, "github.com/coveyteam/covey/cmd/covey")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.CopyFS(one.dir, os.DirFS(filepath.Join("../../../examples", example))); err != nil {
		t.Fatal(err)
	}
	return one
}

// run runs covey to its end.
func (m *team) run(args ...string) string {
	m.Helper()
	cmd := exec.Command(m.bin, args...)
	cmd.Dir, cmd.Env = m.dir, m.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.Fatalf("covey %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

var address = regexp.MustCompile(`http://\S+`)

// up starts the team in the background, and returns the address of its page.
func (m *team) up(args ...string) string {
	m.Helper()
	out := m.run(append([]string{"up", "--detach", "--web", "--trust"}, args...)...)
	m.Cleanup(func() {
		cmd := exec.Command(m.bin, "down")
		cmd.Dir, cmd.Env = m.dir, m.env
		_ = cmd.Run() // it may have ended
	})
	url := address.FindString(out)
	if url == "" {
		m.Fatalf("no address in\n%s", out)
	}
	return url
}

// page is a page in a browser.
type page struct {
	*testing.T
	ctx context.Context
}

// do carries out steps.
func (p page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.Fatalf("%v; the page says\n%s", err, p.text("body"))
	}
}

// text returns the text of an element; empty: there is none.
func (p page) text(selector string) string {
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](
		"(document.querySelector(`"+selector+"`) || {textContent: ''}).textContent"))
	if err != nil {
		p.Errorf("%s: %v", selector, err)
	}
	return text
}

// until waits until an expression is true.
func (p page) until(expression string) {
	p.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(0)))
	if err != nil {
		p.Fatalf("%s: %v; the page says\n%s", expression, err, p.text("body"))
	}
}

// The quickstart is followed live from its start to its end, without loading the page anew.
func TestBrowserFollowsATeam(t *testing.T) {
	m := newTeam(t, "quickstart")
	p := page{t, browser(t, 1280, 2000)}
	p.do(chromedp.Navigate(m.up("--keep")), chromedp.WaitVisible("#members .row"))
	p.until("document.querySelector('#tasks h2').textContent.includes('4 of 4 done')")
	if got := p.text("#tasks"); !strings.Contains(got, "Count pieces in the total") {
		t.Errorf("the tasks are\n%s", got)
	}
	at, err := chromedp.Run(p.ctx, chromedp.Evaluate[string]("location.href"))
	if err != nil || strings.Contains(at, "token=") {
		t.Errorf("the address is %s, %v", at, err)
	}
}
