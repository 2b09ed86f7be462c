package launch

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

//go:generate go test -run TestAgentsDocIsCurrent -update-docs .

const agentsDoc = "../../docs/agents.md"

var updateDocs = flag.Bool("update-docs", false, "rewrite the table of docs/agents.md")

var matrixMark = regexp.MustCompile(`(?s)<!-- agents -->\n.*?<!-- end -->\n`)

// TestAgentsDocIsCurrent holds the matrix of docs/agents.md against the presets:
// what people plan by must be what `validate` refuses by.
func TestAgentsDocIsCurrent(t *testing.T) {
	have, err := os.ReadFile(agentsDoc)
	if err != nil {
		t.Fatal(err)
	}
	if !matrixMark.Match(have) {
		t.Fatalf("%s has no place for the matrix", agentsDoc)
	}
	want := matrixMark.ReplaceAllLiteral(have, []byte("<!-- agents -->\n"+agentsMatrix()+"<!-- end -->\n"))
	if *updateDocs {
		if err := os.WriteFile(agentsDoc, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(have, want) {
		t.Errorf("the matrix of %s is not that of the presets; run go generate ./orchestrator/launch", agentsDoc)
	}
}

// agentsMatrix is what each way to run a preset honours, in Markdown. `covey agents NAME` has more.
func agentsMatrix() string {
	var b strings.Builder
	b.WriteString("| preset | program | version | steer | resume | system prompt | usage | own hooks off |")
	for _, kind := range ToolKinds() {
		fmt.Fprintf(&b, " %s |", kind)
	}
	b.WriteString("\n|" + strings.Repeat("---|", 8+len(ToolKinds())) + "\n")
	for _, p := range presets() {
		for _, way := range p.programs {
			h := way.honours
			bin := "`" + strings.Join(append([]string{way.bin}, firstWord(way.args)...), " ") + "`"
			version := h.Version[strings.LastIndexByte(h.Version, ' ')+1:]
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |", p.name, bin, version,
				h.Steer, h.Resume, h.System, h.Usage, h.Native)
			for _, kind := range ToolKinds() {
				hold := h.Tools[kind]
				if hold == "" {
					hold = Detected
				}
				fmt.Fprintf(&b, " %s |", hold)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// firstWord is the argument that tells a program's ways apart; none if it has
// none.
func firstWord(args []string) []string { return args[:min(1, len(args))] }
