package hooks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks/texts"
)

// TestInputRoundTrip: what ParseInput reads, Wire writes, and reading that
// again changes nothing.
func TestInputRoundTrip(t *testing.T) {
	names := rapid.SampledFrom([]string{"session_id", "transcript_path", "cwd", "prompt_id", "permission_mode", "agent_id",
		"tool_name", "x", "X", "\u00fc", "<a>", "source", ""})
	values := rapid.SampledFrom([]string{`"s"`, `""`, `"<&>"`, `"\u2028"`})
	others := rapid.SampledFrom([]string{"1", "null", `{"a":[1,{}]}`, "[]", "true", `"text"`})
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		text.WriteString("{")
		for i, name := range rapid.SliceOfN(names, 0, 8).Draw(t, "names") {
			if i > 0 {
				text.WriteString(",")
			}
			value := others.Draw(t, "value")
			if (&Input{}).commonField(name) != nil {
				value = values.Draw(t, "value")
			}
			quoted, err := texts.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "%s:%s", quoted, value)
		}
		text.WriteString("}")
		in, err := ParseInput(Stop, []byte(text.String()), Common{SessionID: "default"})
		if err != nil {
			t.Fatalf("%s: %v", text.String(), err)
		}
		wire, err := in.Wire()
		if err != nil || !json.Valid(wire) {
			t.Fatalf("%s: %s, %v", text.String(), wire, err)
		}
		again, err := ParseInput(Stop, wire, Common{})
		if err != nil {
			t.Fatalf("%s: %v", wire, err)
		}
		if second, err := again.Wire(); err != nil || string(second) != string(wire) {
			t.Fatalf("%s became %s, %v", wire, second, err)
		}
	})
}
