"""Environment hubs as agent files: `--train.agent_path hub:NAME` runs molt.hubs.NAME, and
`python -m molt.hubs.NAME --help` makes its prompts."""
