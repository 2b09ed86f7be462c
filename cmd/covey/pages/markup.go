package pages

import (
	"bytes"
	"html/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// markup renders Markdown of members. Their HTML is shown as text, and so are the addresses of their links
// and images: nothing leads out of the page, and nothing is loaded.
func markup() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))),
		goldmark.WithRendererOptions(html.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(harmless{}, 100))),
	)
}

// harmless renders the nodes that could do something as text.
type harmless struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (harmless) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, tagged("p><b", "b></p"))
	address := func(of func(ast.Node, []byte) []byte) renderer.NodeRendererFunc {
		return func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
			if text := of(n, source); !entering && len(text) > 0 {
				_, _ = w.WriteString(" <code>" + template.HTMLEscapeString(string(text)) + "</code>") // into memory
			}
			return ast.WalkContinue, nil
		}
	}
	r.Register(ast.KindLink, address(func(n ast.Node, _ []byte) []byte { return n.(*ast.Link).Destination }))
	r.Register(ast.KindImage, address(func(n ast.Node, _ []byte) []byte { return n.(*ast.Image).Destination }))
	r.Register(ast.KindAutoLink, address(func(n ast.Node, source []byte) []byte { return n.(*ast.AutoLink).URL(source) }))
	text := func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(template.HTMLEscapeString(string(rawOf(n, source)))) // into memory
		}
		return ast.WalkSkipChildren, nil
	}
	r.Register(ast.KindRawHTML, text)
	r.Register(ast.KindHTMLBlock, text)
}

// tagged renders a node between tags without attributes.
func tagged(begin, end string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		tag := "</" + end + ">"
		if entering {
			tag = "<" + begin + ">"
		}
		_, _ = w.WriteString(tag) // into memory
		return ast.WalkContinue, nil
	}
}

// rawOf returns the HTML of a node as it was written.
func rawOf(n ast.Node, source []byte) []byte {
	if raw, ok := n.(*ast.RawHTML); ok {
		return raw.Segments.Value(source)
	}
	text := n.Lines().Value(source)
	if block, ok := n.(*ast.HTMLBlock); ok && block.HasClosure() {
		text = append(bytes.Clone(text), block.ClosureLine.Value(source)...)
	}
	return text
}

// rendered returns Markdown as HTML, or as it is if it cannot be rendered.
func rendered(text string) template.HTML {
	var out bytes.Buffer
	if err := markup().Convert([]byte(text), &out); err != nil {
		return template.HTML(template.HTMLEscapeString(text)) //nolint:gosec // it was escaped
	}
	return template.HTML(out.String()) //nolint:gosec // only our own tags are left
}
