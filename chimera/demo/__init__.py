"""The main job as an agent would do it: a client of the public REST API, nothing else."""
