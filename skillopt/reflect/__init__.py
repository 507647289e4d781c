"""Reflection: failed trajectories to evidence, evidence to edits, edits merged and ranked."""
