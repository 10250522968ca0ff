// Finished rollouts as data: JSON, one object for each, and safetensors, one file for all. docs/service.md describes both.

package service

import (
	"encoding/binary"
	"encoding/json/v2"
	"fmt"
	"io"
	"math"
	"strconv"

	"molt/traj"
)

// result is a finished rollout.
type result struct {
	Sample   int                `json:"sample"`
	Outcome  traj.Outcome       `json:"outcome"`
	Detail   string             `json:"detail,omitzero"`
	Reward   *float64           `json:"reward"` // null unless the rollout was graded
	Score    *float64           `json:"score"`
	Info     map[string]float64 `json:"info,omitempty"`
	Turns    int                `json:"turns"`
	Segments []segment          `json:"segments"`
	Images   []picture          `json:"images,omitempty"` // that the segments show, each once
}

// picture is an image with its bytes, which JSON has in base64.
type picture struct {
	Digest string `json:"digest"`
	Media  string `json:"media_type"`
	Data   []byte `json:"data"`
}

// segment is traj.Segment.
type segment struct {
	Tokens  []int32        `json:"tokens"`
	Action  []bool         `json:"action"`
	LogpGen []float32      `json:"logp"`
	Version []traj.Version `json:"version"`
	Temp    []float32      `json:"temperature"`
	Node    []int32        `json:"node"`
	Images  []traj.Image   `json:"images,omitempty"`
}

func resultOf(r *traj.Rollout) result {
	o := result{Sample: r.Sample, Outcome: r.Outcome, Detail: r.Detail, Info: r.Info, Turns: r.Turns(), Segments: []segment{}}
	if r.Outcome.Graded() {
		o.Reward, o.Score = &r.Reward, &r.Score
	}
	for _, s := range r.Segments() {
		o.Segments = append(o.Segments, segment{s.Tokens, s.Action, s.LogpGen, s.Version, s.Temp, s.Node, places(s.Images)})
	}
	o.Images = picturesOf(r)
	return o
}

// places are images without their bytes.
func places(images []traj.Image) []traj.Image {
	out := traj.Shift(images, 0)
	for i := range out {
		out[i].Data = nil
	}
	return out
}

// picturesOf lists the images of rollouts, each once.
func picturesOf(rollouts ...*traj.Rollout) []picture {
	var all []picture
	seen := map[string]bool{}
	for _, r := range rollouts {
		for i := range r.Nodes {
			for _, m := range r.Nodes[i].Images {
				if !seen[m.Digest] {
					seen[m.Digest] = true
					all = append(all, picture{m.Digest, m.Media, m.Data})
				}
			}
		}
	}
	return all
}

// lane is one tensor of the file.
type lane struct {
	name, dtype string
	width       int // bytes of a value
	count       int
	put         func(dst []byte) []byte // appends all values
}

