//go:build browser

package web

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

var (
	measureLoad = flag.Bool("load", false, "measure pages of a team of 200 members at 50 lines a second, for some minutes")
	loadTime    = flag.Duration("load-time", 30*time.Second, "how long each rate is measured with -load")
	loadLines   = flag.Int("load-lines", 100_000, "after how many lines -load measures the memory of tabs")
)

// The team whose pages are measured.
const (
	crowd       = 200
	day         = 15_001                // lines that there are at the beginning
	every       = 20 * time.Millisecond // a line: 50 a second
	serverPlace = "COVEY_TEST_LOAD"     // the state folder, for the process of the server
)

// loaded is a page whose server is another process, and its journal, which the test writes.
type loaded struct {
	*testing.T
	place   state.Place
	server  *exec.Cmd
	wake    io.Writer // a byte tells the server that the journal has grown
	file    *os.File
	address string
	seq     int
}

// TestBrowserLoad measures what a page of a large team costs. Its figures are in docs/performance.md.
func TestBrowserLoad(t *testing.T) {
	if !*measureLoad {
		t.Skip("it takes minutes; -load measures")
	}
	b := startBrowser(t)
	l := startLoaded(t)
	alone := l.share(nil)
	p := b.open(t, 1280, 900, l.address)
	p.until("document.querySelectorAll('#members .row').length === " + strconv.Itoa(crowd))
	watched := l.share(nil)
	t.Logf("covey: %.1f %% of a core without a viewer, %.1f %% with one", 100*alone, 100*watched)
	l.share(func() {
		var paints []float64
		for range 7 {
			p.to("/")
			p.until("performance.getEntriesByName('first-contentful-paint').length")
			paints = append(paints, value[float64](p, "performance.getEntriesByName('first-contentful-paint')[0].startTime"))
		}
		t.Logf("first paint: %s ms", quantiles(paints))
		p.do(chromedp.Evaluate[chromedp.Void](stopwatch))
	})
	l.share(nil)
	t.Logf("event to screen: %s ms", quantiles(value[[]float64](p, "took")))
	member := b.open(t, 1280, 900, l.address)
	member.to("/member/m1")
	l.flood()
	for _, one := range []page{p, member} {
		one.untilText("main", fmt.Sprintf("line %d", l.seq))
		t.Logf("%s after %d lines: %s", value[string](one, "location.pathname"), *loadLines, one.memory())
	}
	t.Logf("memory of the tabs' processes, in MB: %v", l.renderers(p))
}

// stopwatch notes in a page how long after its time each text comes to the screen.
const stopwatch = `window.took = []; window.seen = new Set();
new MutationObserver(() => requestAnimationFrame(() => {
	for (const e of document.querySelectorAll("#members .doing")) {
		const found = e.textContent.match(/at (\d{13})/);
		if (found && !seen.has(found[1])) { seen.add(found[1]); took.push(Date.now() - Number(found[1])); }
	}
})).observe(document.getElementById("members"), {subtree: true, childList: true, characterData: true});
document.querySelectorAll("#members .doing").forEach(e => seen.add((e.textContent.match(/at (\d{13})/) || [])[1])); undefined`

// quantiles describes figures.
func quantiles(list []float64) string {
	slices.Sort(list)
	n := len(list)
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("p50 %.0f, p95 %.0f, longest %.0f of %d", list[n/2], list[n*95/100], list[n-1], n)
}

// startLoaded starts the server of a team after a busy day.
func startLoaded(t *testing.T) *loaded {
	teamtest.StateHome(t)
	l := &loaded{T: t, place: teamtest.Place(t, "crew"), seq: day}
	teamtest.WriteJournal(t, l.place, teamtest.BusyDay(day, crowd)...)
	l.server = exec.Command(os.Args[0], "-test.run", "^TestBrowserLoadServer$", "-test.v")
	l.server.Env = append(os.Environ(), serverPlace+"="+l.place.Dir)
	var err error
	if l.wake, err = l.server.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := l.server.StdoutPipe()
	if err == nil {
		err = l.server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.server.Process.Kill(); _ = l.server.Wait() })
	for lines := bufio.NewScanner(out); l.address == "" && lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "page "); ok {
			l.address = rest
		}
	}
	if l.file, err = os.OpenFile(l.place.Journal(), os.O_APPEND|os.O_WRONLY, 0o600); err != nil || l.address == "" {
		t.Fatalf("%q, %v", l.address, err)
	}
	t.Cleanup(func() { _ = l.file.Close() })
	return l
}

