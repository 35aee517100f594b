"""What runs code on a GPU. Importing it needs torch, except for `fixture` and `probes`, which are also tests' data."""
