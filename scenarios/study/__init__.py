"""Studies: many runs on this machine or a cluster, with results on disk that survive any interruption."""
