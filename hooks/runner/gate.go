package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rawjson"
)

// judgeGate decides what the end of a gate means (DESIGN 4). A gate agrees by
// exit code 0 alone, and a JSON answer can only add a refusal, a halt or
// context to that. Everything else refuses: a gate that cannot run, times out,
// is ended by a signal, or prints half an answer. It is pure.
func judgeGate(known *hooks.EventInfo, found finding) verdict {
	v := verdict{Result: hooks.Result{ExitCode: found.code, Outcome: hooks.Success}}
	if found.aborted {
		v.Outcome = hooks.Cancelled
		return v
	}
	valid := found.answer.fields != nil && found.answer.flaw == "" && found.fault == ""
	if valid {
		v.apply(known, found)
	}
	why := gateFault(found)
	if why == "" && v.halt { // it refuses as well, for whoever cannot be stopped
		why = v.stop
	}
	if why == "" || v.refused >= hooks.Refuses {
		return v
	}
	v.byAnswer = false
	v.refuse(known, max(known.Exit2, hooks.Refuses), fmt.Sprintf("[%s]: %s", found.command, why))
	return v
}

// gateFault says why a gate does not agree, with the end of its output, or ""
// if it does.
func gateFault(found finding) string {
	var why string
	switch {
	case found.fault != "":
		why = found.fault
	case found.code != 0:
		if found.tail != "" {
			return found.tail // the output of a failed check speaks for itself
		}
		why = fmt.Sprintf("exit code %d, without any output", found.code)
	case found.answer.flaw != "":
		why = found.answer.flaw
	case found.answer.broken:
		why = found.answer.note
	default:
		return ""
	}
	if found.tail != "" {
		why += "\n" + found.tail
	}
	return why
}

// isReport reports whether text is a row of JSON values none of which is meant
// as an answer: what test runners print for other programs. The end may be
// missing if the text was cut.
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
		fields, err := rawjson.Fields(value)
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
