package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// Gate decides what the end of a gate means. Only exit code 0 agrees, and a JSON
// answer can only add a refusal, a halt or context to that. Everything else refuses: a gate
// that cannot run, times out, is ended by a signal, or prints an incomplete answer.
func Gate(known *hooks.EventInfo, found Finding) Verdict {
	v := found.verdict()
	if found.Aborted {
		v.Outcome = hooks.Cancelled
		return v
	}
	valid := found.Answer.fields != nil && found.Answer.flaw == "" && found.Fault == ""
	if valid {
		v.apply(known, found)
	}
	why := gateFault(found)
	if why == "" && v.Halt { // it also refuses, for an agent that cannot be stopped
		why = v.stop
	}
	if why == "" || v.Refused >= hooks.Refuses {
		return v
	}
	v.byAnswer = false
	// The command in brackets is part of the protocol; covey's views cut it off again.
	v.Refuse(known, max(known.Exit2, hooks.Refuses), found.says(why))
	return v
}

// gateFault returns why a gate does not agree, with the end of its output, or "" if it
// agrees.
func gateFault(found Finding) string {
	var why string
	switch {
	case found.Fault != "":
		why = found.Fault
	case found.Code != 0:
		if found.Tail != "" {
			return found.Tail // the output of a failed check needs no explanation
		}
		why = fmt.Sprintf("exit code %d, without any output", found.Code)
	case found.Answer.flaw != "":
		why = found.Answer.flaw
	case found.Answer.broken:
		why = found.Answer.note
	default:
		return ""
	}
	if found.Tail != "" {
		why += "\n" + found.Tail
	}
	return why
}

// isReport reports whether text is a sequence of JSON values that are not answers, as test
// runners print them for other programs. The end may be missing if the text was cut.
func isReport(text string, cut bool) bool {
	dec := json.NewDecoder(strings.NewReader(text))
	for n := 0; ; n++ {
		var value json.RawMessage
		err := dec.Decode(&value)
		switch {
		case err == io.EOF:
			return n > 1
		case err != nil:
			return n > 0 && cut
		case !bytes.HasPrefix(value, []byte("{")):
			continue
		}
		fields, err := texts.Fields(value)
		if err != nil {
			return false
		}
		for _, f := range fields {
			switch f.Name {
			case "decision", "continue", "hookSpecificOutput", "stopReason", "async":
				return false
			}
		}
	}
}
