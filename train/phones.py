"""The phone set: 39 ARPABET phones of the CMU dictionary, without stress or silence."""

ARPABET = (
    *(
        "AA",
        "AE",
        "AH",
        "AO",
        "AW",
        "AY",
        "B",
        "CH",
        "D",
        "DH",
        "EH",
        "ER",
        "EY",
        "F",
        "G",
        "HH",
        "IH",
        "IY",
        "JH",
        "K",
    ),
    *("L", "M", "N", "NG", "OW", "OY", "P", "R", "S", "SH", "T", "TH", "UH", "UW", "V", "W", "Y", "Z", "ZH"),
)


def unknown_phones(phones: list[str]) -> list[str]:
    """Those of `phones` that are not in the set, each once, in order."""
    return list(dict.fromkeys(phone for phone in phones if phone not in ARPABET))