// TestBrowserLoadServer is the process of the server.
func TestBrowserLoadServer(t *testing.T) {
	dir := os.Getenv(serverPlace)
	if dir == "" {
		t.Skip("TestBrowserLoad starts it")
	}
	page, err := Listen(&cli.Env{}, state.Place{Dir: dir, Team: "crew"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wake := make(chan struct{}, 1)
	go func() { _ = page.feed.Follow(t.Context(), wake) }() // it ends with the process
	server := &http.Server{Handler: page.guard.wrap(page.routes()), ConnContext: page.guard.connect, ReadHeaderTimeout: headerTime}
	go func() { _ = server.Serve(page.listener) }()
	fmt.Println("page " + page.URL())
	for one := make([]byte, 1); ; members.Signal(wake) {
		if _, err := os.Stdin.Read(one); err != nil {
			return
		}
	}
}

// add writes a line of a member, with the time in its text.
func (l *loaded) add(member int) {
	l.seq++
	line := teamtest.Line(l.seq, fmt.Sprintf("m%d", member), "text", fmt.Sprintf(`{"text":"at %d, line %d, I look at it"}`, time.Now().UnixMilli(), l.seq))
	text, err := json.Marshal(events.Line(line))
	if err == nil {
		_, err = l.file.Write(append(text, '\n'))
	}
	if err == nil {
		_, err = l.wake.Write([]byte{0})
	}
	if err != nil {
		l.Fatal(err)
	}
}

// share writes lines for a while, and as long as something goes on. It returns what part of a core
// the server has taken.
func (l *loaded) share(beside func()) float64 {
	ctx, cancel := context.WithTimeout(l.Context(), *loadTime)
	if beside != nil {
		ctx, cancel = context.WithCancel(l.Context())
		go func() { defer cancel(); beside() }()
	}
	defer cancel()
	began, used := time.Now(), l.used()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-tick.C:
			l.add(1 + (l.seq*7)%(crowd-1))
		case <-ctx.Done():
			return (l.used() - used).Seconds() / time.Since(began).Seconds()
		}
	}
}

// used returns the processor time of the server.
func (l *loaded) used() time.Duration {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(l.server.Process.Pid), "stat"))
	if err != nil {
		l.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks time.Duration
	for _, f := range fields[11:13] { // of the user, of the system
		n, _ := strconv.Atoi(f) // the kernel writes numbers
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}

// flood writes many lines, every other of them of one member, faster than a team does.
func (l *loaded) flood() {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := 0; i < *loadLines; <-tick.C {
		for range 25 {
			i++
			member := 1
			if i%2 == 0 && i < *loadLines {
				member = 1 + i%(crowd-1)
			}
			l.add(member)
		}
	}
}

// memory returns what a page says of its memory once it has shown the last line.
func (p page) memory() string {
	p.call("HeapProfiler.collectGarbage", nil, nil)
	p.call("Performance.enable", nil, nil)
	var got struct {
		Metrics []struct {
			Name  string  `json:"name"`
			Value float64 `json:"value"`
		} `json:"metrics"`
	}
	p.call("Performance.getMetrics", nil, &got)
	text := ""
	for _, m := range got.Metrics {
		switch m.Name {
		case "JSHeapUsedSize", "JSHeapTotalSize":
			text += fmt.Sprintf("%s %.0f MB ", m.Name, m.Value/1e6)
		case "Nodes", "JSEventListeners":
			text += fmt.Sprintf("%s %.0f ", m.Name, m.Value)
		}
	}
	return text
}

// renderers returns the memory of the processes of tabs, in MB, each with its part of what they share.
func (l *loaded) renderers(p page) (list []string) {
	var got struct {
		ProcessInfo []struct {
			ID   int    `json:"id"`
			Type string `json:"type"`
		} `json:"processInfo"`
	}
	b := chromedp.FromContext(p.ctx).Browser
	if err := b.Call(p.ctx, "SystemInfo.getProcessInfo", nil, &got); err != nil {
		l.Fatal(err)
	}
	for _, one := range got.ProcessInfo {
		if one.Type != "renderer" {
			continue
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", one.ID)) // a tab may be gone
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 1 && (f[0] == "Pss:" || f[0] == "Rss:") {
				list = append(list, f[0]+f[1]+" kB")
			}
		}
	}
	return list
}
