"""Ready constraints: path following, tracking, rolling and other relations that programs are often made of."""
