package texts

import (
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Add the endpoint":              "Add the endpoint",
		"fixes #12 of @ana, GH-3":       `fixes \#&#8203;12 of @&#8203;ana, GH\-&#8203;3`,
		"org/repo#1 https://x.y www.z":  `org/repo\#&#8203;1 https:&#8203;//x.y www.&#8203;z`,
		"<img src=x> & *bold* [a](b)":   `&lt;img src=x&gt; &amp; \*bold\* \[a\](b)`,
		"a | b\nc `d`":                  "a \\| b c \\`d\\`",
		"1. a list":                     `1\. a list`,
		"- a list":                      `\- a list`,
		"v1.2 (a-b)":                    "v1.2 (a-b)",
		"\u202ereversed\x1b[31m":        "\uFFFDreversed\uFFFD\\[31m",
		"![x](y) ~~z~~ $m$ snake_case ": `!\[x\](y) \~\~z\~\~ \$m\$ snake\_case`,
	} {
		if got := MarkdownText(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"go test": "`go test`", "a|b": "`a|b`", "x=`date`": "`` x=`date` ``", "``": "``` `` ```", "a\nb": "`a b`", "": "`  `",
	} {
		if got := MarkdownCode(text); got != want {
			t.Errorf("the code %q is %q, want %q", text, got, want)
		}
	}
}

// A foreign text stays in its line and its cell, whatever is in it.
func FuzzMarkdown(f *testing.F) {
	f.Add("a|b`c\n# d @e")
	f.Add("\\|\\`")
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{MarkdownText(text), MarkdownCode(text)} {
			if strings.ContainsAny(got, "\r\n") {
				t.Errorf("%q breaks the line", got)
			}
			plain := strings.NewReplacer(`\\`, "").Replace(MarkdownText(text))
			for _, sign := range []string{"|", "`", "[", "*"} {
				if strings.Count(plain, sign) != strings.Count(plain, `\`+sign) {
					t.Errorf("%q has a bare %s", got, sign)
				}
			}
		}
	})
}
