package agent

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // the formats that image.DecodeConfig knows
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"slices"
)

// Image is an image in the result of a tool, as Anthropic's API, transcripts and hooks have it.
type Image struct {
	Type   string      `json:"type"` // image
	Source ImageSource `json:"source"`
}

// ImageSource is the content of an Image.
type ImageSource struct {
	Type      string `json:"type"` // base64
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

// The limits of an image are those of Anthropic, which are the narrowest: 5 MiB in base64, and a
// number of pixels.
const (
	MaxImage = 5 << 20 / 4 * 3 // bytes of the image itself
	maxSide  = 8000            // pixels
)

// imageSize is how much of a conversation an image counts for, in bytes of text: a large one costs
// about 1,600 tokens at Anthropic, and less at most others.
const imageSize = 6400

// ImageType returns the media type of a file, by its first 512 bytes, if models take images of that
// type; otherwise it is empty.
func ImageType(head []byte) string {
	kind := http.DetectContentType(head)
	if slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		return kind
	}
	return ""
}

// NewImage returns the image in data. What is wrong with an image would end a turn, were it sent.
func NewImage(data []byte) (Image, error) {
	i := Image{"image", ImageSource{"base64", ImageType(data), data}}
	width, height, err := i.Dimensions()
	switch {
	case i.Source.MediaType == "":
		return Image{}, errors.New("it is no PNG, JPEG, GIF or WebP image")
	case err != nil:
		return Image{}, fmt.Errorf("it is damaged: %w", err)
	case len(data) > MaxImage:
		return Image{}, fmt.Errorf("it has %d bytes, and models take %d; make it smaller", len(data), MaxImage)
	case max(width, height) > maxSide:
		return Image{}, fmt.Errorf("it has %dx%d pixels, and models take %d on a side; make it smaller",
			width, height, maxSide)
	}
	return i, nil
}

// Dimensions returns the size of an image in pixels, as its head says; 0 for WebP, which Go's library
// does not read.
func (i Image) Dimensions() (width, height int, err error) {
	if i.Source.MediaType == "image/webp" {
		return 0, 0, nil
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(i.Source.Data))
	return c.Width, c.Height, err
}

// String describes an image where it cannot be shown, such as in the journal.
func (i Image) String() string {
	size := fmt.Sprintf("%d kB", (len(i.Source.Data)+999)/1000)
	if width, height, err := i.Dimensions(); err == nil && width > 0 {
		size = fmt.Sprintf("%dx%d pixels, %s", width, height, size)
	}
	return fmt.Sprintf("[%s, %s]", i.Source.MediaType, size)
}

// ImageRead is the tool_response of Read for an image. Names and order follow recorded hosts, because
// PostToolUse hooks read them.
type ImageRead struct {
	Type string    `json:"type"` // image
	File ImageFile `json:"file"`
}

// ImageFile is an image that was read.
type ImageFile struct {
	Base64       []byte           `json:"base64"`
	Type         string           `json:"type"`
	OriginalSize int              `json:"originalSize"`
	Dimensions   *ImageDimensions `json:"dimensions,omitempty"` // nil: unknown
}

// ImageDimensions are in pixels. An image is shown as it is, so they are given twice.
type ImageDimensions struct {
	OriginalWidth  int `json:"originalWidth"`
	OriginalHeight int `json:"originalHeight"`
	DisplayWidth   int `json:"displayWidth"`
	DisplayHeight  int `json:"displayHeight"`
}

// AsRead returns an image as Read's tool_response.
func (i Image) AsRead() ImageRead {
	f := ImageFile{Base64: i.Source.Data, Type: i.Source.MediaType, OriginalSize: len(i.Source.Data)}
	if w, h, err := i.Dimensions(); err == nil && w > 0 {
		f.Dimensions = &ImageDimensions{w, h, w, h}
	}
	return ImageRead{"image", f}
}

// WithoutImages returns a block whose text says why its images are not shown any more.
func (b Block) WithoutImages(why string) Block {
	if len(b.Images) > 0 {
		b.Content, b.Images = b.Content+"\n[not shown any more: "+why+"]", nil
	}
	return b
}

// WithoutImages returns messages without their images, and changes none of them.
func WithoutImages(list []Message, why string) []Message {
	list = slices.Clone(list)
	for i, m := range list {
		list[i].Content = slices.Clone(m.Content)
		for j, b := range m.Content {
			list[i].Content[j] = b.WithoutImages(why)
		}
	}
	return list
}

// HaveImages reports whether messages have images.
func HaveImages(list []Message) bool {
	return slices.ContainsFunc(list, func(m Message) bool {
		return slices.ContainsFunc(m.Content, func(b Block) bool { return len(b.Images) > 0 })
	})
}

// RefusedImages is why a conversation has no images after a turn that ended with EndImageError. All of
// them are left out, since APIs do not say which one they mean.
const RefusedImages = "the API of the model refused an image of this conversation; look again only at what it can " +
	"take, such as a smaller image"
