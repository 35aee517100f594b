"""What torch's API does: what a call returns, on which device, and when it makes the host wait.

The knowledge is data. `sources/` holds what it comes from: `api-*.json`, generated from an installed torch
(`generate`); `measured-*.json`, seen on a GPU (`runtime.measure`); `effects.toml`, how waits are called and worded;
`overlay.toml` and `rules.toml`, kept by hand. `merge` makes `data/torch-*.json` of them; `model.load()` reads one.
"""
