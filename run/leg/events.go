// The events of a run: opened, or continued at a checkpoint.

package leg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"

	"molt/internal/spell"
	"molt/metrics"
	"molt/run/folder"
	"molt/run/problem"
)

// OpenEvents starts the events and the kept rollouts of a run, or continues both at the event seq.
func OpenEvents(f *folder.Folder, seq, step int64, sinks []metrics.Sink, keep metrics.Config) (log *metrics.Log, keeper *metrics.Keeper, err error) {
	path := f.File(folder.EventsFile)
	var history []metrics.Record
	_, statErr := os.Stat(path)
	switch gone := errors.Is(statErr, os.ErrNotExist); {
	case gone && seq == 0:
		log, err = metrics.Create(path, sinks...)
	case gone: // an empty file, so that the resumed run says what it misses
		if err = os.WriteFile(path, nil, 0o644); err != nil {
			break
		}
		fallthrough
	default:
		log, history, err = metrics.Resume(path, seq, step, sinks...)
	}
	if err == nil {
		keeper, err = metrics.OpenKeeper(f.File(folder.RolloutsFile), log, keep, history)
	}
	if err != nil {
		return nil, nil, noEvents(path, err)
	}
	return log, keeper, nil
}

// noEvents tells a file that cannot be opened from one that does not hold what it should.
func noEvents(path string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return &problem.Problem{Code: problem.Resource, Where: path, What: "cannot write events", Why: problem.Reason(err), Fix: "make room or check the folder's permissions; the same command resumes", Err: err}
	}
	return damagedEvents(path, err)
}

// damagedEvents says which line is damaged, and how to go on without it.
func damagedEvents(path string, err error) *problem.Problem {
	p := &problem.Problem{
		Code: problem.RunFolder, Where: path, What: "the events of the run are damaged", Why: metrics.Clean(err.Error()),
		Fix: "delete the file to go on without what was measured; no weights depend on it", Err: err,
	}
	if line := damagedLine.FindStringSubmatch(err.Error()); line != nil {
		p.Where, p.What = path+":"+line[1], "this line of the events is damaged"
		p.Fix = fmt.Sprintf("delete it with `sed -i %sd %s` to go on without what it says; no weights depend on it", line[1], spell.Quoted(path))
	}
	return p
}

var damagedLine = regexp.MustCompile(`\bline ([0-9]+)\b`)
