// Fetching a large file in ranges, several at once: hubs and networks limit what one connection gets.

package hub

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

const inRanges = ".ranges.incomplete" // suffix of a blob that arrives in ranges

// errNoRanges says that the server sends whole files only.
var errNoRanges = errors.New("the server knows no ranges")

// fillRanges writes the file at path. What lies at stream came from an earlier download, from the beginning on.
func (r *remote) fillRanges(ctx context.Context, path, stream, address string, f remoteFile, p *progress) (sum string, err error) {
	s, err := openSpans(path, stream, f, r.large, p)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.file.Close()) }()
	if err := r.pourSpans(ctx, s, address); err != nil {
		return "", err
	}
	h := checksum(f)
	if _, err := io.Copy(h, io.NewSectionReader(s.file, 0, f.bytes)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), errors.Join(s.file.Truncate(f.bytes), s.file.Sync())
}

// pourSpans fills all spans, r.Streams at once of all files. The first error ends the others.
func (r *remote) pourSpans(ctx context.Context, s *spans, address string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	todo := make(chan int, len(s.done)) // holds them all, so that nobody waits to send
	for i := range s.done {
		todo <- i
	}
	close(todo)
	errs := make([]error, r.Streams)
	var workers sync.WaitGroup
	for w := range errs {
		workers.Go(func() {
			for i := range todo {
				if errs[w] = r.pour(ctx, &span{s, i}, address); errs[w] != nil {
					cancel()
					return
				}
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if errors.Is(err, errNoRanges) {
			s.progress.add(s.want.name, -s.have(), 0)
			return errNoRanges
		}
	}
	return worst(errs)
}

// span is one of the ranges of a file. It is a sink.
type span struct {
	of *spans
	i  int
}

func (s *span) missing() int64 { return s.of.length(s.i) - s.of.done[s.i] }

func (s *span) once(ctx context.Context, r *remote, address string) error {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	from := int64(s.i)*s.of.bytes + s.of.done[s.i]
	asked := fmt.Sprintf("bytes=%d-%d", from, from+s.missing()-1)
	return r.receive(ctx, address, asked, func(resp *http.Response) (int64, error) {
		if resp.StatusCode != http.StatusPartialContent {
			return 0, errNoRanges
		}
		return s.missing(), checkRange(resp, from, s.of.want.bytes)
	}, func(p []byte) error { return s.of.take(s.i, p) })
}
