package rules_test

import (
	"fmt"

	"github.com/coveyteam/covey/hooks/rules"
)

// One rule, asked in the three ways that differ in doubt.
func ExampleRule() {
	rule, err := rules.Parse("Bash(git push *)")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, input := range []string{`{"command":"git push origin"}`, `{"command":"cd x && git push"}`, `{"command":"$TOOL push"}`} {
		call := rules.Call{Tool: "Bash", Input: []byte(input), Cwd: "/w", Root: "/w"}
		fmt.Println(input, "permits:", rule.Permits(call), "forbids:", rule.Forbids(call))
	}
	// Output:
	// {"command":"git push origin"} permits: true forbids: true
	// {"command":"cd x && git push"} permits: false forbids: true
	// {"command":"$TOOL push"} permits: false forbids: true
}

// Several rules can allow a command line together.
func ExamplePermittedBy() {
	var list []rules.Rule
	for _, text := range []string{"Bash(cd *)", "Bash(go test *)"} {
		rule, err := rules.Parse(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		list = append(list, rule)
	}
	rule, ok := rules.PermittedBy(list, rules.Call{Tool: "Bash", Input: []byte(`{"command":"cd api && go test ./..."}`)})
	fmt.Println(rule, ok)
	// Output: Bash(cd *) true
}
