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
	for chance := range 2 {
		temporary, sum, err := r.fill(ctx, s.blob(f.sum), commit, f, p)
		if err != nil {
			return err
		}
		if sum == f.sum {
			if err := os.Rename(temporary, s.blob(f.sum)); err != nil {
				return err
			}
			return errors.Join(removed(s.blob(f.sum)+incomplete), removed(s.blob(f.sum)+inRanges), atomicfile.SyncDir(s.path("blobs")))
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

// fill writes all of the file beside its blob, beyond what is there, and returns where it lies and its checksum.
func (r *remote) fill(ctx context.Context, blob, commit string, f remoteFile, p *progress) (path, sum string, err error) {
	address := r.address(commit, f.name)
	if f.bytes >= r.large {
		path = blob + inRanges
		if sum, err = r.fillRanges(ctx, path, blob+incomplete, address, f, p); !errors.Is(err, errNoRanges) {
			return path, sum, err
		}
		if err := removed(path); err != nil {
			return "", "", err
		}
	}
	path = blob + incomplete
	sum, err = r.fillStream(ctx, path, address, f, p)
	return path, sum, err
}

// address is the URL of a file.
func (r *remote) address(commit, name string) string {
	return r.Endpoint + "/" + r.name.path() + "/resolve/" + commit + "/" + (&url.URL{Path: name}).EscapedPath()
}

// fillStream writes the file at path from its beginning to its end.
func (r *remote) fillStream(ctx context.Context, path, address string, f remoteFile, p *progress) (string, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return "", err
	}
	d := &drain{file: file, want: f, hash: checksum(f), progress: p}
	err = d.rehash()
	if err == nil {
		err = r.pour(ctx, d, address)
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(d.hash.Sum(nil)), nil
}

// sink takes the bytes of one or more requests.
type sink interface {
	missing() int64                                            // bytes
	once(ctx context.Context, r *remote, address string) error // makes one request and takes what comes
}

// pour asks for the rest until all is there. Progress starts the count of attempts anew.
func (r *remote) pour(ctx context.Context, to sink, address string) error {
	for to.missing() > 0 {
		before := to.missing()
		err := r.repeat(ctx, func() error {
			err := to.once(ctx, r, address)
			if now := to.missing(); now < before && now > 0 {
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

// drain is a file that fills, with the checksum of what it holds.
type drain struct {
	file     *os.File
	want     remoteFile
	have     int64
	hash     hash.Hash
	progress *progress
}

func (d *drain) missing() int64 { return d.want.bytes - d.have }

func (d *drain) once(ctx context.Context, r *remote, address string) error {
	from := ""
	if d.have > 0 {
		from = fmt.Sprintf("bytes=%d-", d.have)
	}
	return r.receive(ctx, address, from, func(resp *http.Response) (int64, error) {
		if resp.StatusCode == http.StatusPartialContent {
			return d.missing(), checkRange(resp, d.have, d.want.bytes)
		}
		return d.want.bytes, d.restart() // the server knows no ranges
	}, d.take)
}

func (d *drain) take(p []byte) error {
	if _, err := d.file.Write(p); err != nil {
		return err
	}
	d.hash.Write(p)
	d.have += int64(len(p))
	d.progress.add(d.want.name, int64(len(p)), 0)
	return nil
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

// checksum is SHA-256, or git's: SHA-1 of a header with the length, then the file.
func checksum(f remoteFile) hash.Hash {
	if len(f.sum) == 64 {
		return sha256.New()
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", f.bytes)
	return h
}

// checkRange makes sure that an answer holds bytes from from on of a file with total bytes.
func checkRange(resp *http.Response, from, total int64) error {
	var first, last, all int64
	if n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &all); n != 3 || first != from || all != total {
		return fmt.Errorf("the hub sends %q where bytes from %d of %d were asked for", resp.Header.Get("Content-Range"), from, total)
	}
	return nil
}

// receive makes one request, for a range unless that is "", and passes on the body. begin says how many bytes it must have.
// A minute without a byte ends the request.
func (r *remote) receive(ctx context.Context, address, bytes string, begin func(*http.Response) (rest int64, err error), take func([]byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := r.get(ctx, address, bytes)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	rest, err := begin(resp)
	if err != nil {
		return err
	}
	if resp.ContentLength >= 0 && resp.ContentLength != rest {
		return fmt.Errorf("the hub sends %d bytes where its list says %d", resp.ContentLength, rest)
	}
	watch := time.AfterFunc(stall, cancel)
	defer watch.Stop()
	buf := make([]byte, 256<<10)
	for all := rest; ; {
		n, err := resp.Body.Read(buf)
		watch.Reset(stall)
		if int64(n) > rest {
			return fmt.Errorf("the hub sends more than the %d bytes of its list", all)
		}
		if rest -= int64(n); n > 0 {
			if err := take(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF && rest == 0 {
			return nil
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return &unreachableError{r.Endpoint, err, false}
		}
	}
}
