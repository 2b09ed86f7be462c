package main_test

import (
	"go/ast"
	"maps"
	"slices"
	"testing"
)

// networkFiles are the files that make connections, each with whom it connects to: who runs
// the team has named all of them. There is no telemetry, so a new one needs a row.
var networkFiles = map[string]string{
	"bus/dial.go":                          "the team's own socket",
	"bus/listen.go":                        "the team's own socket, to see whether another covey listens there",
	"cmd/covey/doctor/doctorhooks.go":      "hosts of HTTP hooks, for covey doctor",
	"hooks/sandbox/proxy/proxy.go":         "hosts of a sandbox's list, for the programs in it",
	"hooks/web/endpoint.go":                "HTTP hooks and webhooks of the spec and of settings files",
	"hooks/web/fetch.go":                   "pages that a member fetches, under its permissions",
	"orchestrator/gateway/hosts.go":        "hosts of models, of agent programs with a gateway, which presets and variables of the operator name",
	"orchestrator/mcp/clientdial.go":       "mcp_servers of the spec",
	"hooks/testkit/mcp.go":                 "servers of tests",
	"orchestrator/state/lockname_linux.go": "the name of a team's lock, to see which process has it",
	"teammate/modelapi/model.go":           "models of the spec",
	"teammate/modelapi/wire.go":            "models of the spec",
}

// dials names what makes a connection, by package.
var dials = map[string][]string{
	"net":  {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialUnix", "Dialer"},
	"http": {"Client", "DefaultClient", "DefaultTransport", "Transport", "Get", "Post", "PostForm", "Head"},
}

func TestHouseConnectsOnlyToWhatIsNamed(t *testing.T) {
	t.Parallel()
	own, err := ownTree()
	if err != nil {
		t.Fatal(err)
	}
	files := dialing(own)
	for _, name := range files {
		if networkFiles[name] == "" {
			t.Error(breach(name, "it makes connections; use what does already, or give it a row in networkFiles that "+
				"says who has named whom it connects to"))
		}
	}
	for name := range maps.Keys(networkFiles) {
		if !slices.Contains(files, name) {
			t.Error(breach(name, "it makes no connections any more; take its row out of networkFiles"))
		}
	}
}

// dialing returns the files of a tree that make connections.
func dialing(own *tree) (files []string) {
	for _, f := range own.code() {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := s.X.(*ast.Ident)
			if ok && slices.Contains(dials[pkg.Name], s.Sel.Name) && !slices.Contains(files, f.path) {
				files = append(files, f.path)
			}
			return true
		})
	}
	return files
}

// TestHouseCatchesADial: a file that makes connections is found.
func TestHouseCatchesADial(t *testing.T) {
	t.Parallel()
	house := houseOf(t, map[string]string{
		"hooks/phone.go": "package hooks\n\nimport \"net\"\n\nfunc home() { _, _ = net.Dial(\"tcp\", \"x\") }\n",
	})
	if got := dialing(house); !slices.Equal(got, []string{"hooks/phone.go"}) {
		t.Errorf("found %v", got)
	}
}
