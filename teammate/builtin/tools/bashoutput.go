package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// outputInput is the input of BashOutput.
type outputInput struct {
	BashID string `json:"bash_id"`
	Filter string `json:"filter,omitempty"`
}

// outputOutput is BashOutput's tool_response.
type outputOutput struct {
	ShellID string `json:"shellId"`
	Command string `json:"command"`
	// Status is running, completed, failed or killed.
	Status string `json:"status"`
	// ExitCode is null while the run is running.
	ExitCode *int `json:"exitCode"`
	// Stdout holds both streams in the order in which they were written. Stderr is
	// always empty, because they are not stored separately.
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

func (t *Set) bashOutputTool() agent.Tool {
	spec := agent.Spec{
		Name: "BashOutput",
		Description: "Shows what a command in the background has printed since this was last asked, in " +
			"whole lines, and whether it still runs.",
		ReadOnly: true,
	}
	about := map[string]string{
		"bash_id": "The id of the background command",
		"filter":  "A regular expression: only lines that match are shown, and the others not again",
	}
	return NewTyped(spec, about, nil, t.bashOutput)
}

// bashOutput returns what a run has printed since the last call.
func (t *Set) bashOutput(_ context.Context, in outputInput) agent.ToolResult {
	r, err := t.find(in.BashID)
	if err != nil {
		return agent.Failed("BashOutput: %v", err)
	}
	filter, err := regexp.Compile(in.Filter)
	if err != nil {
		return agent.Failed("BashOutput: filter is no regular expression: %v", err)
	}
	// Read the status before the output: if the run has ended by then, all of its
	// output is in the file. In the other order its last lines could be lost.
	status := r.status()
	text, err := r.unreadOutput(status == "running")
	if err != nil {
		return agent.Failed("BashOutput: %s: %v", r.output.path, cause(err))
	}
	if in.Filter != "" {
		text = matching(text, filter)
	}
	output := outputOutput{ShellID: r.ID, Command: r.Command, Status: status, Stdout: text}
	head := "Status: " + status
	if status != "running" {
		code := exitCode(r.exit)
		output.ExitCode = &code
		head += fmt.Sprintf(", exit code %d", code)
		if r.err != nil {
			head += fmt.Sprintf(" (it could not be started: %v)", r.err)
		}
	}
	if text == "" {
		text = "(no new output)"
	}
	return Success(head+"\n"+text, output)
}

// unreadOutput returns what the run has printed since its last call, up to the last
// whole line while it is running. Of a very long output it returns only the end.
func (r *run) unreadOutput(running bool) (string, error) {
	f, err := os.Open(r.output.path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	r.reading.Lock()
	defer r.reading.Unlock()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	// The end of a long output is the most useful part; the file has the rest.
	from := max(r.read, size-spoolMemory)
	data := make([]byte, size-from)
	if _, err := f.ReadAt(data, from); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if running { // the last line may be incomplete
		data = data[:bytes.LastIndexByte(data, '\n')+1]
	}
	skipped := from - r.read
	r.read = from + int64(len(data))
	text := strings.TrimRight(strings.ToValidUTF8(string(data), "\uFFFD"), "\r\n")
	if last := lastRunes(text, outputChars); skipped > 0 || len(last) < len(text) {
		skipped += int64(len(text) - len(last))
		text = fmt.Sprintf("… (%d bytes before this are in %s)\n%s", skipped, r.output.path, last)
	}
	return text, nil
}

// matching returns the lines of text that filter matches.
func matching(text string, filter *regexp.Regexp) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if filter.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
