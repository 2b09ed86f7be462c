package web

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coveyteam/covey/orchestrator/view"
)

var (
	logIDs   = regexp.MustCompile(`id="line-(\d+)"`)
	olderURL = regexp.MustCompile(`<a href="(\?before=\d+)">Older lines</a>`)
)

// lineNumbers returns the numbers of the lines in a piece of a page.
func lineNumbers(html string) (list []int) {
	for _, found := range logIDs.FindAllStringSubmatch(html, -1) {
		n, _ := strconv.Atoi(found[1]) // the expression has digits only
		list = append(list, n)
	}
	return list
}

// The pages of a member's log have each of its lines once, and no link leads to an empty one.
func TestOlderLines(t *testing.T) {
	counts := []int{0, 1, shownLines - 1, shownLines, shownLines + 1, 2 * shownLines, 2*shownLines + 50}
	var names []string
	for _, n := range counts {
		names = append(names, fmt.Sprintf("m%d", n))
	}
	f := newFramed(t, names...)
	want := map[string][]int{}
	for i := range slices.Max(counts) {
		for j, n := range counts {
			if i < n {
				f.write(f.encoded(says(names[j], "x")))
				want[names[j]] = append(want[names[j]], f.seq)
			}
		}
	}
	f.follow()
	f.untilLine()
	for i, name := range names {
		var got []int
		pages := 0
		for query := ""; ; {
			page := f.get("/member/" + name + query)
			numbers := lineNumbers(page)
			got = append(numbers, got...)
			if live := eventsOf.MatchString(page); live != (query == "") || len(numbers) > shownLines {
				t.Errorf("%s%s: live %v, %d lines", name, query, live, len(numbers))
			}
			pages++
			older := olderURL.FindStringSubmatch(page)
			if older == nil {
				break
			}
			query = older[1]
		}
		if !slices.Equal(got, want[name]) || pages != max(1, (counts[i]+shownLines-1)/shownLines) {
			t.Errorf("%s: %d lines on %d pages, want %d", name, len(got), pages, counts[i])
		}
	}
}

// A viewer that loses its connection again and again while the journal grows has in the end
// each line once, and in order.
func TestStreamMember(t *testing.T) {
	f := newFramed(t, "ana", "ben")
	f.add(says("ana", "x"), says("ben", "x"))
	f.follow()
	f.untilLine()
	page := f.get("/member/ana")
	got, path := lineNumbers(page), streamOf(t, page)
	var text []string
	want := slices.Clone(got)
	for range 120 { // now, because f.seq belongs to this goroutine
		text = append(text, f.encoded(says("ana", strings.Repeat("long ", 100))), f.encoded(says("ben", "x")))
		want = append(want, f.seq-1)
	}
	text = append(text, f.encoded(says("ana", "the end")))
	want = append(want, f.seq)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for _, line := range text {
			f.write(line[:len(line)/2]) // a line that is not whole yet
			f.write(line[len(line)/2:])
		}
	}()
	for id := ""; len(got) == 0 || got[len(got)-1] < want[len(want)-1]; {
		stream := f.events(path, id)
		for range 2 {
			var data string
			id, data = stream.next()
			numbers := lineNumbers(data)
			if got = append(got, numbers...); slices.Contains(numbers, want[len(want)-1]) {
				break
			}
		}
		_ = stream.Close()
	}
	<-written
	if !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v", got, want)
	}
}

// A damaged line does not end the log of a member: what follows it is shown.
func TestStreamAfterDamage(t *testing.T) {
	f := newFramed(t, "ana")
	f.follow()
	f.untilLine()
	f.add(says("ana", "before"))
	f.seq++
	f.write("\x00\x00{\"seq\":3\n")
	f.add(says("ana", "after"))
	f.until(func(s *view.State) bool { return s.Seq == 4 })
	stream := f.events("/member/ana/events", f.has(1))
	if id, data := stream.next(); lineOfID(id) != 4 || !slices.Equal(lineNumbers(data), []int{2, 4}) {
		t.Errorf("event %s: %s", id, data)
	}
	f.add(says("ana", "later"))
	if _, data := stream.next(); !slices.Equal(lineNumbers(data), []int{5}) {
		t.Errorf("then %s", data)
	}
}

// A line of megabytes is cut between two characters, on the page and in the stream.
func TestLongLines(t *testing.T) {
	f := newFramed(t, "ana")
	f.add(says("ana", "x"+strings.Repeat("é", 1<<20)), says("ana", strings.Repeat("y", maxText)))
	f.follow()
	f.untilLine()
	_, data := f.events("/member/ana/events", f.has(1)).next()
	for name, html := range map[string]string{"page": f.get("/member/ana"), "stream": data} {
		if len(html) > 4*maxText || !utf8.ValidString(html) || strings.Contains(html, "\ufffd") {
			t.Errorf("the %s has %d bytes", name, len(html))
		}
		if strings.Count(html, "the rest: covey logs") != 1 || !strings.Contains(html, strings.Repeat("y", maxText)) {
			t.Errorf("the %s does not say which line is cut", name)
		}
	}
}

// Nothing that a member writes, and no name, acts on the page of a member or in its stream.
func TestHostileLog(t *testing.T) {
	name := `"><script>alert(1)</script>/../x?y#z`
	f := newFramed(t, name)
	f.add(says(name, hostile), says("lead", hostile))
	for _, kind := range []string{"message", "turn_started", "turn_ended", "tool_result", "hook_feedback", "needs_attention"} {
		line := says(name, hostile)
		for _, key := range []string{"reason", "cause", "prompt", "content", "to"} {
			line.Data = []byte(strings.Replace(string(line.Data), `"text":`, `"`+key+`":"</p><script>x</script>\u001b[2J","text":`, 1))
		}
		line.Type = kind
		f.add(line)
	}
	f.follow()
	f.untilLine()
	path := "/member/" + url.PathEscape(name)
	page := f.get(path)
	_, data := f.events(path+"/events", f.has(1)).next()
	for what, html := range map[string]string{"page": page, "stream": data, "board": f.get("/")} {
		html = strings.ReplaceAll(html, `<script src="/static/`, "")
		for _, bad := range []string{"<script", "\x1b", "\u202e", "\x00", `" onload="`} {
			if at := strings.Index(html, bad); at >= 0 {
				t.Errorf("%q is in the %s: %q", bad, what, html[max(0, at-100):at+20])
			}
		}
	}
	stream := f.events(streamOf(t, page), "")
	f.add(says(name, "the end"))
	if _, news := stream.next(); !slices.Equal(lineNumbers(news), []int{f.seq}) {
		t.Errorf("the page's own address of its events gives %q", news)
	}
}

// What is not there is said, with its name.
func TestPagesOfNothing(t *testing.T) {
	f := newFramed(t, "ana")
	f.follow()
	f.untilLine()
	for path, want := range map[string]string{
		"/member/zoe":  `covey: team crew has no member "zoe"`,
		"/request/r9":  "covey: request r9: ",
		"/nothing":     "404",
		"/member/ana/": "404",
	} {
		resp := f.ask("GET", path, nil)
		text := textOf(resp)
		if resp.StatusCode != http.StatusNotFound || !strings.HasPrefix(text, want) || strings.Contains(text, "<nil>") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, text)
		}
	}
	if page := f.get("/member/ana?before=x"); !eventsOf.MatchString(page) {
		t.Error("what is no number is the end of the log")
	}
}
