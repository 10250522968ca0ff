"""Writes read.json beside the event files: every scalar, histogram and text that TensorBoard finds in them."""
import dataclasses
import json
import os
import sys

from tensorboard.backend.event_processing import event_accumulator as ea


def read(folder):
    everything = {ea.SCALARS: 0, ea.HISTOGRAMS: 0, ea.TENSORS: 0, ea.COMPRESSED_HISTOGRAMS: 1}
    acc = ea.EventAccumulator(folder, size_guidance=everything)
    acc.Reload()
    tags = acc.Tags()
    return {
        "scalars": {t: [[e.step, e.value] for e in acc.Scalars(t)] for t in tags["scalars"]},
        "histograms": {
            t: [
                [e.step, {k: (list(v) if k.startswith("bucket") else v) for k, v in dataclasses.asdict(e.histogram_value).items()}]
                for e in acc.Histograms(t)
            ]
            for t in tags["histograms"]
        },
        "texts": {
            t: [[e.step, e.tensor_proto.string_val[0].decode()] for e in acc.Tensors(t)]
            for t in tags["tensors"]
            if acc.SummaryMetadata(t).plugin_data.plugin_name == "text"
        },
    }


def main(folder):
    runs = sorted(d for d in os.listdir(folder) if os.path.isdir(os.path.join(folder, d)))
    seen = {run: read(os.path.join(folder, run)) for run in runs}
    with open(os.path.join(folder, "read.json"), "w") as f:
        json.dump(seen, f, indent=1, sort_keys=True, allow_nan=False)
        f.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
