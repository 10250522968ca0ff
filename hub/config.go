// What the environment says, under the variables of Python's huggingface_hub.

package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const defaultEndpoint = "https://huggingface.co"

// Config says where models come from and where they are kept.
type Config struct {
	Cache    string         // folder of the cache, which Python's huggingface_hub may share
	Endpoint string         // URL of the hub, without a slash at its end
	Token    string         // sent to Endpoint and to no other host; "" for none
	Offline  bool           // never ask the hub
	Copies   bool           // put files, not links, into snapshots, as where links are impossible
	MaxBytes int64          // most bytes of one model; 0 is no limit
	Also     []string       // patterns of further files to fetch, in which * stands for any text; nil fetches what models need
	Workers  int            // files downloaded at once; 0 means 4
	Streams  int            // ranges of large files downloaded at once, of all files together; 0 means 8
	Progress func(Progress) // called from one goroutine at a time; may be nil

	client *http.Client
	sleep  func(d time.Duration) <-chan time.Time
	free   func(dir string) (bytes int64, known bool)
	large  int64 // bytes from which on a file arrives in ranges; 0 means 64 MiB
}

// Progress is the state of a download.
type Progress struct {
	Model       string
	File        string // the one that has just moved
	Done, Total int64  // bytes, of all files that were missing
	Files       int    // that were missing
	FilesDone   int
}

// FromEnvironment reads HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH, HF_HUB_OFFLINE,
// TRANSFORMERS_OFFLINE, HF_HUB_DISABLE_IMPLICIT_TOKEN and HF_HUB_DISABLE_SYMLINKS, and MOLT_MAX_DOWNLOAD_GB and
// MOLT_DOWNLOAD_ALSO.
func FromEnvironment(getenv func(string) string) (Config, error) {
	home, err := hubHome(getenv)
	if err != nil {
		return Config{}, err
	}
	c := Config{
		Cache:    atHome(getenv, first(getenv("HF_HUB_CACHE"), getenv("HUGGINGFACE_HUB_CACHE"), filepath.Join(home, "hub"))),
		Endpoint: strings.TrimRight(first(getenv("HF_ENDPOINT"), defaultEndpoint), "/"),
		Offline:  isTrue(first(getenv("HF_HUB_OFFLINE"), getenv("TRANSFORMERS_OFFLINE"))),
		Copies:   isTrue(getenv("HF_HUB_DISABLE_SYMLINKS")),
	}
	if u, err := url.Parse(c.Endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return Config{}, fmt.Errorf("hub: HF_ENDPOINT: %q must be a URL such as %s", c.Endpoint, defaultEndpoint)
	}
	if text := getenv("MOLT_MAX_DOWNLOAD_GB"); text != "" {
		gigabytes, err := strconv.ParseFloat(text, 64)
		if err != nil || !(gigabytes > 0 && gigabytes <= 1e6) {
			return Config{}, fmt.Errorf("hub: MOLT_MAX_DOWNLOAD_GB: %.40q must be a number of gigabytes above 0", text)
		}
		c.MaxBytes = int64(gigabytes * 1e9)
	}
	for pattern := range strings.SplitSeq(getenv("MOLT_DOWNLOAD_ALSO"), ",") {
		if pattern = strings.TrimSpace(pattern); pattern != "" {
			c.Also = append(c.Also, pattern)
		}
	}
	if isTrue(getenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")) {
		return c, nil
	}
	c.Token, err = token(getenv, home)
	return c, err
}

func hubHome(getenv func(string) string) (string, error) {
	if home := getenv("HF_HOME"); home != "" {
		return atHome(getenv, home), nil
	}
	if cache := getenv("XDG_CACHE_HOME"); cache != "" {
		return filepath.Join(atHome(getenv, cache), "huggingface"), nil
	}
	home := getenv("HOME")
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", errors.New("hub: no home folder is known; set HF_HOME to the folder of the cache")
		}
	}
	return filepath.Join(home, ".cache", "huggingface"), nil
}

// atHome replaces a ~ that begins a path, which a shell does not do in the middle of a word.
func atHome(getenv func(string) string, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && getenv("HOME") != "" {
		return filepath.Join(getenv("HOME"), rest)
	}
	return path
}

const maxToken = 1 << 12 // bytes

// token returns the token of the environment, else that of the file which `hf auth login` writes.
func token(getenv func(string) string, home string) (string, error) {
	from, text := "HF_TOKEN", first(getenv("HF_TOKEN"), getenv("HUGGING_FACE_HUB_TOKEN"))
	if text == "" {
		from = atHome(getenv, first(getenv("HF_TOKEN_PATH"), filepath.Join(home, "token")))
		data, err := os.ReadFile(from)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("hub: read the token: %w", err)
		}
		text = string(data)
	}
	text = strings.TrimSpace(text)
	bad := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(text) > maxToken || strings.ContainsFunc(text, bad) {
		return "", fmt.Errorf("hub: %s: is no token; one has letters, digits and underscores only", from)
	}
	return text, nil
}

func isTrue(v string) bool {
	return slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(v))
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
