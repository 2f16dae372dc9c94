"""Rules that content is checked against; `rules.validate` runs them."""
