package recordings

import (
	"strings"
	"testing"
)

// TestRewrite: a path in the pieces of a stream is replaced in the first of them, whatever API the
// stream is of, and all other bytes stay.
func TestRewrite(t *testing.T) {
	change := func(text string) string { return strings.ReplaceAll(text, "/home/ana/shop", "<covey:dir>") }
	for name, test := range map[string]struct{ in, want []string }{
		"anthropic": {
			[]string{
				"event: content_block_delta\ndata: {\"index\": 1, \"type\":\"content_block_delta\",\"delta\":{\"partial_json\":\"{\\\"p\\\":\\\"/home/\"}}\n\n",
				"event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"text\":\"ana\"}}\n\n",
				"event: content_block_delta\ndata: {\"index\":1,\"type\":\"content_block_delta\",\"delta\":{\"partial_json\":\"ana/sho\"}}\n\n",
				"event: content_block_delta\ndata: {\"index\":1,\"delta\":{\"partial_json\":\"p/a.go\\\"}\"}}\n\n",
			},
			[]string{
				"event: content_block_delta\ndata: {\"index\": 1, \"type\":\"content_block_delta\",\"delta\":{\"partial_json\":\"{\\\"p\\\":\\\"<covey:dir>\"}}\n\n",
				"event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"text\":\"ana\"}}\n\n",
				"event: content_block_delta\ndata: {\"index\":1,\"type\":\"content_block_delta\",\"delta\":{\"partial_json\":\"\"}}\n\n",
				"event: content_block_delta\ndata: {\"index\":1,\"delta\":{\"partial_json\":\"/a.go\\\"}\"}}\n\n",
			},
		},
		"chat": {
			[]string{
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"/home/ana\"}}]}}]}\n\n",
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"/shop\"}}]}}]}\n\n",
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"/shop\"}}]}}]}\n\n",
				"data: [DONE]\n\n",
			},
			[]string{
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"<covey:dir>\"}}]}}]}\n\n",
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"/shop\"}}]}}]}\n\n",
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\"}}]}}]}\n\n",
				"data: [DONE]\n\n",
			},
		},
		"a whole answer": {
			[]string{`{"output":[{"text":"see /home/ana/shop and /home/ana/shop/b","n":1.50}]}`},
			[]string{`{"output":[{"text":"see <covey:dir> and <covey:dir>/b","n":1.50}]}`},
		},
		"a page":        {[]string{"<html>/home/ana/shop</html>"}, []string{"<html><covey:dir></html>"}},
		"a bare text":   {[]string{"data: \"/home/ana/shop\"\n\n"}, []string{"data: \"<covey:dir>\"\n\n"}},
		"half an event": {[]string{"data: {\"delta\":{\"text\":\"/home/ana/shop\""}, []string{"data: {\"delta\":{\"text\":\"<covey:dir>\""}},
	} {
		t.Run(name, func(t *testing.T) {
			in := make([][]byte, len(test.in))
			for i, e := range test.in {
				in[i] = []byte(e)
			}
			for i, e := range rewrite(in, change) {
				if string(e) != test.want[i] {
					t.Errorf("event %d:\n%s\nwant\n%s", i, e, test.want[i])
				}
			}
		})
	}
}

// FuzzRewrite: nothing that a vendor sends makes it fail, and what is not changed stays as it is.
func FuzzRewrite(f *testing.F) {
	f.Add("data: {\"a\":[1,\"x\"]}\n\n", "data: {}")
	f.Add("[\"a\", {\"b\": null}]", "]")
	f.Fuzz(func(t *testing.T, a, b string) {
		for i, e := range rewrite([][]byte{[]byte(a), []byte(b)}, func(text string) string { return text }) {
			if string(e) != []string{a, b}[i] {
				t.Errorf("event %d: %q", i, e)
			}
		}
		rewrite([][]byte{[]byte(a), []byte(b)}, func(text string) string { return "x" + text + "y" })
	})
}
