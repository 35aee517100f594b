"""What runs code on a GPU. Importing it needs torch, except for what tests and saved results need: `fixture`, `probes`
and, of `bench`, all but the experiments' own modules."""
