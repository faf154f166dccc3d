"""Operating system services: processes, signals, file locks, the terminal."""
