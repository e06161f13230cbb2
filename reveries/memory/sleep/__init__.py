"""What becomes of what happened: encoding, light and deep sleep, claims, merging, fading, undoing."""
