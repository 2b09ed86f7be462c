package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strconv"
)

// bbolt maps its file and trusts it: an invalid page causes a panic in one of bbolt's
// own goroutines, or a fault that cannot be recovered. So the file is checked here
// before bbolt opens it, following the layout in bbolt's source, with every offset
// checked. One walk checks the tree, the order of the keys and the digest.

// The kinds of pages.
const (
	branchPage = 0x01
	leafPage   = 0x02
)

// Sizes of bbolt's layout, in bytes.
const (
	pageHead    = 16
	elementSize = 16
	metaSize    = 64
)

const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2
	bucketFlag  = 0x01
)

// Image is a store's file. It is read page by page, so that checking it needs the
// memory of a few pages, however big it is.
type Image struct {
	file   io.ReaderAt
	length int64
	size   int // bytes of a page
	high   uint64
	seen   []bool // by page: whether it is part of the tree
	digest uint64
	noted  []byte // the stored digest with its transaction; nil: the file is empty
	txid   uint64
	format string
	empty  bool // it has no buckets
}

// firstCommit is the transaction with which bbolt creates an empty file.
const firstCommit = 1

// metaOf is the content of one of the two meta pages.
type metaOf struct {
	pageSize   uint32
	root, high uint64
	txid       uint64
}

// ErrNoMeta: neither meta page is valid.
var ErrNoMeta = errors.New("neither of its two meta pages is valid")

// ReadImage checks a whole file. Its error wraps ErrCorrupt and says where the first
// damage is.
func ReadImage(path string) (*Image, error) {
	im, done, err := OpenImage(path)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := im.Check(); err != nil {
		return im, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return im, nil
}

// NewImage returns the image of a file of the given length.
func NewImage(file io.ReaderAt, length int64) *Image { return &Image{file: file, length: length} }

// OpenImage opens a file for checking; done closes it.
func OpenImage(path string) (im *Image, done func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the store: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read the store: %w", err), f.Close())
	}
	return NewImage(f, info.Size()), func() { _ = f.Close() }, nil
}

// State returns the state of the file after Check. known is false for an
// empty file.
func (im *Image) State() (at State, known bool) {
	return State{im.txid, im.digest}, im.noted != nil
}

// Transaction returns the number of the file's last commit, after Check.
func (im *Image) Transaction() uint64 { return im.txid }

// Newer returns the error for a file that a newer covey has migrated, after Check.
func (im *Image) Newer(path string) error {
	if format, err := strconv.Atoi(im.format); err == nil && format > Format {
		return newerFormat(path, format, Format)
	}
	return nil
}

// Size returns the number of bytes of the file's pages; 0 if the meta pages are
// invalid.
func (im *Image) Size() int64 {
	meta, err := im.meta()
	if err != nil {
		return 0
	}
	return int64(meta.high) * int64(meta.pageSize)
}

// Unfinished reports whether the file was cut off while bbolt created it: it has no
// more than the four pages that an empty file begins with, so no change was ever
// acknowledged.
func (im *Image) Unfinished() bool { return im.length <= 4*int64(os.Getpagesize()) }

// Check walks the tree from the newer meta page.
func (im *Image) Check() error {
	meta, err := im.meta()
	if err != nil {
		return err
	}
	im.size, im.txid = int(meta.pageSize), meta.txid
	if im.high = meta.high; im.high > uint64(im.length/int64(im.size)) {
		return fmt.Errorf("it ends at byte %d, in the middle of its %d pages", im.length, im.high)
	}
	im.seen, im.empty = make([]bool, im.high), true
	if err := im.walk(meta.root, im.bucket); err != nil {
		return err
	}
	if im.empty && im.txid > firstCommit {
		return fmt.Errorf("its content is not what was committed: after %d commits it is empty", im.txid-firstCommit)
	}
	// A root page left over from an older, larger tree may lead to neither.
	if (im.format == "" || im.noted == nil) && im.txid > firstCommit {
		return errors.New("its content is not what was committed: the entry with its format or digest is missing")
	}
	have := digestValue(int(im.txid), im.digest)
	if im.noted != nil && !bytes.Equal(have, im.noted) {
		return fmt.Errorf("its content is not what was committed: digest %x, recorded as %x", have, im.noted)
	}
	return nil
}

// meta returns the newer of the valid meta pages. An invalid one may belong to a
// commit that a power loss cut off.
func (im *Image) meta() (metaOf, error) {
	var best metaOf
	for _, at := range im.metaOffsets() {
		if m, ok := im.metaAt(at); ok && (best.pageSize == 0 || m.txid > best.txid) {
			best = m
		}
	}
	if best.pageSize == 0 {
		return best, ErrNoMeta
	}
	return best, nil
}

// metaOffsets returns where the second page may begin: if the first page is damaged,
// the page size is unknown.
func (im *Image) metaOffsets() []int {
	list := []int{0}
	for size := 1 << 10; size <= 1<<16; size <<= 1 {
		list = append(list, size)
	}
	return list
}

// metaAt reads a meta page. The bool is false if the page is invalid.
func (im *Image) metaAt(at int) (metaOf, bool) {
	b := make([]byte, metaSize)
	if _, err := im.file.ReadAt(b, int64(at+pageHead)); err != nil {
		return metaOf{}, false
	}
	sum := fnv.New64a()
	_, _ = sum.Write(b[:56])
	e := binary.NativeEndian
	m := metaOf{pageSize: e.Uint32(b[8:]), root: e.Uint64(b[16:]), high: e.Uint64(b[40:]), txid: e.Uint64(b[48:])}
	ok := e.Uint32(b) == boltMagic && e.Uint32(b[4:]) == boltVersion && e.Uint64(b[56:]) == sum.Sum64() &&
		m.pageSize >= 1<<10 && m.pageSize <= 1<<16
	return m, ok
}

