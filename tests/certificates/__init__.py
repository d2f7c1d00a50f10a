"""The certificates of this application's tools: made on the stand-ins, kept in docs/certificates."""
