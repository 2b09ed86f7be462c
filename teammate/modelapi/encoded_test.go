package modelapi

import (
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/teammate/agent"
)

// TestEncodedOnce: whatever a conversation becomes between requests, a request has the bytes that it
// would have as the first one, and those of earlier requests stay as they were.
func TestEncodedOnce(t *testing.T) {
	text := func(p payload) string {
		all, err := io.ReadAll(p.reader())
		if err != nil || int64(len(all)) != p.size() {
			t.Fatal(err, len(all), p.size())
		}
		return string(all)
	}
	rapid.Check(t, func(t *rapid.T) {
		m, r, c := messages{wire{sent: &encoded{}}}, responses{wire{sent: &encoded{}}}, chat{wire{sent: &encoded{}}}
		var list []agent.Message
		earlier := map[string]payload{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			list = list[:rapid.IntRange(max(len(list)-3, 0), len(list)).Draw(t, "kept"):len(list)]
			list = list[:len(list):len(list)]
			for range rapid.IntRange(0, 3).Draw(t, "added") {
				role := rapid.SampledFrom([]agent.Role{agent.User, agent.Assistant}).Draw(t, "role")
				texts := rapid.SliceOfN(rapid.SampledFrom([]string{"a <b>", "", "c"}), 0, 3).Draw(t, "texts")
				list = append(list, agent.TextMessage(role, texts...))
			}
			req := agent.Request{System: "s", Messages: list}
			for _, p := range [][2]payload{
				{m.conversation(list), messages{wire{sent: &encoded{}}}.conversation(list)},
				{{r.conversation(list, true)}, {responses{}.conversation(list, false)}},
				{c.conversation(req), chat{wire{sent: &encoded{}}}.conversation(req)},
			} {
				if have, want := text(p[0]), text(p[1]); have != want {
					t.Fatalf("%s\nwant\n%s", have, want)
				}
				earlier[text(p[0])] = p[0]
			}
			for want, p := range earlier {
				if have := text(p); have != want {
					t.Fatalf("%s was sent, which has become %s", want, have)
				}
			}
		}
	})
}
