package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// modelAnswer is a model's answer to a hook.
type modelAnswer struct {
	ok         bool
	reason     string
	impossible bool // the condition can never be met
}

// CheckAnswer returns what is wrong with an answer to a Question, so that the agent that
// gave it can be told, or nil.
func CheckAnswer(text string) error {
	_, err := parseAnswer(text)
	return err
}

// parseAnswer reads a model's answer. It is one JSON object, alone or in a code fence, as
// many models write it. Other text next to it makes it invalid, because a model that goes
// on writing may have changed its mind.
func parseAnswer(text string) (modelAnswer, error) {
	text = stripFence(strings.TrimSpace(text))
	if text == "" {
		return modelAnswer{}, errors.New("the model's answer is empty")
	}
	fields, err := texts.Fields([]byte(text))
	if err != nil {
		return modelAnswer{}, fmt.Errorf("the model's answer is not a JSON object: %s", texts.Reason(err))
	}
	var s modelAnswer
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
		kind := texts.Kind(f.Value)
		if kind == "null" && f.Name != "ok" { // counts as absent
			continue
		}
		if kind == "null" || json.Unmarshal(f.Value, target) != nil {
			return modelAnswer{}, fmt.Errorf("the model's answer has %s: %s, want %s", f.Name,
				texts.Preview(string(f.Value), 40), texts.Wanted(target))
		}
	}
	if !judged {
		return modelAnswer{}, errors.New("the model's answer has no field ok")
	}
	return s, nil
}

// stripFence removes a code fence around the whole text.
func stripFence(text string) string {
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
