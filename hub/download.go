// Downloading the files of a model: the texts first, then the tensors, several at once. Nothing gets its name before its
// length and checksum are right; what was interrupted is continued.

package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
)

const spare = 64 << 20 // bytes that must stay free on the disk

// download fetches what is missing and returns the number of bytes.
func (r *remote) download(ctx context.Context, s store, l listing) (int64, error) {
	texts, err := l.texts()
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(s.path("blobs"), 0o777); err != nil {
		return 0, err
	}
	p := &progress{to: r.Progress, now: Progress{Model: r.name.String()}}
	if err := r.fetchAll(ctx, s, l.commit, texts, p); err != nil {
		return p.now.Done, err
	}
	var index []byte
	if _, single := l.files[singleName]; !single {
		if index, err = readAtMost(s.snapshot(l.commit)+"/"+indexName, maxIndex); err != nil {
			return p.now.Done, err
		}
	}
	tensors, err := l.tensors(index)
	if err != nil {
		return p.now.Done, err
	}
	err = r.fetchAll(ctx, s, l.commit, append(tensors, l.also(r.Also)...), p)
	return p.now.Done, err
}

// fetchAll fetches the files that are not there, r.Workers at once. The first error ends the others.
func (r *remote) fetchAll(ctx context.Context, s store, commit string, files []remoteFile, p *progress) error {
	missing, err := r.plan(s, commit, files, p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	todo := make(chan remoteFile, len(missing)) // holds them all, so that nobody waits to send
	for _, f := range missing {
		todo <- f
	}
	close(todo)
	var workers sync.WaitGroup
	errs := make([]error, r.Workers)
	for i := range errs {
		workers.Go(func() {
			for f := range todo {
				if errs[i] = r.fetch(ctx, s, commit, f, p); errs[i] != nil {
					cancel()
					return
				}
			}
		})
	}
	workers.Wait()
	return worst(errs)
}

// worst is the error that ended the others.
func worst(errs []error) error {
	var canceled error
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		canceled = errors.Join(canceled, err)
	}
	return canceled
}

// plan links what the cache holds already and returns the rest, if there is room for it.
func (r *remote) plan(s store, commit string, files []remoteFile, p *progress) ([]remoteFile, error) {
	var missing []remoteFile
	var total, needed int64
	for _, f := range files {
		total += f.bytes
		if r.MaxBytes > 0 && (f.bytes > r.MaxBytes || total > r.MaxBytes) {
			return nil, fmt.Errorf("has more than %.4g GB, the limit for one model (MOLT_MAX_DOWNLOAD_GB)", float64(r.MaxBytes)/1e9)
		}
		if total < 0 {
			return nil, errors.New("claims more bytes than there can be")
		}
		if size(s.snapshot(commit)+"/"+f.name) == f.bytes {
			continue
		}
		if size(s.blob(f.sum)) == f.bytes {
			if err := s.link(commit, f.name, f.sum, r.Copies); err != nil {
				return nil, err
			}
			continue
		}
		missing = append(missing, f)
		needed += f.bytes - max(0, min(size(s.blob(f.sum)+incomplete), f.bytes), arrived(s.blob(f.sum)+inRanges, f, r.large))
		p.expect(f)
	}
	if free, known := r.free(s.path("blobs")); known && len(missing) > 0 && needed > free-spare {
		return nil, fmt.Errorf("needs %d MB more in %s, where %d MB are free; make room or set HF_HUB_CACHE to another disk",
			needed>>20+spare>>20, s.cache, free>>20)
	}
	return missing, nil
}

// size is that of a regular file, -1 when there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return -1
	}
	return info.Size()
}

// progress adds up what the workers do.
type progress struct {
	to  func(Progress)
	mu  sync.Mutex // guards now, and is held while to runs
	now Progress
}

func (p *progress) expect(f remoteFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.Files, p.now.Total = p.now.Files+1, p.now.Total+f.bytes
}

// add notes bytes of a file, and files that are finished.
func (p *progress) add(file string, bytes int64, finished int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.File, p.now.Done, p.now.FilesDone = file, p.now.Done+bytes, p.now.FilesDone+finished
	if p.to != nil {
		p.to(p.now)
	}
}
