"""Numbers about a text. Pure functions: no files, no network, no other programs."""

import re
from collections import Counter

from gaia.agents.base.tools import tool

WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
SENTENCE_END = re.compile(r"[.!?…]+(?=\s|$)")


@tool(atomic=True)
def measure(text: str, words_per_minute: int = 220) -> dict:
    """Count characters, words, sentences and paragraphs, and estimate the reading time."""
    if words_per_minute < 1:
        raise ValueError("words_per_minute must be at least 1")
    words = len(WORD.findall(text))
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    sentences = sum(max(1, len(SENTENCE_END.findall(part))) for part in paragraphs)
    return {
        "characters": len(text),
        "words": words,
        "sentences": sentences,
        "paragraphs": len(paragraphs),
        "words_per_sentence": round(words / sentences, 1) if sentences else 0.0,
        "reading_seconds": round(words * 60 / words_per_minute),
    }


@tool(atomic=True)
def frequent_words(text: str, limit: int = 10, min_length: int = 4) -> dict:
    """List the most frequent words of a text with their counts."""
    words = (word.casefold() for word in WORD.findall(text))
    counts = Counter(word for word in words if len(word) >= min_length)
    # Ties are sorted by the word itself, so that the same text always gives the same list.
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {"words": [{"word": word, "count": count} for word, count in ranked[: max(0, limit)]]}
