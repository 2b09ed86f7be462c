//go:build browser

package web

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// staged starts the page of a team in which everything has happened that a page shows. Texts of
// members are text.
func staged(t *testing.T, text string) *framed {
	f := newFramed(t, "ana", "ben")
	line := func(member, kind, data string) events.Line {
		return teamtest.Line(0, member, kind, strings.ReplaceAll(data, "TEXT", jsonText(text)))
	}
	f.add(
		line("lead", "member_started", `{"agent":"builtin/script","session_id":"s1"}`),
		line("ana", "member_started", `{"agent":"acp/codex","session_id":"s2"}`),
		line("lead", "task", `{"op":"created","by":"lead","task":{"id":"1","subject":TEXT,"status":"pending","owner":"ana","epoch":1}}`),
		line("lead", "task", `{"op":"created","by":"lead","task":{"id":"2","subject":TEXT,"status":"pending","owner":"ben","epoch":1,"blockedBy":["1"]}}`),
		line("lead", "message", `{"id":"m1","from":"lead","to":"ana","kind":"text","summary":TEXT,"text":TEXT}`),
		line("ana", "turn_started", `{"cause":"task","prompt":TEXT}`),
		line("ana", "task", `{"op":"claimed","by":"ana","task":{"id":"1","subject":TEXT,"status":"in_progress","owner":"ana","epoch":2}}`),
		line("ana", "text", `{"text":TEXT}`),
		line("ana", "tool_call", `{"id":"c1","name":"Bash","input":{"command":TEXT}}`),
		line("ana", "tool_result", `{"id":"c1","name":"Bash","content":TEXT}`),
		line("ana", "gate", `{"event":"TaskCompleted","tool_use_id":"g1","task_id":"1"}`),
		line("ana", "hook_started", `{"event":"TaskCompleted","tool_use_id":"g1","command":TEXT}`),
		line("ana", "hook_finished", `{"event":"TaskCompleted","tool_use_id":"g1","command":TEXT,"outcome":"blocking","exit_code":1,"duration_ms":7,"stdout":TEXT,"stderr":TEXT}`),
		line("ana", "hook_feedback", `{"event":"TaskCompleted","tool_use_id":"g1","text":TEXT,"path":"turn_end","task_id":"1"}`),
		line("ana", "task", `{"op":"completed","by":"ana","task":{"id":"1","subject":TEXT,"status":"completed","owner":"ana","epoch":2}}`),
		line("ana", "turn_ended", `{"reason":"completed","usage":{"input_tokens":6,"output_tokens":1},"cost_usd":0.5,"passes":1}`),
		line("ben", "needs_attention", `{"reason":TEXT}`),
		line("", "merge", `{"id":"1","member":"ana","branch":"b","tasks":["1"],"title":TEXT,"into":"main","state":"held","reason":TEXT}`),
		line("", "warning", `{"text":TEXT}`),
		line("", "budget", `{"what":"usd","used":1,"limit":2,"level":50}`),
	)
	for _, id := range f.asks(text) {
		f.add(line("ana", "request", `{"id":"`+id+`","kind":"plan","member":"ana","to":"operator","text":TEXT,"state":"open","created":"2026-11-25T12:00:00Z"}`))
	}
	f.add(
		line("ana", "request", `{"id":"r8","kind":"form","member":"ana","to":"operator","text":TEXT,"state":"open","created":"2026-11-25T13:00:00Z","payload":`+orderForm+`}`),
		line("ana", "request", `{"id":"r9","kind":"plan","member":"ana","to":"lead","text":TEXT,"state":"open","created":"2026-11-25T13:00:00Z","payload":{"plan":TEXT}}`),
	)
	f.follow()
	f.untilLine()
	return f
}

// stagedPages are the pages of a staged team.
var stagedPages = []string{"/", "/member/ana", "/task/1", "/task/2", "/request/r1"}

// openFramed opens a page of a team that does not run.
func (b browser) openFramed(f *framed, width int64, path string) page {
	f.Helper()
	p := b.open(f.T, width, 900, f.page.URL())
	if path != "/" {
		p.show(f.server.URL + f.page.guard.root + path)
	}
	return p
}

