package api

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain has more tests run at once than there are cores: they wait more than they work.
func TestMain(m *testing.M) {
	flag.Parse()
	if p := flag.Lookup("test.parallel"); p.Value.String() == p.DefValue {
		if err := p.Value.Set("8"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}
