"""The tools of this application: one file for each outside system."""
