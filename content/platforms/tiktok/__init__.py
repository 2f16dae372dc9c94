"""TikTok, by its Content Posting API v2 (developers.tiktok.com, read July 2026)."""