// However often the server closes the connection of a page while the journal grows, the page has
// each line once.
func networkCut(t *testing.T, b browser) {
	f := newFramed(t, "ana")
	f.follow()
	f.untilLine()
	p := b.openFramed(f, 1280, "/member/ana")
	for i := range 5 {
		f.add(says("ana", fmt.Sprintf("before cut %d", i)))
		p.untilText("#log", fmt.Sprintf("before cut %d", i))
		f.server.CloseClientConnections()
		f.add(says("ana", fmt.Sprintf("after cut %d", i)), says("ana", "and more"))
	}
	p.untilText("#log", "after cut 4")
	f.add(says("ana", "the end"))
	p.untilText("#log", "the end")
	var want []string
	for seq := 2; seq <= f.seq; seq++ {
		want = append(want, fmt.Sprintf("line-%d", seq))
	}
	if got := strings.Fields(value[string](p, shownIDs)); !slices.Equal(got, want) {
		t.Errorf("the page has %q, want %q", got, want)
	}
}

// What somebody types, and where the focus is, stays while events replace the parts around it.
func typing(t *testing.T, b browser) {
	f := staged(t, "Well.")
	p := b.openFramed(f, 1280, "/")
	const input = "input[name=feedback]"
	p.until("document.querySelector('" + input + "')")
	p.do(chromedp.Focus(input))
	p.write("ask again")
	f.add(says("ana", "another row changes"))
	p.untilText("#members", "another row changes")
	f.add(teamtest.Line(0, "lead", "needs_attention", `{"reason":"the section gets a row"}`))
	p.untilText("#needs", "the section gets a row")
	p.write(" later")
	if got := value[string](p, "document.activeElement.name + ': ' + document.activeElement.value"); got != "feedback: ask again later" {
		t.Errorf("what was typed has become %q", got)
	}

	p.do(chromedp.Focus("#member-ana"))
	f.add(says("ana", "its own row changes"))
	p.untilText("#member-ana", "its own row changes")
	f.add(teamtest.Line(0, "", "task", `{"op":"created","task":{"id":"3","subject":"One more","status":"pending"}}`))
	p.untilText("#tasks", "One more")
	if got := value[string](p, "document.activeElement.id"); got != "member-ana" {
		t.Errorf("the focus is on %q", got)
	}

	p.show(f.server.URL + f.page.guard.root + "/task/1")
	p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('#task-acts .back:has(textarea)').open = true"), chromedp.Focus("#task-acts textarea"))
	p.write("use fewer words")
	f.add(teamtest.Line(0, "ana", "gate", `{"event":"TaskCompleted","tool_use_id":"g2","task_id":"1"}`),
		teamtest.Line(0, "", "merge", `{"id":"1","member":"ana","branch":"b","tasks":["1"],"title":"x","into":"main","state":"held","reason":"another one"}`))
	p.untilText("#task-acts", "another one")
	p.press("!")
	if got := value[string](p, "document.activeElement.value"); !strings.HasPrefix(got, "use fewer words!") {
		t.Errorf("what was typed has become %q", got)
	}
}

// All of a page can be reached and used with the keys alone, and the list of the keys is right.
func keys(t *testing.T, b browser) {
	f := staged(t, "Well.")
	p := b.openFramed(f, 1280, "/")
	p.until("document.querySelector('#needs .row')")
	active := func() string { return value[string](p, "document.activeElement.id") }
	p.press("?")
	p.until("document.getElementById('help').open")
	p.press("Escape")
	p.until("!document.getElementById('help').open")
	p.press("/")
	if got := active(); got != "filter" {
		t.Errorf("/ leads to %q", got)
	}
	p.write("ben")
	p.until("!document.querySelector('#member-ana:not(.out)') && document.querySelector('#member-ben:not(.out)')")
	f.add(says("ana", "while it is filtered"))
	p.untilText("#member-ana", "while it is filtered")
	p.until("document.querySelector('#member-ana.out')")
	p.press("Escape")
	p.until("!document.querySelector('.row.out')")
	p.press("n")
	first := active()
	p.press("n", "k")
	if got := active(); !strings.HasPrefix(first, "need-") || got != first {
		t.Errorf("n and k lead to %q and %q", first, got)
	}
	p.do(chromedp.Focus("#member-ana"))
	p.press("j")
	if got := active(); got != "member-ben" {
		t.Errorf("j leads to %q", got)
	}
	p.press("Enter")
	p.until("location.pathname.endsWith('/member/ben') && document.readyState === 'complete'")
	p.press("g")
	p.until("location.pathname.split('/').length === 3 && document.readyState === 'complete'")
	for _, path := range stagedPages {
		p.show(f.server.URL + f.page.guard.root + path)
		p.tabsThroughAll()
	}
}

