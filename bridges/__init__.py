"""Other simulators and formats, one file each, imported only when used."""
