// TensorBoard's file format: records framed by masked CRC-32C, each holding one protobuf Event. The messages are few
// and frozen, so they are encoded by hand; field numbers are those of tensorflow's event.proto and summary.proto.

package metrics

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedCRC is the checksum of the record format: rotated and offset, so that a checksum of checksums stays strong.
func maskedCRC(b []byte) uint32 {
	crc := crc32.Checksum(b, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// frame appends payload as one record: length, its checksum, payload, its checksum.
func frame(dst, payload []byte) []byte {
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(payload)))
	dst = append(dst, length[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, maskedCRC(length[:]))
	dst = append(dst, payload...)
	return binary.LittleEndian.AppendUint32(dst, maskedCRC(payload))
}

// message is a protobuf message under construction.
type message []byte

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

func (m message) key(field, wire int) message {
	return binary.AppendUvarint(m, uint64(field<<3|wire))
}

func (m message) varint(field int, v int64) message {
	return binary.AppendUvarint(m.key(field, wireVarint), uint64(v))
}

func (m message) double(field int, v float64) message {
	return binary.LittleEndian.AppendUint64(m.key(field, wireFixed64), math.Float64bits(v))
}

func (m message) float(field int, v float64) message {
	return binary.LittleEndian.AppendUint32(m.key(field, wireFixed32), math.Float32bits(float32(v)))
}

func (m message) bytes(field int, v []byte) message {
	return append(binary.AppendUvarint(m.key(field, wireBytes), uint64(len(v))), v...)
}

func (m message) string(field int, v string) message { return m.bytes(field, []byte(v)) }

// doubles is a packed repeated double.
func (m message) doubles(field int, values []float64) message {
	var packed []byte
	for _, v := range values {
		packed = binary.LittleEndian.AppendUint64(packed, math.Float64bits(v))
	}
	return m.bytes(field, packed)
}

// tbEvent is Event{wall_time = 1, step = 2, …}; the caller adds what happened.
func tbEvent(wallTime float64, step int64) message {
	m := message(nil).double(1, wallTime)
	if step != 0 {
		m = m.varint(2, step)
	}
	return m
}

// tbScalar is Summary.Value{tag = 1, simple_value = 2}.
func tbScalar(tag string, v float64) message {
	return message(nil).string(1, tag).float(2, v)
}

// tbHistogram is Summary.Value{tag = 1, histo = 5}. A bucket is named by its upper edge, so one empty bucket opens it.
func tbHistogram(tag string, d Dist) message {
	limits, counts := []float64{d.Min}, []float64{0}
	for i, n := range d.Counts {
		limits, counts = append(limits, d.Edge(i+1)), append(counts, float64(n))
	}
	n := float64(d.N)
	histo := message(nil).double(1, d.Min).double(2, d.Max).double(3, n).double(4, n*d.Mean).
		double(5, n*(d.Std*d.Std+d.Mean*d.Mean)).doubles(6, limits).doubles(7, counts)
	return message(nil).string(1, tag).bytes(5, histo)
}

// tbText is Summary.Value{tag = 1, tensor = 8, metadata = 9} for the text plugin: a tensor of one string.
func tbText(tag, text string) message {
	const stringType = 7
	dim := message(nil).varint(1, 1)
	shape := message(nil).bytes(2, dim)
	tensor := message(nil).varint(1, stringType).bytes(2, shape).string(8, text)
	plugin := message(nil).string(1, "text")
	metadata := message(nil).bytes(1, plugin)
	return message(nil).string(1, tag).bytes(8, tensor).bytes(9, metadata)
}
