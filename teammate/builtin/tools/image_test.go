//go:build unix

package tools

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// encoded returns a gray image of that size.
func encoded(t *testing.T, format string, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	i := image.NewGray(image.Rect(0, 0, width, height))
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, i)
	case "jpeg":
		err = jpeg.Encode(&b, i, nil)
	case "gif":
		err = gif.Encode(&b, i, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Read shows an image by its content, whatever its name, and hooks get it as from recorded hosts.
func TestReadImage(t *testing.T) {
	b := newBench(t, nil)
	webp := "RIFF\x1a\x00\x00\x00WEBPVP8L" + strings.Repeat("\x00", 20)
	for kind, content := range map[string]string{
		"png": encoded(t, "png", 3, 2), "jpeg": encoded(t, "jpeg", 3, 2), "gif": encoded(t, "gif", 3, 2), "webp": webp,
	} {
		path := b.write(kind+".txt", content)
		r := b.call(t.Context(), "Read", fields{"file_path": path, "offset": 7})
		text, size := "[image/"+kind+", 3x2 pixels, 1 kB]", `,"dimensions":{"originalWidth":3,"originalHeight":2,"displayWidth":3,"displayHeight":2}`
		if kind == "webp" {
			text, size = "[image/webp, 1 kB]", ""
		}
		if r.Content != text || len(r.Images) != 1 || string(r.Images[0].Source.Data) != content ||
			r.Images[0].Source.MediaType != "image/"+kind {
			t.Errorf("%s: %+v", kind, r)
		}
		bytes, err := json.Marshal(len(content))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"type":"image","file":{"base64":"` + base64.StdEncoding.EncodeToString([]byte(content)) +
			`","type":"image/` + kind + `","originalSize":` + string(bytes) + size + `}}`
		if string(r.Response) != want {
			t.Errorf("%s: hooks get %s, want %s", kind, r.Response, want)
		}
		b.ok("Write", fields{"file_path": path, "content": "x"}) // it has been read
	}
}

// What no model would take is an error of the tool.
func TestReadImageRefused(t *testing.T) {
	b := newBench(t, nil)
	whole := encoded(t, "png", 3, 2)
	b.write("cut.png", whole[:20])
	b.write("huge.png", whole+strings.Repeat("\x00", agent.MaxImage))
	b.write("text.gif", "GIF89a\n")
	wide := []byte(whole)
	binary.BigEndian.PutUint32(wide[16:], 8001)
	binary.BigEndian.PutUint32(wide[29:], crc32.ChecksumIEEE(wide[12:29]))
	b.write("wide.png", string(wide))
	for name, want := range map[string]string{
		"cut.png":  "it is damaged: unexpected EOF",
		"huge.png": "bytes, and models take 3932160; make it smaller",
		"text.gif": "it is damaged",
		"wide.png": "it has 8001x2 pixels, and models take 8000 on a side; make it smaller",
	} {
		b.refuses("Read", fields{"file_path": name}, want)
	}
}

// A hook replaces an image by a smaller one, or by a text: then no image is left.
func TestRenderImage(t *testing.T) {
	read := newBench(t, nil).byTag["Read"].(agent.Renderer)
	small := encoded(t, "png", 1, 1)
	r, err := read.Render(json.RawMessage(`{"type":"image","file":{"base64":"` +
		base64.StdEncoding.EncodeToString([]byte(small)) + `","type":"image/png","originalSize":9}}`))
	if err != nil || r.Content != "[image/png, 1x1 pixels, 1 kB]" || len(r.Images) != 1 ||
		string(r.Images[0].Source.Data) != small {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = read.Render(json.RawMessage(`{"type":"text","file":{"filePath":"a","content":"gone","numLines":1,"startLine":1,"totalLines":1}}`))
	if err != nil || r.Content != "1\tgone" || r.Images != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := read.Render(json.RawMessage(`{"type":"image","file":{"base64":"YQ=="}}`)); err == nil {
		t.Errorf("what is no image is shown: %+v", r)
	}
}