// entryFunc is called for each entry of a leaf page.
type entryFunc func(flags uint32, key, value []byte) error

// walk visits a tree of pages.
func (im *Image) walk(id uint64, visit entryFunc) error {
	_, err := im.descend(element{page: id}, visit)
	return err
}

// page returns a page with its overflow pages. Each page may be read once.
func (im *Image) page(id uint64) ([]byte, error) {
	e := binary.NativeEndian
	if id < 2 || id >= im.high {
		return nil, fmt.Errorf("page %d is outside the file", id)
	}
	b, err := im.read(id, 1)
	if err != nil {
		return nil, err
	}
	if named := e.Uint64(b); named != id {
		return nil, fmt.Errorf("page %d says that it is page %d", id, named)
	}
	pages := uint64(e.Uint32(b[12:])) + 1
	if id+pages > im.high {
		return nil, fmt.Errorf("page %d extends beyond the end of the file", id)
	}
	for p := id; p < id+pages; p++ {
		if im.seen[p] {
			return nil, fmt.Errorf("page %d is used twice", p)
		}
		im.seen[p] = true
	}
	if pages == 1 {
		return b, nil
	}
	return im.read(id, pages)
}

// read reads consecutive pages of the file.
func (im *Image) read(id, pages uint64) ([]byte, error) {
	b := make([]byte, pages*uint64(im.size))
	if _, err := im.file.ReadAt(b, int64(id)*int64(im.size)); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	return b, nil
}

// elements visits one page's elements in order, and returns its last key. from is the
// least key that may occur; only the first key may equal it.
func (im *Image) elements(page []byte, id uint64, from []byte, visit entryFunc) (last []byte, err error) {
	e := binary.NativeEndian
	flags, count := e.Uint16(page[8:]), int(e.Uint16(page[10:]))
	if flags != branchPage && flags != leafPage || pageHead+count*elementSize > len(page) {
		return nil, fmt.Errorf("page %d has flags %x and %d elements", id, flags, count)
	}
	last = from
	for i := range count {
		el, err := elementOf(page, flags, i)
		if order := bytes.Compare(el.key, last); err == nil && last != nil && (order < 0 || order == 0 && i > 0) {
			err = fmt.Errorf("key %q is out of order", el.key)
		}
		switch {
		case err != nil:
		case flags == leafPage:
			last, err = el.key, visit(el.flags, el.key, el.value)
		default:
			last, err = im.descend(el, visit)
		}
		if err != nil {
			return nil, fmt.Errorf("page %d, element %d: %w", id, i, err)
		}
	}
	return last, nil
}

// descend visits the page of a branch element. Its first key must be the element's
// key.
func (im *Image) descend(el element, visit entryFunc) (last []byte, err error) {
	page, err := im.page(el.page)
	if err != nil {
		return nil, err
	}
	return im.elements(page, el.page, el.key, visit)
}

// element is an element of a branch page, which has a page, or of a leaf, which has a
// value.
type element struct {
	flags      uint32
	page       uint64
	key, value []byte
}

// elementOf reads one element; its offsets are relative to its own header.
func elementOf(page []byte, flags uint16, i int) (el element, err error) {
	e := binary.NativeEndian
	at := pageHead + i*elementSize
	head := page[at:]
	if flags == branchPage {
		el.page = e.Uint64(head[8:])
		el.key, err = cut(page, at+int(e.Uint32(head)), int(e.Uint32(head[4:])))
		return el, err
	}
	el.flags = e.Uint32(head)
	from, size := at+int(e.Uint32(head[4:])), int(e.Uint32(head[8:]))
	if el.key, err = cut(page, from, size); err == nil {
		el.value, err = cut(page, from+size, int(e.Uint32(head[12:])))
	}
	return el, err
}

// cut returns n bytes of a page.
func cut(page []byte, from, n int) ([]byte, error) {
	if from < 0 || n < 0 || from+n > len(page) {
		return nil, errors.New("it extends beyond the end of its page")
	}
	return page[from : from+n], nil
}

// bucket checks one bucket of the root: its header, and its pages or inline page.
func (im *Image) bucket(flags uint32, name, value []byte) error {
	im.empty = false
	if flags&bucketFlag == 0 || len(value) < pageHead {
		return fmt.Errorf("%q is not a bucket", name)
	}
	visit := func(flags uint32, key, value []byte) error { return im.entry(flags, string(name), key, value) }
	root := binary.NativeEndian.Uint64(value)
	if root != 0 {
		return im.walk(root, visit)
	}
	if len(value) < 2*pageHead {
		return fmt.Errorf("bucket %q is truncated", name)
	}
	_, err := im.elements(value[pageHead:], 0, nil, visit)
	return err
}

// entry adds one entry to the digest.
func (im *Image) entry(flags uint32, bucket string, key, value []byte) error {
	switch {
	case flags&bucketFlag != 0:
		return fmt.Errorf("bucket %q within bucket %s", key, bucket)
	case counted(bucket, key):
		im.digest ^= entrySum(bucket, key, value)
	case string(key) == keyDigest:
		im.noted = value
	default:
		im.format = string(value)
	}
	return nil
}
