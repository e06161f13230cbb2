"""What keeps a mind whole from wake to stop: recovery, backups, watchdog, room, transfer."""
