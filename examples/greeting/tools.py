from gaia.agents.base.tools import tool

GREETINGS = {"en": "Hello, {}!", "de": "Hallo, {}!", "fr": "Bonjour, {} !", "pl": "Cześć, {}!"}


@tool(atomic=True)
def greet(name: str, language: str = "en") -> dict:
    """Return a greeting for a name."""
    if language not in GREETINGS:
        known = ", ".join(GREETINGS)
        raise ValueError(f"no greeting is known in {language}, only in {known}")
    return {"message": GREETINGS[language].format(name), "language": language}
