package yaml

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// takes decodes text, the value of the key k, by a part. The result is the
// first message, or "".
func takes(t *testing.T, p Part, text string) string {
	t.Helper()
	d := NewDecoder("t.yaml", []byte("k: "+text+"\n"))
	if d.Root == nil {
		t.Fatalf("%s: %v", text, d.Problems)
	}
	pair := d.Root.Pairs[0]
	p.Decode(d, pair.Key, pair.Value)
	if len(d.Problems) == 0 {
		return ""
	}
	return d.Problems[0].Message
}

// row is one value given to a part: what it becomes, or what the message holds.
type row struct {
	text  string
	value any
	fault string
}

// checkRows gives each row to a new part.
func checkRows(t *testing.T, rows []row, fresh func() (Part, func() any)) {
	t.Helper()
	for _, r := range rows {
		p, read := fresh()
		switch fault := takes(t, p, r.text); {
		case r.fault == "" && fault != "":
			t.Errorf("%s is refused: %s", r.text, fault)
		case r.fault != "" && !strings.Contains(fault, r.fault):
			t.Errorf("%s gives %q, want %q", r.text, fault, r.fault)
		case r.fault == "" && !reflect.DeepEqual(read(), r.value):
			t.Errorf("%s is %#v, want %#v", r.text, read(), r.value)
		}
		if p.Want() == "" {
			t.Errorf("%T does not say what it wants", p)
		}
	}
}

func TestTextPart(t *testing.T) {
	checkRows(t, []row{
		{"abc", "abc", ""},
		{`" a "`, " a ", ""},
		{"\"\\n\"", nil, "k is empty; write some text, or remove it"},
		{`""`, nil, "k is empty"},
		{`"a\0b"`, nil, "contains the character NUL"},
		{"3", nil, `k must be text, not 3; write "3"`},
		{"true", nil, `k must be text, not true; write "true"`},
		{"~", nil, "k is empty; it must be text"},
		{"[a]", nil, "k must be text, not a list"},
		{"{a: b}", nil, "k must be text, not a mapping; put a text that has a colon into quotes"},
	}, func() (Part, func() any) {
		var v Value[string]
		return Text(&v), func() any { return v.V }
	})
	checkRows(t, []row{{`""`, "", ""}, {"a", "a", ""}, {"3", nil, "k must be text"}, {`"\0"`, nil, "NUL"}},
		func() (Part, func() any) {
			var v Value[string]
			return AnyText(&v), func() any { return v.V }
		})
}

func TestIdentPart(t *testing.T) {
	long := strings.Repeat("a", 32)
	checkRows(t, []row{
		{"a", "a", ""}, {"a-1", "a-1", ""}, {"0", nil, "must be text"}, {`"0"`, "0", ""}, {long, long, ""},
		{long + "a", nil, "write " + long},
		{"A", nil, "write a"},
		{"a_b c", nil, "write a-b-c"},
		{"a-", "a-", ""},
		{`"-a"`, nil, "write a"},
		{`"é"`, nil, "does not begin with \"-\""},
		{`""`, nil, "a name is 1 to 32"},
		{`"a\n"`, nil, "write a"},
		{`"a\u202eb"`, nil, "write a-b"},
	}, func() (Part, func() any) {
		var v Value[string]
		return Ident(&v), func() any { return v.V }
	})
}

func TestOneOfPart(t *testing.T) {
	checkRows(t, []row{
		{"continue", "continue", ""},
		{"Block", nil, `k cannot be "Block"; write block`},
		{"contine", nil, "write continue"},
		{"stop", nil, "write one of continue, block"},
		{"3", nil, "k must be one of continue, block, not 3"},
	}, func() (Part, func() any) {
		var v Value[string]
		return OneOf(&v, "continue", "block"), func() any { return v.V }
	})
}

func TestNumberParts(t *testing.T) {
	checkRows(t, []row{
		{"0", int64(0), ""}, {"40", int64(40), ""}, {"2147483647", int64(2147483647), ""}, {"0x10", int64(16), ""},
		{"2147483648", nil, "from 0 to 2147483647, not 2147483648"},
		{"-1", nil, "not -1"}, {"1.5", nil, "not 1.5"}, {"1e3", nil, "not 1e3"}, {`"3"`, nil, `not the text "3"`},
		{"many", nil, "not the text"}, {"[3]", nil, "not a list"}, {"99999999999999999999", nil, "not 99999999999999999999"},
	}, func() (Part, func() any) {
		var v Value[int64]
		return Whole(&v), func() any { return v.V }
	})
	checkRows(t, []row{
		{"0", 0.0, ""}, {"2", 2.0, ""}, {"2.5", 2.5, ""}, {"1e2", 100.0, ""},
		{"-0.1", nil, "a number, 0 or more, not -0.1"}, {".nan", nil, "not .nan"}, {".inf", nil, "not .inf"},
		{"1e999", nil, "not 1e999"}, {`"2"`, nil, "not the text"}, {"true", nil, "not true"},
	}, func() (Part, func() any) {
		var v Value[float64]
		return Amount(&v), func() any { return v.V }
	})
}

