package pages

import (
	"fmt"
	"html/template"
	"net/url"
)

// pageLinks are the functions by which templates link to other pages, whose paths begin with root. A
// report has its own, which lead to places in the report; see reportFunctions.
func pageLinks(root string) template.FuncMap {
	return template.FuncMap{
		"root":       func() string { return root },
		"taskhref":   func(id string) string { return root + "/task/" + url.PathEscape(id) },
		"lookhref":   func(id string) string { return root + "/task/" + url.PathEscape(id) + "#task-look" },
		"memberhref": func(name string) string { return root + "/member/" + url.PathEscape(name) },
		"linehref": func(name string, seq uint64) string {
			return fmt.Sprintf("%s/member/%s#line-%d", root, url.PathEscape(name), seq)
		},
		"gatehref": func(task, gate string) string {
			return root + "/task/" + url.PathEscape(task) + "#gate-" + DomID(gate)
		},
	}
}
