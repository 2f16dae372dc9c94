"""Instagram, by the content publishing of the Instagram API with Instagram Login (June 2026)."""