// tabsThroughAll checks that Tab reaches everything on the page that a mouse can use, and that
// what has the focus is marked.
func (p page) tabsThroughAll() {
	p.Helper()
	const usable = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), textarea, summary")]
		.filter(e => e.checkVisibility() && !e.closest("svg"))`
	n := value[int](p, usable+".length")
	p.do(chromedp.Evaluate[chromedp.Void]("window.reached = new Set(); document.activeElement.blur(); scrollTo(0, 0)"))
	for range n + 5 {
		p.press("Tab")
		p.do(chromedp.Evaluate[chromedp.Void]("reached.add(document.activeElement)"))
	}
	if missed := value[string](p, usable+`.filter(e => !reached.has(e)).map(e => e.outerHTML.slice(0, 150)).join("\n")`); missed != "" {
		p.Errorf("%s: Tab does not reach\n%s", value[string](p, "location.pathname"), missed)
	}
}

// Without scripts all pages can be read, and forms work.
func noScript(t *testing.T, b browser) {
	f := staged(t, "Only words.")
	p := b.openFramed(f, 1280, "/")
	p.call("Emulation.setScriptExecutionDisabled", map[string]bool{"value": true}, nil)
	for _, path := range stagedPages {
		p.show(f.server.URL + f.page.guard.root + path)
		if got := p.text("main"); !strings.Contains(got, "Only words.") {
			t.Errorf("%s says\n%s", path, got)
		}
	}
	p.show(f.server.URL + f.page.guard.root + "/")
	p.do(chromedp.Focus(".need button[value=yes]"))
	p.press("Enter")
	p.untilText(".said", "answered: plan of ana is approved")
}

// spy is a script that a browser runs in each page before the page's own: it collects dialogs, errors,
// and what the page's policy has stopped.
const spy = `window.evidence = [];
for (const name of ["alert", "confirm", "prompt"]) window[name] = () => evidence.push(name);
addEventListener("error", e => evidence.push("error: " + (e.message || e.target.outerHTML)), true);
document.addEventListener("securitypolicyviolation", e => evidence.push(e.violatedDirective + " " + e.blockedURI));`

// planted finds elements that only a text of a member can have brought into a page.
const planted = `[...document.querySelectorAll(
		"script:not([src^='/static/']), img, iframe, object, embed, video, audio, base, marquee, select:not(.fields select), template, meta[http-equiv], " +
		"link:not([href^='/static/']), style, [style], [onload], [onerror], [onfocus], [ontoggle], [autofocus], " +
		"form:not([action^='/']):not([method=dialog]), [formaction], a[href^='javascript:'], a[href^='data:'], [hx-get], [hx-trigger]")]
	.map(e => e.outerHTML.slice(0, 150))`

// Whatever members write, no page of the team runs it, asks for something because of it, or has to
// be stopped by its own policy: neither while it is open and the text comes, nor when it is loaded.
func harmless(t *testing.T, b browser) {
	texts := append(teamtest.Payloads(), strings.Repeat("<b>", 5000)+"x", strings.Repeat("wide", 20_000))
	f := staged(t, "<script>alert(1)</script>")
	p := b.openFramed(f, 380, "/")
	p.call("Page.addScriptToEvaluateOnNewDocument", map[string]string{"source": spy}, nil)
	task := 10
	plant := func() {
		for _, text := range texts {
			task++
			f.add(says("ana", text), planned(task, text), letter(task, text))
		}
		f.add(says("ana", fmt.Sprintf("the last of %d", task)), planned(2, fmt.Sprintf("the last of %d", task)))
	}
	plant()
	f.untilLine()
	for _, path := range append(stagedPages, "/task/11", "/task/40") {
		p.show(f.server.URL + f.page.guard.root + path)
		if path == "/" || path == "/member/ana" {
			p.until("document.querySelector('#feed')._htmx") // else it would see no more than a page that is loaded
			plant()
			p.untilText("main", fmt.Sprintf("the last of %d", task))
		}
		if got := value[[]string](p, "evidence"); len(got) > 0 {
			t.Errorf("%s: %q", path, got)
		}
		if got := value[[]string](p, planted); len(got) > 0 {
			t.Errorf("%s has elements of a member: %q", path, got)
		}
		for _, address := range value[[]string](p, "performance.getEntriesByType('resource').map(e => e.name)") {
			rest, ours := strings.CutPrefix(address, f.server.URL)
			if !ours || !strings.HasPrefix(rest, "/static/") && !strings.Contains(rest, "/events?") {
				t.Errorf("%s asks for %s", path, address)
			}
		}
		p.fits()
	}
}

// planned returns a line that makes a task with this subject, or changes it.
func planned(id int, subject string) events.Line {
	return teamtest.Line(0, "", "task", fmt.Sprintf(`{"op":"created","task":{"id":"%d","subject":%s,"status":"pending"}}`, id, jsonText(subject)))
}

// letter returns a line with a message.
func letter(id int, text string) events.Line {
	return teamtest.Line(0, "ana", "message", fmt.Sprintf(`{"id":"m%d","from":"ana","to":"ben","kind":"text","summary":%s}`, id, jsonText(text)))
}

// fits checks that a page does not scroll sideways.
func (p page) fits() {
	p.Helper()
	const wide = `document.scrollingElement.scrollWidth <= innerWidth ? "" : [...document.querySelectorAll("body *")]
		.filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 150)).slice(0, 5).join("\n")`
	if got := value[string](p, wide); got != "" {
		p.Errorf("%s is wider than %d pixels:\n%s", value[string](p, "location.href"), value[int](p, "innerWidth"), got)
	}
}

// At 380 and at 1280 pixels no page scrolls sideways, in light and in dark none has something that
// keeps a person with a screen reader or weak eyes from using it.
func accessible(t *testing.T, b browser) {
	f := staged(t, "A text of a member with "+strings.Repeat("long", 60)+" words in it, and\n\tsome_lines.go:7: of output")
	p := b.openFramed(f, 380, "/")
	for _, path := range stagedPages {
		p.show(f.server.URL + f.page.guard.root + path)
		p.audit()
	}
}

// axeFile names the file axe.min.js of the npm package axe-core, which .ci/axe/install prints.
const axeFile = "COVEY_AXE"

// audit checks what a page looks like in light and dark, on a phone and on a screen.
func (p page) audit() {
	p.Helper()
	script, err := os.ReadFile(os.Getenv(axeFile))
	if err != nil && os.Getenv(axeFile) != "" {
		p.Fatal(err)
	}
	if err != nil {
		p.Logf("not checked for accessibility: %s names no axe.min.js; .ci/axe/install prints one", axeFile)
	}
	p.do(chromedp.Evaluate[chromedp.Void]("document.querySelectorAll('details').forEach(e => e.open = true)"))
	for _, width := range []int64{380, 1280} {
		p.do(chromedp.EmulateViewport(width, 900))
		p.fits()
		for _, scheme := range []string{"light", "dark"} {
			p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
			if script != nil {
				p.axe(string(script), scheme)
			}
		}
	}
}

// axe runs the rules of axe-core in a page.
func (p page) axe(script, scheme string) {
	p.Helper()
	const check = `axe.run({resultTypes: ["violations"]}).then(all => all.violations
		.filter(v => v.impact === "serious" || v.impact === "critical")
		.map(v => v.id + ": " + v.help + "\n" + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + " " + n.failureSummary).join("\n")))`
	p.do(chromedp.Evaluate[chromedp.Void]("if (!window.axe) {" + script + "} undefined"))
	got, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string](check, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatal(err)
	}
	for _, fault := range got {
		p.Errorf("%s, %s, %d pixels: %s", value[string](p, "location.pathname"), scheme, value[int](p, "innerWidth"), fault)
	}
}

// A page beyond the bound of open ones is shown, and says why it does not change by itself.
func fullHouse(t *testing.T, b browser) {
	f := newFramed(t, "ana")
	f.follow()
	f.untilLine()
	var open []*listening
	for range maxStreams {
		open = append(open, f.events("/events", ""))
	}
	p := b.openFramed(f, 1280, "/")
	p.untilText("#link", fmt.Sprintf("%d pages of this team are open already; close some", maxStreams))
	f.add(says("ana", "for all of them"))
	for _, e := range open {
		for data := ""; !strings.Contains(data, "for all of them"); {
			_, data = e.next()
		}
	}
}
