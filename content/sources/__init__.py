"""Where trends come from: feeds and trend resources, read, cleaned, selected."""
