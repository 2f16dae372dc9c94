"""YouTube, by its Data API v3 and Google's OAuth (developers.google.com/youtube, read July 2026)."""
