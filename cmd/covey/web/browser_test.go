//go:build browser

package web

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browserLimit is how long the browser tests together may take before they count as hanging.
const browserLimit = 12 * time.Minute

// TestBrowser shows pages in one headless browser. Each subtest has windows of its own.
func TestBrowser(t *testing.T) {
	b := startBrowser(t)
	bin := sync.OnceValue(func() string { return buildCovey(t) })
	for name, test := range map[string]func(*testing.T, browser, string){
		"Quickstart": quickstart, "Decides": decides, "Reconnects": reconnects, "Queue": queue,
	} {
		t.Run(name, func(t *testing.T) { test(t, b, bin()) })
	}
	for name, test := range map[string]func(*testing.T, browser){
		"NetworkCut": networkCut, "Typing": typing, "Keys": keys, "NoScript": noScript,
		"Accessible": accessible, "Hostile": harmless, "Full": fullHouse, "OtherPorts": otherPorts, "LettingIn": lettingIn,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

// browser is the context of a running browser.
type browser struct{ ctx context.Context }

// startBrowser starts a headless browser that ends with the test.
func startBrowser(t *testing.T) browser {
	t.Helper()
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
		chromedp.ExecPath(path), chromedp.NoSandbox)...)
	t.Cleanup(stop)
	ctx, closeIt := chromedp.NewContext(ctx)
	t.Cleanup(closeIt)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // a context's first action starts it
		t.Fatal(err)
	}
	return browser{ctx}
}

// page is a tab of a browser.
type page struct {
	*testing.T
	ctx context.Context
}

// open opens an address in a new window of this size, which is closed with the test. It is no tab,
// because pages of tabs that nobody sees stop to change.
func (b browser) open(t *testing.T, width, height int64, address string) page {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	p := page{t, ctx}
	p.do(chromedp.EmulateViewport(width, height))
	p.call("Emulation.setFocusEmulationEnabled", map[string]bool{"enabled": true}, nil)
	p.show(address)
	return p
}

// show loads an address.
func (p page) show(address string) {
	p.Helper()
	p.do(chromedp.Navigate(address))
}

// do carries out steps.
func (p page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.Fatalf("%v; the page says\n%s", err, p.text("body"))
	}
}

// call sends a command of the browser's protocol.
func (p page) call(method string, params, result any) {
	p.Helper()
	p.do(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error { return tab.Call(ctx, method, params, result) }))
}

// value returns what an expression gives in a page.
func value[T any](p page, expression string) T {
	p.Helper()
	got, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return got
}

// text returns the text of an element; empty: there is none.
func (p page) text(selector string) string {
	p.Helper()
	return value[string](p, "(document.querySelector(`"+selector+"`) || {textContent: ''}).textContent")
}

// until waits until an expression is true.
func (p page) until(expression string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, hangs)
	defer cancel()
	wait := chromedp.Poll[bool]("!!("+expression+")", chromedp.WithPollingTimeout(0), chromedp.WithPollingInterval(20*time.Millisecond))
	_, err := chromedp.Run(ctx, wait)
	for err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "(-32000)") { // the page was left meanwhile
		_, err = chromedp.Run(ctx, wait)
	}
	if err != nil {
		p.Fatalf("%s: %v; the page, %s, says\n%s", expression, err, value[string](p, "document.visibilityState"), fmt.Sprintf("%.3000s", p.text("body")))
	}
}

// untilText waits until an element has a text.
func (p page) untilText(selector, text string) {
	p.Helper()
	p.until("(document.querySelector(`" + selector + "`) || {textContent: ''}).textContent.includes(" + strconv.Quote(text) + ")")
}

// keysOf are the keys that have names.
var keysOf = map[string]map[string]any{
	"Tab":    {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9},
	"Enter":  {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
	"Escape": {"key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 27},
}

// press presses keys, one after another, wherever the focus is: a key with a name, or one that writes.
func (p page) press(keys ...string) {
	p.Helper()
	for _, k := range keys {
		event, named := keysOf[k]
		if !named {
			event = map[string]any{"key": k, "text": k}
		}
		for _, kind := range []string{"keyDown", "keyUp"} {
			one := maps.Clone(event)
			one["type"] = kind
			p.call("Input.dispatchKeyEvent", one, nil)
		}
	}
}

// write writes a text wherever the focus is.
func (p page) write(text string) {
	p.Helper()
	p.press(strings.Split(text, "")...)
}

// tabTo presses Tab until an element has the focus.
func (p page) tabTo(selector string) {
	p.Helper()
	for range 300 {
		if value[bool](p, "document.activeElement.matches(`"+selector+"`)") {
			return
		}
		p.press("Tab")
	}
	p.Fatalf("no number of tabs leads to %s; the focus is on %s", selector, value[string](p, "document.activeElement.outerHTML.slice(0, 200)"))
}

// buildCovey builds covey, and returns the program's path.
func buildCovey(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "covey")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", bin, "github.com/coveyteam/covey/cmd/covey")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// team is a folder with a team, whose covey a test runs.
type team struct {
	*testing.T
	bin  string
	dir  string // the workspace
	home string // of the state folders
}

// newTeam makes an empty folder for a team.
func newTeam(t *testing.T, bin string) *team {
	t.Helper()
	dir := t.TempDir()
	one := &team{T: t, bin: bin, dir: filepath.Join(dir, "team"), home: filepath.Join(dir, "state")}
	if err := os.Mkdir(one.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return one
}

// try runs covey to its end.
func (m *team) try(args ...string) (string, error) {
	cmd := exec.Command(m.bin, args...)
	cmd.Dir, cmd.Env = m.dir, append(os.Environ(), "COVEY_STATE_HOME="+m.home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs a command of covey that has to succeed.
func (m *team) run(args ...string) string {
	m.Helper()
	out, err := m.try(args...)
	if err != nil {
		m.Fatalf("covey %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// up starts the team in the background, and returns the address of its page.
func (m *team) up(args ...string) string {
	m.Helper()
	m.Cleanup(func() { _, _ = m.try("down") }) // it may have ended
	m.run(append([]string{"up", "--detach", "--trust", "--keep"}, args...)...)
	return strings.TrimSpace(m.run("web", "--url"))
}

// The quickstart is followed live from its start to its end, without loading the page anew.
func quickstart(t *testing.T, b browser, bin string) {
	m := newTeam(t, bin)
	if err := os.CopyFS(m.dir, os.DirFS("../../../examples/quickstart")); err != nil {
		t.Fatal(err)
	}
	p := b.open(t, 1280, 2000, m.up("--web"))
	p.until("document.querySelector('#members .row')")
	p.untilText("#tasks h2", "4 of 4 done")
	if got := p.text("#tasks"); !strings.Contains(got, "Count pieces in the total") {
		t.Errorf("the tasks are\n%s", got)
	}
	if at := value[string](p, "location.href"); strings.Contains(at, "token=") {
		t.Errorf("the address is %s", at)
	}
}
