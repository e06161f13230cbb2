"""Row checksums: SQLite's integrity check passes most flipped bits of text, so rows carry their own."""

import hashlib


def checksum(*texts: str) -> bytes:
    """BLAKE2b-128 of `texts`, each with its length before it so that no two lists collide by joining."""
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.digest()
