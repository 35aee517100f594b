"""Writing `sources/api-*.json` from an installed torch: run `python -m syncfinder.torchmodel.generate`."""
