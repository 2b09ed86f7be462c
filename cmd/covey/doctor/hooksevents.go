package doctor

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks"
)

// printEvents prints the table of all events. What does not fit into columns is
// printed below it.
func printEvents(out *term.Screen, events []hooks.EventInfo) {
	t := term.Table{Head: []string{"EVENT", "MATCHER", "EXIT 2", "BLOCK", "HALTS", "TYPES", "FIRES"}}
	for _, e := range events {
		t.Add(term.Cell{Text: string(e.Event)}, term.Cell{Text: e.Matcher},
			term.Cell{Text: e.Exit2.String()}, term.Cell{Text: e.Decision.String()},
			term.Cell{Text: yesNo(e.Halts)}, term.Cell{Text: e.Types}, firesCell(e.Fires))
	}
	t.Print(out)
	out.Printf("\n")
	for _, e := range events {
		if notes := eventNotes(e); notes != "" {
			out.Printf("%s\n", out.Paint(term.Bold, string(e.Event)))
			out.Note(term.Normal, notes)
		}
	}
	out.Printf("\n")
	for _, line := range eventLegend() {
		out.Note(term.Faint, line)
	}
}

// firesCell highlights the events that a team does not fire.
func firesCell(fires bool) term.Cell {
	if fires {
		return term.Cell{Text: "yes"}
	}
	return term.Cell{Text: "later", Style: term.Yellow}
}

// eventNotes describes what is particular about an event; empty: nothing.
func eventNotes(e hooks.EventInfo) string {
	var notes []string
	if len(e.Values) > 0 {
		notes = append(notes, e.Matcher+" is "+strings.Join(e.Values, ", ")+".")
	}
	if len(e.Outputs) > 0 {
		notes = append(notes, "Its own output: "+strings.Join(e.Outputs, ", ")+".")
	}
	if e.Context {
		notes = append(notes, "Plain stdout is context for the model.")
	}
	if !e.Fires {
		notes = append(notes, fmt.Sprintf("Fired by hand only: it waits for %s.", e.Requires))
	}
	return strings.Join(notes, " ")
}

// eventLegend explains the words of the table.
func eventLegend() []string {
	return []string{
		"MATCHER: the input field that a matcher is compared with.",
		"EXIT 2, BLOCK: what exit code 2 and {\"decision\": \"block\"} do. refuses: the text is for people; " +
			"error: refused, and the text is the call's error; feedback: refused, and the text goes to the model; " +
			"beside: too late to refuse, the text goes beside the result; shown: to people, nothing is refused.",
		"HALTS: {\"continue\": false} counts.",
		"TYPES: A command, http, mcp_tool, prompt, agent; B without prompt and agent; C command and mcp_tool. " +
			"Callbacks listen to every event.",
		"FIRES: a team fires it by itself; covey hooks run fires any event.",
	}
}
