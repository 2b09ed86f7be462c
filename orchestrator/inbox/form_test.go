package inbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks/requests"
)

// Forms of these tests.
const (
	oneWord = `{"type":"object","properties":{"word":{"type":"string","description":"any"}},"required":["word"]}`
	choice  = `{"properties":{"env":{"type":"string","oneOf":[{"const":"dev"},{"const":"prod"}]}},"required":["env"]}`
	several = `{"properties":{"name":{"type":"string"},"age":{"type":"integer"},"sure":{"type":"boolean"},"size":{"type":"number"}},` +
		`"required":["name"]}`
)

// TestForms: what a person writes becomes the values of a form, or an error that says what to write,
// and leaves the request open.
func TestForms(t *testing.T) {
	for _, tc := range []struct{ schema, text, want string }{
		{"", "", "{}"},
		{"", "whatever", "{}"},
		{oneWord, "two words = one; text", `{"word":"two words = one; text"}`},
		{oneWord, `{"word":"as JSON"}`, `{"word":"as JSON"}`},
		{oneWord, " ", "word is missing; say yes with a text (any) as the text, or no"},
		{choice, "prod", `{"env":"prod"}`},
		{choice, "test", `env: "test" is none of dev, prod; say yes with one of dev, prod as the text, or no`},
		{several, "name = Ana; age=7; sure=true; size=1.5", `{"age":7,"name":"Ana","size":1.5,"sure":true}`},
		{several, "name=Ana", `{"name":"Ana"}`},
		{several, "Ana", `"Ana" is not name=value; say yes with age=a whole number or nothing; name=a text; size=a number or nothing; ` +
			`sure=true or false or nothing as the text, or no`},
		{several, "name=Ana; age=old", `age: "old" is not of type integer; say yes with age=`},
		{several, "age=7", "name is missing"},
		{several, "{broken", `"{broken" is not name=value`},
		{oneWord, "{not JSON", `{"word":"{not JSON"}`},
		{several, `{"age":7}`, "name is missing"},
		{several, `{"name":"Ana","town":"X"}`, "the form has no town"},
	} {
		wanted, err := parseFields(json.RawMessage(tc.schema))
		if err != nil {
			t.Fatal(err)
		}
		r := requests.Request{ID: "r1", Kind: requests.AskForm, Payload: texts.Encode(
			Payload{Schema: json.RawMessage(tc.schema), Fields: wanted.describe()})}
		got := fmt.Sprint(mayFill(r, Answer{ID: "r1", Approve: true, Text: tc.text}))
		if got == "<nil>" {
			values, err := wanted.fill(tc.text)
			if err != nil {
				t.Errorf("%q is refused when it is read again: %v", tc.text, err)
			}
			got = strings.TrimSpace(string(texts.Encode(values)))
		}
		if !strings.HasPrefix(got, tc.want) {
			t.Errorf("%q in %s is %s, want %s", tc.text, tc.schema, got, tc.want)
		}
		if err := mayFill(r, Answer{ID: "r1", Text: tc.text}); err != nil {
			t.Errorf("no is refused: %v", err)
		}
	}
}

// manyFields are the properties of a form that asks for too much.
func manyFields() string {
	var list []string
	for i := range maxFields {
		list = append(list, fmt.Sprintf(`"f%d":{"type":"string"}`, i))
	}
	return strings.Join(list, ",")
}

// TestNoSecrets: a form may ask how many tokens to use, and for words that only look like those of
// secrets.
func TestNoSecrets(t *testing.T) {
	for _, form := range []string{
		`{"properties":{"max_tokens":{"type":"integer"}}}`,
		`{"properties":{"spin":{"type":"string","title":"The opinion","description":"Where is the shopping list pinned?"}}}`,
	} {
		if _, err := parseFields(json.RawMessage(form)); err != nil {
			t.Error(err)
		}
	}
}

// TestUnfitForms: secrets are not asked for, because answers are kept, and neither is what people
// cannot write in a line.
func TestUnfitForms(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"x":{"type":"string","format":"password"}}}`:                              "x may be a secret, and answers are kept",
		`{"properties":{"db_password":{"type":"string"}}}`:                                        "may be a secret",
		`{"properties":{"k":{"type":"string","title":"Your API key"}}}`:                           "may be a secret",
		`{"properties":{"k":{"type":"string","description":"your token"}}}`:                       "may be a secret",
		`{"properties":{"card_pin":{"type":"string"}}}`:                                           "may be a secret",
		`{"properties":{"PIN":{"type":"string"}}}`:                                                "may be a secret",
		`{"properties":{"k":{"type":"string","title":"Mot de passe"}}}`:                           "may be a secret",
		`{"properties":{"k":{"type":"string","title":"Kennwort"}}}`:                               "may be a secret",
		`{"properties":{"k":{"type":"string","title":"пароль"}}}`:                                 "may be a secret",
		`{"properties":{"k":{"type":"string","title":"请输入密码"}}}`:                                  "may be a secret",
		`{"properties":{"k":{"type":"string","title":"pass\u200bword"}}}`:                         "may be a secret",
		`{"properties":{"k":{"type":"string","title":"se\u00adcret"}}}`:                           "may be a secret",
		`{"properties":{"k":{"type":"string","title":"` + strings.Repeat("x", maxSchema) + `"}}}`: "and may have 16384",
		`{"properties":{` + strings.Repeat(`"a":{"type":"string"},`, 3) + manyFields() + `}}`:     "asks for 51 values, and may ask for 50",
		`{"properties":{"pins":{"type":"string","title":"PIN"}}}`:                                 "may be a secret",
		`{"properties":{"tags":{"type":"array"}}}`:                                                `tags is of type "array", which people are not asked for`,
		`{"properties":{"o":{"type":"object"}}}`:                                                  `o is of type "object"`,
		`{"properties":{"o":{}}}`:                                                                 `o is of type ""`,
		`[]`:                                                                                      "the form cannot be read",
	} {
		if _, err := parseFields(json.RawMessage(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", schema, err, want)
		}
	}
}
