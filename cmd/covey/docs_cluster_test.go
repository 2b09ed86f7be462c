package main_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestDocumentedServices: the units of docs/cluster.md are units, whose covey has the flags that they
// give, and the values for Kubernetes are YAML that syncs each write on three servers. TestConfig of
// package bus starts servers with the configuration that the page has printed.
func TestDocumentedServices(t *testing.T) {
	t.Parallel()
	page := readDoc(t, "docs/cluster.md")
	line := regexp.MustCompile(`^(\[(Unit|Service|Install)\]|[A-Z][A-Za-z]+=\S.*)$`)
	var starts []string
	for _, m := range regexp.MustCompile("(?ms)^```ini\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		for _, l := range strings.Split(strings.TrimSpace(m[1]), "\n") {
			if !line.MatchString(l) {
				t.Errorf("%q is no line of a unit", l)
			}
			if start, ok := strings.CutPrefix(l, "ExecStart="); ok {
				starts = append(starts, start)
			}
		}
	}
	if len(starts) != 2 {
		t.Fatalf("the units start %q", starts)
	}
	help := runHelp(t, "up")
	for _, flag := range regexp.MustCompile(`--[a-z]+`).FindAllString(starts[1], -1) {
		if !strings.Contains(help, flag+" ") {
			t.Errorf("covey up has no %s", flag)
		}
	}
	values := regexp.MustCompile("(?ms)^```yaml\n(config:.*?)^```$").FindStringSubmatch(page)
	if values == nil {
		t.Fatal("there are no values for Kubernetes")
	}
	var chart struct {
		Config struct {
			Cluster   struct{ Replicas int }
			Jetstream struct {
				Merge map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(values[1]), &chart); err != nil {
		t.Fatal(err)
	}
	if c := chart.Config; c.Cluster.Replicas != 3 || c.Jetstream.Merge["sync_interval"] != "always" {
		t.Errorf("the values are %+v", chart)
	}
}
