"""Which findings count: what comments suppress, what a baseline knows, what a change brings."""
