"""Durable workflows: definitions as data, runs as rows."""
