"""Images from Ideogram and videos from Runway, offered as the MCP tools `ideogram` and `runwayml`."""
