package pages

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

func TestRendered(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# Plan\n\n1. **First**\n2. `go test`\n": "<p><b>Plan</b></p><ol>\n<li><strong>First</strong></li>\n<li><code>go test</code></li>\n</ol>\n",
		"a\nb":                                   "<p>a<br>\nb</p>\n",
		"|a|b|\n|-|-|\n|1|2|\n":                  "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n",
		"[here](javascript:x())":                 "<p>here <code>javascript:x()</code></p>\n",
		"![pic](//evil/x)":                       "<p>pic <code>//evil/x</code></p>\n",
		"<https://a.example>":                    "<p> <code>https://a.example</code></p>\n",
		"<b onclick=x>bold</b>":                  "<p>&lt;b onclick=x&gt;bold&lt;/b&gt;</p>\n",
		"<script>\nx\n</script>":                 "&lt;script&gt;\nx\n&lt;/script&gt;",
		"```\n<b>\n```":                          "<pre><code>&lt;b&gt;\n</code></pre>\n",
	} {
		if got := string(rendered(text)); got != want {
			t.Errorf("%q is\n%q, want\n%q", text, got, want)
		}
	}
	for _, payload := range teamtest.Payloads() {
		for _, text := range []string{payload, "# " + payload, "- " + payload, "[" + payload + "](" + payload + ")", "|" + payload + "|\n|-|\n|" + payload + "|"} {
			teamtest.CheckHTML(t, payload, "<div>"+strings.ReplaceAll(string(rendered(term.Plain(text))), "<br>", "<br/>")+"</div>")
		}
	}
}
