"""Servo-constraints: programs that the inputs reach only after more derivatives."""
