"""The commands of ``erugin`` that other programs are needed for, one file each."""
