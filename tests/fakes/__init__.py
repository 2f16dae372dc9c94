"""Local servers that behave as the platforms do: their paths, fields, headers and error bodies."""
