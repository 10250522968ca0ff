// Reading the decoder, which makes text of ids.

package tokenizer

import (
	"cmp"
	"encoding/json/jsontext"
	"fmt"
	"unicode/utf8"
)

// decoderReader reads a decoder and tracks what its stages leave: pieces, or one text that only a leading Strip can
// still change as it streams.
type decoderReader struct {
	stages   []stageMaker
	bytes    bool // ByteLevel was read
	fused    bool
	growth   growth
	patterns *patterns
}

func (d *decoderReader) read(path string, v jsontext.Value) error {
	if null(v) {
		return fmt.Errorf("%s: missing; without one the reference puts a space between all tokens", path)
	}
	kind, err := component(path, v)
	if err = cmp.Or(err, tooMany(path, len(d.stages))); err != nil {
		return err
	}
	if d.fused && kind != "Strip" && kind != "Fuse" {
		return fmt.Errorf("%s: %q after the pieces were joined is not supported", path, kind)
	}
	switch kind {
	case "ByteLevel":
		return d.readByteLevel(path, v)
	case "ByteFallback":
		return d.readByteFallback(path, v)
	case "Fuse":
		d.fused = true
		return fields(path, v, &struct {
			Type string `json:"type"`
		}{})
	case "Replace":
		return d.readReplace(path, v)
	case "Metaspace":
		return d.readMetaspace(path, v)
	case "Strip":
		return d.readStrip(path, v)
	case "BPEDecoder":
		return d.readSuffix(path, v)
	case "WordPiece":
		return d.readWordPiece(path, v)
	case "Sequence":
		return d.readSequence(path, v)
	}
	return unsupported(path, kind, "ByteLevel, ByteFallback, Fuse, Replace, Metaspace, Strip, BPEDecoder, WordPiece, Sequence")
}

func (d *decoderReader) add(m stageMaker) { d.stages = append(d.stages, m) }

func (d *decoderReader) readByteLevel(path string, v jsontext.Value) error {
	d.bytes, d.fused = true, true
	d.add(func() stage { return &bytesStage{} })
	return fields(path, v, &byteLevelFields{})
}

func (d *decoderReader) readByteFallback(path string, v jsontext.Value) error {
	d.add(func() stage { return &byteFallbackStage{} })
	return fields(path, v, &struct {
		Type string `json:"type"`
	}{})
}

func (d *decoderReader) readReplace(path string, v jsontext.Value) error {
	_, m, content, err := readReplace(path, v, &d.growth, d.patterns)
	d.add(func() stage { return eachPiece(replace(m, content).text) })
	return err
}

func (d *decoderReader) readMetaspace(path string, v jsontext.Value) error {
	f, err := readMetaspace(path, v)
	d.add(func() stage { return &metaspaceStage{f.Replacement, f.Scheme != "never", false} })
	return err
}

// readSuffix reads BPEDecoder, which writes a space for each mark of a word's end.
func (d *decoderReader) readSuffix(path string, v jsontext.Value) error {
	f := struct {
		Type   string `json:"type"`
		Suffix string `json:"suffix"`
	}{Suffix: "</w>"}
	err := fields(path, v, &f)
	d.add(func() stage { return &suffixStage{suffix: f.Suffix} })
	return cmp.Or(err, d.growth.by(path, max(1, len(f.Suffix)), 1))
}

func (d *decoderReader) readWordPiece(path string, v jsontext.Value) error {
	f := struct {
		Type    string `json:"type"`
		Prefix  string `json:"prefix"`
		Cleanup bool   `json:"cleanup"`
	}{Prefix: "##", Cleanup: true}
	err := fields(path, v, &f)
	d.add(func() stage { return &wordPieceStage{prefix: f.Prefix, cleanup: f.Cleanup} })
	return err
}

func (d *decoderReader) readSequence(path string, v jsontext.Value) error {
	var f struct {
		Type     string           `json:"type"`
		Decoders []jsontext.Value `json:"decoders"`
	}
	if err := fields(path, v, &f); err != nil {
		return err
	}
	return sequence(path+".decoders", f.Decoders, d.read)
}

func (d *decoderReader) readStrip(path string, v jsontext.Value) error {
	var f struct {
		Type    string `json:"type"`
		Content string `json:"content"`
		Start   int    `json:"start"`
		Stop    int    `json:"stop"`
	}
	if err := fields(path, v, &f); err != nil {
		return err
	}
	switch {
	case utf8.RuneCountInString(f.Content) != 1 || f.Start < 0:
		return fmt.Errorf("%s: content must be one character and start at least 0", path)
	case f.Stop != 0:
		return fmt.Errorf("%s.stop: %d is not supported (0 is)", path, f.Stop)
	case d.fused:
		d.add(func() stage { return &leadStage{f.Content, f.Start} })
	default:
		d.add(func() stage { return stripPiece(f.Content, f.Start) })
	}
	return nil
}
