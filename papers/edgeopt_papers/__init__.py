"""The five papers as users of edgeopt: their claims, errata, figures and published values."""
