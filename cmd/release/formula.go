package main

import (
	"bytes"
	"fmt"
	"strings"
	"text/template"
)

// formula is the Homebrew formula. Homebrew makes the completions itself, from the
// installed program.
var formula = template.Must(template.New("covey.rb").Parse(`class Covey < Formula
  desc "Run a team of AI agents as one program"
  homepage "https://github.com/coveyteam/covey"
  version "{{.Version}}"
  license "Apache-2.0"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Archives}}
    on_{{.Processor}} do
      url "{{.URL}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "covey"
    doc.install "README.md", "CHANGELOG.md", "LICENSE", "THIRD_PARTY.txt"
    generate_completions_from_executable(bin/"covey", "completion")
  end

  test do
    assert_match "covey v#{version} ", shell_output("#{bin}/covey version")
  end
end
`))

// Words of Homebrew for systems and processors.
type (
	brewSystem struct {
		Name     string
		Archives []brewArchive
	}
	brewArchive struct{ Processor, URL, Sum string }
)

// downloads is where the files of a version are published.
const downloads = "https://github.com/coveyteam/covey/releases/download/"

// brewFormula returns the formula of a version. sums has the sums of the archives by name.
func brewFormula(version string, sums map[string]string) ([]byte, error) {
	processors := map[string]string{"amd64": "intel", "arm64": "arm"}
	var systems []brewSystem
	for _, s := range []struct{ brew, goes string }{{"macos", "darwin"}, {"linux", "linux"}} {
		system := brewSystem{Name: s.brew}
		for _, arch := range []string{"arm64", "amd64"} {
			name := archiveName(version, target{s.goes, arch}) + ".tar.gz"
			if sums[name] == "" {
				return nil, fmt.Errorf("write the formula: there is no %s", name)
			}
			system.Archives = append(system.Archives, brewArchive{processors[arch], downloads + version + "/" + name, sums[name]})
		}
		systems = append(systems, system)
	}
	var out bytes.Buffer
	err := formula.Execute(&out, map[string]any{"Version": strings.TrimPrefix(version, "v"), "Systems": systems})
	if err != nil {
		return nil, fmt.Errorf("write the formula: %w", err)
	}
	return out.Bytes(), nil
}