// writeSafetensors writes rollouts as one file. T tokens stand behind one another, segment after segment.
func writeSafetensors(w io.Writer, meta map[string]string, rollouts []*traj.Rollout) error {
	var segments []traj.Segment
	var of []int32
	tokens := 0
	for i, r := range rollouts {
		for _, s := range r.Segments() {
			segments, of, tokens = append(segments, s), append(of, int32(i)), tokens+len(s.Tokens)
		}
	}
	le := binary.LittleEndian
	float := func(x float32) uint32 { return math.Float32bits(x) }
	each := func(put func([]byte, *traj.Segment, int) []byte) func([]byte) []byte {
		return func(dst []byte) []byte {
			for i := range segments {
				for at := range segments[i].Tokens {
					dst = put(dst, &segments[i], at)
				}
			}
			return dst
		}
	}
	graded := func(value func(*traj.Rollout) float64) func([]byte) []byte {
		return func(dst []byte) []byte {
			for _, r := range rollouts {
				x := math.NaN()
				if r.Outcome.Graded() {
					x = value(r)
				}
				dst = le.AppendUint64(dst, math.Float64bits(x))
			}
			return dst
		}
	}
	lanes := []lane{
		{"version", "I64", 8, tokens, each(func(d []byte, s *traj.Segment, i int) []byte { return le.AppendUint64(d, uint64(s.Version[i])) })},
		{"segment_offsets", "I64", 8, len(segments) + 1, func(d []byte) []byte {
			at := 0
			for i := range segments {
				d = le.AppendUint64(d, uint64(at))
				at += len(segments[i].Tokens)
			}
			return le.AppendUint64(d, uint64(at))
		}},
		{"reward", "F64", 8, len(rollouts), graded(func(r *traj.Rollout) float64 { return r.Reward })},
		{"score", "F64", 8, len(rollouts), graded(func(r *traj.Rollout) float64 { return r.Score })},
		{"tokens", "I32", 4, tokens, each(func(d []byte, s *traj.Segment, i int) []byte { return le.AppendUint32(d, uint32(s.Tokens[i])) })},
		{"node", "I32", 4, tokens, each(func(d []byte, s *traj.Segment, i int) []byte { return le.AppendUint32(d, uint32(s.Node[i])) })},
		{"logp", "F32", 4, tokens, each(func(d []byte, s *traj.Segment, i int) []byte { return le.AppendUint32(d, float(s.LogpGen[i])) })},
		{"temperature", "F32", 4, tokens, each(func(d []byte, s *traj.Segment, i int) []byte { return le.AppendUint32(d, float(s.Temp[i])) })},
		{"segment_rollout", "I32", 4, len(segments), func(d []byte) []byte {
			for _, i := range of {
				d = le.AppendUint32(d, uint32(i))
			}
			return d
		}},
		{"action", "BOOL", 1, tokens, each(func(d []byte, s *traj.Segment, i int) []byte {
			if s.Action[i] {
				return append(d, 1)
			}
			return append(d, 0)
		})},
	}
	for _, p := range picturesOf(rollouts...) {
		lanes = append(lanes, lane{"image." + p.Digest, "U8", 1, len(p.Data), func(d []byte) []byte { return append(d, p.Data...) }})
	}
	return writeLanes(w, meta, lanes)
}

// writeLanes writes a safetensors file. Wide values come first, so that each tensor begins at a multiple of its width.
func writeLanes(w io.Writer, meta map[string]string, lanes []lane) error {
	header := map[string]any{"__metadata__": meta}
	at := 0
	for _, l := range lanes {
		end := at + l.count*l.width
		header[l.name] = map[string]any{"dtype": l.dtype, "shape": []int{l.count}, "data_offsets": []int{at, end}}
		at = end
	}
	text, err := json.Marshal(header, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("service: %w", err)
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	if _, err := w.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)); err != nil {
		return err
	}
	for _, l := range lanes {
		if _, err := w.Write(l.put(make([]byte, 0, l.count*l.width))); err != nil {
			return err
		}
	}
	return nil
}

// metadata says of each rollout what is no number.
func metadata(t *task, rollouts []*traj.Rollout) (map[string]string, error) {
	type about struct {
		Sample  int                `json:"sample"`
		Outcome traj.Outcome       `json:"outcome"`
		Detail  string             `json:"detail,omitzero"`
		Info    map[string]float64 `json:"info,omitempty"`
		Images  [][]traj.Image     `json:"images,omitempty"` // of each segment, where one shows any
	}
	list := make([]about, len(rollouts))
	for i, r := range rollouts {
		list[i] = about{Sample: r.Sample, Outcome: r.Outcome, Detail: r.Detail, Info: r.Info}
		if len(picturesOf(r)) > 0 {
			for _, s := range r.Segments() {
				list[i].Images = append(list[i].Images, places(s.Images))
			}
		}
	}
	text, err := json.Marshal(list)
	return map[string]string{"format": "molt-rollouts", "version": "1", "id": t.id, "n": strconv.Itoa(t.order.N), "rollouts": string(text)}, err
}
