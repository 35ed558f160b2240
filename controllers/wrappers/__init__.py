"""What lies between a control law and a machine: sampling, delay, limits, sensors, motors; around any controller."""
