"""A model server that plays a script: how CLIs are tested without a model."""
