package main_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

var systems = flag.String("systems", "", "operating systems, separated by commas, for which TestHouseSystems checks the types of all code")

// TestHouseSystems checks the types of all code and tests as another system compiles them.
// It compiles nothing, so that it takes a fraction of the time of go vet, which would
// compile every dependency once for each system.
func TestHouseSystems(t *testing.T) {
	if *systems == "" {
		t.Skip("it takes long; -systems windows,darwin runs it")
	}
	for system := range strings.SplitSeq(*systems, ",") {
		t.Run(system, func(t *testing.T) {
			all, err := packages.Load(&packages.Config{
				Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
					packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedModule,
				Context: t.Context(), Dir: root, Tests: true,
				Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
			}, "./...")
			if err != nil {
				t.Fatal(err)
			}
			if len(all) < len(floors) {
				t.Fatalf("only %d packages were found", len(all))
			}
			packages.Visit(all, nil, func(p *packages.Package) {
				for _, e := range p.Errors {
					t.Error(e)
				}
			})
		})
	}
}
