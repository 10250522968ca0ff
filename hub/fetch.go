// Fetching one file into its blob.

package hub

import (
	"context"
	"crypto/sha1" // git's checksum of small files
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"molt/internal/atomicfile"
)

const incomplete = ".incomplete" // suffix of a blob on its way

// fetch makes the blob of a file and links it. Only one process does so at a time; the others wait and find it there.
func (r *remote) fetch(ctx context.Context, s store, commit string, f remoteFile, p *progress) error {
	path := s.lock(f.sum)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	lock := flock.New(path)
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return fmt.Errorf("wait for another download (%s): %w", path, err)
	}
	defer lock.Close()
	if size(s.blob(f.sum)) != f.bytes {
		err := r.fetchBlob(ctx, s, commit, f, p)
		if errors.As(err, new(*refusedError)) {
			return err // speaks of the model as a whole
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	p.add(f.name, 0, 1)
	return s.link(commit, f.name, f.sum, r.Copies)
}

// fetchBlob continues or begins the blob. A checksum that is wrong is given one more chance, from the start.
func (r *remote) fetchBlob(ctx context.Context, s store, commit string, f remoteFile, p *progress) error {
	temporary := s.blob(f.sum) + incomplete
	for chance := range 2 {
		sum, err := r.fill(ctx, temporary, commit, f, p)
		if err != nil {
			return err
		}
		if sum == f.sum {
			if err := os.Rename(temporary, s.blob(f.sum)); err != nil {
				return err
			}
			return atomicfile.SyncDir(s.path("blobs"))
		}
		if err := os.Remove(temporary); err != nil {
			return err
		}
		if chance == 0 {
			p.add(f.name, -f.bytes, 0)
		}
	}
	return fmt.Errorf("does not match its checksum %s, twice; the download is damaged on its way, or the hub's copy is", f.sum)
}

// fill writes the whole file at path, beyond what is there, and returns its checksum.
func (r *remote) fill(ctx context.Context, path, commit string, f remoteFile, p *progress) (string, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return "", err
	}
	d := &drain{file: file, want: f, hash: checksum(f), progress: p}
	err = d.rehash()
	if err == nil {
		err = r.pour(ctx, d, commit)
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(d.hash.Sum(nil)), nil
}

// pour asks for the rest until all is there. Progress starts the count of attempts anew.
func (r *remote) pour(ctx context.Context, d *drain, commit string) error {
	address := r.Endpoint + "/" + r.name.path() + "/resolve/" + commit + "/" + url.PathEscape(d.want.name)
	for d.have < d.want.bytes {
		before := d.have
		err := r.repeat(ctx, func() error {
			err := r.once(ctx, d, address)
			if d.have > before && d.have < d.want.bytes {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// once makes one request and takes what comes.
func (r *remote) once(ctx context.Context, d *drain, address string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := r.get(ctx, address, d.have)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusPartialContent {
		var from, to, total int64
		if n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &total); n != 3 || from != d.have || total != d.want.bytes {
			return fmt.Errorf("the hub sends %q where bytes from %d of %d were asked for", resp.Header.Get("Content-Range"), d.have, d.want.bytes)
		}
	} else if err := d.restart(); err != nil { // the server knows no ranges
		return err
	}
	if rest := d.want.bytes - d.have; resp.ContentLength >= 0 && resp.ContentLength != rest {
		return fmt.Errorf("the hub sends %d bytes where its list says %d", resp.ContentLength, rest)
	}
	return d.take(resp.Body, time.AfterFunc(stall, cancel), r.Endpoint)
}

// drain is a file that fills, with the checksum of what it holds.
type drain struct {
	file     *os.File
	want     remoteFile
	have     int64
	hash     hash.Hash
	progress *progress
}

// checksum is SHA-256, or git's: SHA-1 of a header with the length, then the file.
func checksum(f remoteFile) hash.Hash {
	if len(f.sum) == 64 {
		return sha256.New()
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", f.bytes)
	return h
}

// rehash reads what an earlier download has left.
func (d *drain) rehash() error {
	info, err := d.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > d.want.bytes {
		return d.restart()
	}
	n, err := io.Copy(d.hash, d.file)
	d.have = n
	d.progress.add(d.want.name, n, 0)
	return err
}

func (d *drain) restart() error {
	d.progress.add(d.want.name, -d.have, 0)
	d.have, d.hash = 0, checksum(d.want)
	_, err := d.file.Seek(0, io.SeekStart)
	return errors.Join(err, d.file.Truncate(0))
}

// take appends the body, at most what is missing. Each byte sets the watch back, which ends the request when it goes off.
func (d *drain) take(body io.Reader, watch *time.Timer, endpoint string) error {
	defer watch.Stop()
	buf := make([]byte, 256<<10)
	for {
		n, err := body.Read(buf)
		watch.Reset(stall)
		if int64(n) > d.want.bytes-d.have {
			return fmt.Errorf("the hub sends more than the %d bytes of its list", d.want.bytes)
		}
		if _, errWrite := d.file.Write(buf[:n]); errWrite != nil {
			return errWrite
		}
		d.hash.Write(buf[:n])
		d.have += int64(n)
		if n > 0 {
			d.progress.add(d.want.name, int64(n), 0)
		}
		if err == io.EOF && d.have == d.want.bytes {
			return nil
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return &unreachableError{endpoint, err, false}
		}
	}
}
