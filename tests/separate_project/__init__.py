"""An application of its own that takes the plugin from the built wheel."""
