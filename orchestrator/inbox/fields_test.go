package inbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks/requests"
)

// orderForm asks for a value of each kind, not in the order of the alphabet.
const orderForm = `{"properties":{
	"town":{"type":"string","title":"Town","description":"where to"},
	"count":{"type":"integer","minimum":1,"maximum":9,"default":2},
	"speed":{"type":"string","enum":["slow","fast"],"enumNames":["Slow","Fast"],"default":"slow"},
	"gift":{"type":"boolean"},
	"weight":{"type":"number"},
	"by":{"type":"string","oneOf":[{"const":"a","title":"Air"},{"const":"b"}]}},
	"required":["town","count"]}`

// asked returns a request with a form.
func asked(schema string) requests.Request {
	return requests.Request{Kind: requests.AskForm, Payload: texts.Encode(Payload{Schema: json.RawMessage(schema)})}
}

func TestFieldsOf(t *testing.T) {
	t.Parallel()
	got := ""
	for _, f := range FieldsOf(asked(orderForm)) {
		got += fmt.Sprintln(f)
	}
	want := `{town Town where to string  []  true  }
{count count  integer  [] 2 true 1 9}
{speed speed  string  [{slow Slow} {fast Fast}] slow false  }
{gift gift  boolean  []  false  }
{weight weight  number  []  false  }
{by by  string  [{a Air} {b b}]  false  }
`
	if got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	for _, none := range []requests.Request{asked(""), asked("{"), asked(`{"properties":[]}`), {Kind: requests.AskPlan}} {
		if list := FieldsOf(none); list != nil {
			t.Errorf("%s asks for %v", none.Payload, list)
		}
	}
}

// What FillOut makes of the fields is what a yes with that text fills in.
func TestFillOut(t *testing.T) {
	t.Parallel()
	r := asked(orderForm)
	text, faults := FillOut(r, map[string]string{"town": " Ulm ", "count": "3", "speed": "fast", "weight": "", "other": "x"})
	if len(faults) > 0 || text != `{"count":3,"gift":false,"speed":"fast","town":"Ulm"}` {
		t.Errorf("%s, %v", text, faults)
	}
	if err := mayFill(r, Answer{Approve: true, Text: text}); err != nil {
		t.Error(err)
	}
	_, faults = FillOut(r, map[string]string{"count": "12", "speed": "none", "weight": "heavy", "gift": "maybe"})
	for name, want := range map[string]string{
		"town": "missing", "count": "12 is more than 9", "speed": "none of slow, fast", "weight": "not of type number", "gift": "not of type boolean",
	} {
		if !strings.Contains(faults[name], want) {
			t.Errorf("%s: %q, want %s", name, faults[name], want)
		}
	}
}
