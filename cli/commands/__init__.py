"""Commands of ``erugin``, one file each."""
