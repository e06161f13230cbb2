"""The process of the daemon: its lock, logs, memory, and the settings it runs with."""
