package exposition

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"io"

	dto "github.com/prometheus/client_model/go"
)

// Format is an exposition format.
type Format int

const (
	textFormat Format = iota
	openMetricsFormat
	// protobufFormat is not rendered ahead: serveProtobuf encodes it at the scrape.
	protobufFormat
)

// textFormatCount is the number of formats that fragments are rendered in.
const textFormatCount = int(protobufFormat)

// fragment is a part of an exposition. text contains what differs between the text formats. body
// is the same in both and is kept uncompressed and compressed, as deflate blocks that refer to no
// earlier data. A fragment is immutable.
type fragment struct {
	text [textFormatCount][]byte
	body []byte
	// compressed is body as deflate blocks that end on a byte boundary.
	compressed []byte
	// gathered is the family of client_golang whose samples the fragment shows. It contains native
	// histograms, which the text formats cannot express. It is nil if the samples are from a table,
	// and in the head of a family.
	gathered *dto.MetricFamily
}

// compressor compresses bodies. Only one goroutine may use it.
type compressor struct {
	buf bytes.Buffer
	w   *flate.Writer
}

func newCompressor() *compressor {
	p := &compressor{}
	w, err := flate.NewWriter(&p.buf, flate.BestSpeed)
	if err != nil {
		panic(err) // BestSpeed is a level that flate knows
	}
	p.w = w
	return p
}

func (p *compressor) compress(body []byte) []byte {
	if len(body) == 0 {
		return nil
	}
	p.buf.Reset()
	p.w.Reset(&p.buf)
	// Writing to a bytes.Buffer does not fail.
	_, _ = p.w.Write(body)
	_ = p.w.Flush()
	return bytes.Clone(p.buf.Bytes())
}

// Header and end of a gzip member (RFC 1952) around deflate blocks (RFC 1951).
var (
	gzipHead      = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}
	gzipLastBlock = []byte{1, 0, 0, 0xff, 0xff} // an empty stored block, marked as the last
)

// maxStoredBlock is the maximum size of a stored block in bytes.
const maxStoredBlock = 1<<16 - 1

// writePlain writes the fragments uncompressed.
func writePlain(w io.Writer, f Format, pieces []fragment) error {
	for _, p := range pieces {
		if _, err := w.Write(p.text[f]); err != nil {
			return err
		}
		if _, err := w.Write(p.body); err != nil {
			return err
		}
	}
	return nil
}

// writeGzip writes the fragments as one gzip member. It compresses nothing itself.
func writeGzip(w io.Writer, f Format, pieces []fragment) error {
	if _, err := w.Write(gzipHead); err != nil {
		return err
	}
	sum, size := uint32(0), uint32(0)
	for _, p := range pieces {
		sum = crc32.Update(crc32.Update(sum, crc32.IEEETable, p.text[f]), crc32.IEEETable, p.body)
		size += uint32(len(p.text[f]) + len(p.body))
		if err := writeStored(w, p.text[f]); err != nil {
			return err
		}
		if _, err := w.Write(p.compressed); err != nil {
			return err
		}
	}
	if _, err := w.Write(gzipLastBlock); err != nil {
		return err
	}
	tail := binary.LittleEndian.AppendUint32(nil, sum)
	_, err := w.Write(binary.LittleEndian.AppendUint32(tail, size))
	return err
}

// writeStored writes data as stored blocks, none of them the last.
func writeStored(w io.Writer, data []byte) error {
	for len(data) > 0 {
		n := min(len(data), maxStoredBlock)
		head := []byte{0, byte(n), byte(n >> 8), ^byte(n), ^byte(n >> 8)}
		if _, err := w.Write(append(head, data[:n]...)); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// plainSize and gzipSize return how many bytes writePlain and writeGzip write.
func plainSize(f Format, pieces []fragment) int {
	n := 0
	for _, p := range pieces {
		n += len(p.text[f]) + len(p.body)
	}
	return n
}

func gzipSize(f Format, pieces []fragment) int {
	n := len(gzipHead) + len(gzipLastBlock) + 8
	for _, p := range pieces {
		blocks := (len(p.text[f]) + maxStoredBlock - 1) / maxStoredBlock
		n += len(p.text[f]) + 5*blocks + len(p.compressed)
	}
	return n
}
