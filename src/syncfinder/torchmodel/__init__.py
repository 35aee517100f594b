"""What torch's API does: what a call returns, on which device, and when it makes the host wait.

The knowledge is data: `data/api-*.json` is generated from torch's own schemas, `data/overlay.toml` is kept by hand from
measurements and wins over it. `model.load()` reads both and never imports torch.
"""
