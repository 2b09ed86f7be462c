package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
)

// said is what a model answered to a hook.
type said struct {
	ok         bool
	reason     string
	impossible bool // the condition can never be met
}

// CheckAnswer says what is wrong with an answer to a Question, so that an agent
// that gives it can be told; nil: nothing.
func CheckAnswer(text string) error {
	_, err := readSaid(text)
	return err
}

// readSaid reads the answer of a model. It is one JSON object, alone or in one
// fence of ``` as many models write it; what stands beside it makes it no
// answer, because a model that goes on talking may have thought better of it.
func readSaid(text string) (said, error) {
	text = unfenced(strings.TrimSpace(text))
	if text == "" {
		return said{}, errors.New("the model's answer is empty")
	}
	fields, err := rawjson.Fields([]byte(text))
	if err != nil {
		return said{}, fmt.Errorf("the model's answer is no JSON object: %s", rawjson.Reason(err))
	}
	var s said
	var judged bool
	for _, f := range fields {
		var target any
		switch f.Name {
		case "ok":
			target, judged = &s.ok, true
		case "reason":
			target = &s.reason
		case "impossible":
			target = &s.impossible
		default:
			continue
		}
		kind := rawjson.Kind(f.Value)
		if kind == "null" && f.Name != "ok" { // as good as not there
			continue
		}
		if kind == "null" || json.Unmarshal(f.Value, target) != nil {
			return said{}, fmt.Errorf("the model's answer has %s: %s, want %s", f.Name,
				wording.Preview(string(f.Value), 40), rawjson.Wanted(target))
		}
	}
	if !judged {
		return said{}, errors.New("the model's answer has no field ok")
	}
	return s, nil
}

// unfenced takes a text out of the one fence that it stands in.
func unfenced(text string) string {
	inner, found := strings.CutPrefix(text, "```")
	if !found {
		return text
	}
	inner, found = strings.CutSuffix(inner, "```")
	if !found {
		return text
	}
	if word, rest, more := strings.Cut(inner, "\n"); more && !strings.ContainsRune(word, '{') {
		inner = rest // the language: json
	}
	return strings.TrimSpace(inner)
}