func TestTruthPart(t *testing.T) {
	checkRows(t, []row{
		{"true", true, ""}, {"false", false, ""}, {"True", true, ""},
		{"yes", nil, `k must be true or false, not the text "yes"`}, {"1", nil, "not 1"}, {`"true"`, nil, "not the text"},
	}, func() (Part, func() any) {
		var v Value[bool]
		return Truth(&v), func() any { return v.V }
	})
}

func TestSpanPart(t *testing.T) {
	checkRows(t, []row{
		{"10m", 10 * time.Minute, ""}, {"1h30m", 90 * time.Minute, ""}, {"1.5s", 1500 * time.Millisecond, ""},
		{"0", time.Duration(0), ""}, {"0s", time.Duration(0), ""}, {`"2m"`, 2 * time.Minute, ""},
		{"10", nil, "write 10s if seconds were meant"},
		{"1.5", nil, "k must be a time with its unit"},
		{"-1s", nil, "k must not be negative, as -1s is; write 1s"},
		{"2 minutes", nil, "a time with its unit"}, {"1d", nil, "a time with its unit"},
		{"9999999h", nil, "a time with its unit"}, {"-5", nil, "not -5"}, {"[1s]", nil, "not a list"},
	}, func() (Part, func() any) {
		var v Value[time.Duration]
		return Span(&v), func() any { return v.V }
	})
}

func TestSomeTimePart(t *testing.T) {
	const none = "k must be more than 0; write a time such as 10m, or remove it"
	checkRows(t, []row{{"1s", time.Second, ""}, {"0", nil, none}, {"0s", nil, none}, {"-5m", nil, "write 5m"}}, func() (Part, func() any) {
		var v Value[time.Duration]
		return SomeTime(&v), func() any { return v.V }
	})
}

func TestListParts(t *testing.T) {
	checkRows(t, []row{
		{"[]", []string{}, ""}, {"[a, b]", []string{"a", "b"}, ""},
		{"[a, b, a]", nil, `k names "a" twice; keep one`},
		{"a", nil, `k must be a list of texts, not the text "a"; write [a]`},
		{"3", nil, "write [3]"},
		{"{a: b}", nil, "k must be a list of texts, not a mapping"},
		{"[a, 3]", nil, `an entry of k must be text, not 3; write "3"`},
		{"[a, ]", []string{"a"}, ""},
		{"[a, null]", nil, "an entry of k is empty; it must be text"},
		{`[""]`, nil, "an entry of k is empty; write some text, or remove it"},
		{"[[a]]", nil, "an entry of k must be text, not a list"},
		{"[" + strings.Repeat("a, ", MaxTexts+1) + "]", nil, "k has more than 1000 entries; shorten it"},
	}, func() (Part, func() any) {
		var v List[Value[string]]
		return Texts(&v), func() any { return Words(v) }
	})
	checkRows(t, []row{
		{`["", a, "", a]`, []string{"", "a", "", "a"}, ""}, {"[]", []string{}, ""}, {"[3]", nil, "must be text"},
	}, func() (Part, func() any) {
		var v List[Value[string]]
		return Args(&v), func() any { return Arguments(v) }
	})
}

func TestAbsentLists(t *testing.T) {
	var none List[Value[string]]
	if Words(none) != nil || Arguments(none) != nil {
		t.Error("a list that the spec does not give is not nil")
	}
}

func TestDictPart(t *testing.T) {
	checkRows(t, []row{
		{"{}", "", ""}, {"{b: x, a: y}", "b=x a=y ", ""},
		{"{b: x, B: y}", nil, "a name in k cannot be \"B\""},
		{"{b: }", nil, "b has no value; give it one, or remove it"},
		{"{b: x, b: y}", nil, `"b" is here twice, first in line 1; keep one`},
		{"[b]", nil, "k must be a mapping of things, not a list"},
		{"{b: 3}", nil, "b must be text"},
	}, func() (Part, func() any) {
		var v []Entry[Value[string]]
		p := Dict(&v, "a mapping of things", Text)
		return p, func() any {
			var b strings.Builder
			for _, e := range v {
				fmt.Fprintf(&b, "%s=%s ", e.Name.Text, e.V.V)
			}
			return b.String()
		}
	})
}

// TestMakeFit: whatever a name is made of, the result is a name or nothing, and
// a name stays as it is.
func TestMakeFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fit := Slug(rapid.String().Draw(t, "s"))
		if fit != "" && !nameForm().MatchString(fit) {
			t.Fatalf("%q is not a name", fit)
		}
		if again := Slug(fit); again != fit {
			t.Fatalf("%q becomes %q", fit, again)
		}
		name := rapid.StringMatching(`[a-z0-9]([a-z0-9]|-[a-z0-9]){0,10}`).Draw(t, "name")
		if got := Slug(name); got != name {
			t.Fatalf("the name %q becomes %q", name, got)
		}
	})
}
