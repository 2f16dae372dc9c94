"""The skills as tools of the Model Context Protocol, through the same pipeline as REST."""
