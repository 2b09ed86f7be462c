package report

import (
	"fmt"
	"html/template"
	"net/url"
)

// pageLinks are the functions by which templates link to other pages. A report has its own, which
// lead to places in the report; see reportFunctions.
func pageLinks() template.FuncMap {
	return template.FuncMap{
		"taskhref":   func(id string) string { return "/task/" + url.PathEscape(id) },
		"memberhref": func(name string) string { return "/member/" + url.PathEscape(name) },
		"linehref": func(name string, seq uint64) string {
			return fmt.Sprintf("/member/%s#line-%d", url.PathEscape(name), seq)
		},
		"gatehref": func(task, gate string) string {
			return "/task/" + url.PathEscape(task) + "#gate-" + DomID(gate)
		},
	}
}
