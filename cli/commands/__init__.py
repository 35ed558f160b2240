"""The commands of ``erugin``, one file each."""
